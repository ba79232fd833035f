package door

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// DraftEnvelope wraps the output of a call in the envelope of draft-uim-protocol-core-01. The member data has the output; meta has the
// duration, the charge, the warnings and the state of the tightest limit. The error is a *reason.Refusal.
func DraftEnvelope(r *execute.Result, took time.Duration) ([]byte, error) {
	meta := map[string]any{"processing_time": json.Number(strconv.FormatFloat(took.Seconds(), 'f', 6, 64))}
	if l, ok := wire.Tightest(r.Standing); ok {
		meta["rate_limit"] = map[string]any{"remaining": max(0, l.Left), "reset": wire.Seconds(l.Shown(l.Resets))}
	}
	if r.Charge != nil {
		meta["charge"] = wire.ChargeMembers(r.Charge)
		if r.Charge.Receipt != "" {
			meta["receipt"] = r.Charge.Receipt
		}
	}
	if len(r.Warnings) > 0 {
		meta["warnings"] = r.Warnings
	}
	body, err := json.Marshal(meta)
	if err != nil {
		return nil, reason.Internal.Refusal("The response could not be encoded.").With("outcome", store.Done).Because(err)
	}
	out := append([]byte(`{"data":`), r.Output...) // the same bytes as over HTTP without the envelope; the receipt covers them
	out = append(append(out, `,"meta":`...), body...)
	return append(out, `,"status":"success"}`...), nil
}
