package billing

import (
	"context"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/reason"
)

// A Receipt is the signed receipt of a call.
type Receipt struct {
	ExecutionID string `json:"execution"`
	Receipt     string `json:"receipt"` // compact JWS: see UIM core, section 6
}

// Receipt returns the receipt of the newest entry of the ledger about a call. The error is reason.NoSuchRecord if the call was free.
func (o *Operations) Receipt(ctx context.Context, s *service.Service, r api.Record) (Receipt, error) {
	if o.Receipts == nil {
		return Receipt{}, errNoReceipts
	}
	call, err := o.Store.Execution(ctx, s.ID, r.ID)
	if err != nil {
		return Receipt{}, err
	}
	if call.Charge.IsZero() {
		return Receipt{}, reason.NoSuchRecord.Refusal("The call was not charged, so it has no receipt.")
	}
	entry, err := o.Store.Entry(ctx, s.ID, call.AgentID, call.ID, "")
	if err != nil {
		return Receipt{}, err
	}
	text, err := o.Receipts.Receipt(ctx, entry.Bytes)
	return Receipt{ExecutionID: call.ID, Receipt: text}, err
}
