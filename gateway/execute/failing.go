package execute

import (
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
)

// failuresPerMinute limits how many invalid calls of one agent are checked, because checking a call takes time and a refused call costs the
// agent nothing. Beyond the limit, the agent may make one such call per second.
var failuresPerMinute = limit.Rate{Max: 60, Period: limit.Minute}

// inTheCall are the codes of refusals for invalid calls.
var inTheCall = []reason.Code{reason.CodeInvalidParameter, reason.CodeInvalidSignature, reason.CodePayloadTooLarge}

// heldBack returns a *reason.Refusal if the agent of a call has recently made too many invalid calls.
func (x *Executor) heldBack(e *execution) error {
	if !x.failing.Empty(e.caller, x.now()) {
		return nil
	}
	return reason.RateLimitExceeded.Refusal("Too many recent calls of this agent were invalid. Correct the calls before you continue.").
		After(x.failing.Wait()).ShedFor(reason.ShedFailing)
}

// invalid reports whether a call was refused because of what it contains, or because of a payment that came with it.
func invalid(f *reason.Refusal) bool {
	return slices.Contains(inTheCall, f.Code) || f.Reason == reason.PaymentMismatch || f.Reason == reason.PaymentFailed
}

// countFailure counts a call that was refused as invalid against the limit of its agent.
func (x *Executor) countFailure(e *execution, fault *reason.Refusal) {
	if fault == nil || e.claims == nil || e.admission != nil || !invalid(fault) {
		return
	}
	x.failing.Admit(e.caller, x.now())
}
