package execute

import (
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

// A replay is an earlier call under the same idempotency key.
type replay struct{ execution store.Execution }

// result is the earlier call's answer again: the output as it was, or its Refusal.
func (r *replay) result() (Result, error) {
	a, charge := r.execution.Answer, chargeOf(r.execution)
	switch {
	case a == nil && r.execution.State == store.Captured:
		f := reason.ResponseInvalid.Refusal("The call under this Idempotency-Key took effect; its answer is not known any more.").
			With("outcome", store.Done).With("suggestion", "Do not make the call again; ask the service what came of it.").Charged(charge)
		f.Replayed = true
		return Result{}, f
	case a == nil:
		return Result{}, reason.OutcomeUnknown.Refusal("The call under this Idempotency-Key has ended, but its answer was not kept.").
			With("state", r.execution.State).Charged(charge)
	case a.Reason == "":
		return Result{Output: a.Body, Charge: charge, Replayed: true}, nil
	}
	f := reason.Reason(a.Reason).Refusal("The call failed when it was first made.").Charged(charge)
	if body, err := strictjson.DecodeObject(a.Body); err == nil {
		if inner, ok := body["error"].(map[string]any); ok {
			code, _ := inner["code"].(string)
			f.Code = reason.Code(code)
			f.Message, _ = inner["message"].(string)
			f.Details, _ = inner["details"].(map[string]any)
		}
	}
	f.Replayed = true
	return Result{}, f
}
