package execute

import (
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// failuresPerMinute limits how many invalid calls of one agent are checked, because checking a call takes time and a refused call costs the
// agent nothing. Beyond the limit, the agent may make one such call per second.
var failuresPerMinute = limit.Rate{Max: 60, Period: limit.Minute}

// inTheCall are the codes of refusals for invalid calls.
var inTheCall = []reason.Code{reason.CodeInvalidParameter, reason.CodeInvalidSignature, reason.CodePayloadTooLarge}

// heldBack returns a *reason.Refusal if the agent of a call has recently made too many invalid calls.
func (x *Executor) heldBack(e *execution) error {
	return x.held(e.caller)
}

// HeldBack checks a payment that comes without a call: it returns a *reason.Refusal if the agent has recently sent too many invalid calls
// and payments.
func (x *Executor) HeldBack(service string, p pat.Principal) error {
	return x.held(callerOf(service, p))
}

// CountInvalid counts a payment without a call against the limit of its agent, if it was refused as invalid. f may be nil.
func (x *Executor) CountInvalid(service string, p pat.Principal, f *reason.Refusal) {
	if f != nil && invalid(f) {
		x.failing.Admit(callerOf(service, p), x.cfg.Now())
	}
}

// callerOf identifies an agent across all services. The id of a service contains no space, so the result is unambiguous.
func callerOf(service string, p pat.Principal) string { return service + " " + string(p) }

func (x *Executor) held(caller string) error {
	if !x.failing.Empty(caller, x.cfg.Now()) {
		return nil
	}
	return reason.RateLimitExceeded.Refusal("Too many recent calls of this agent were invalid. Correct the calls before you continue.").
		After(x.failing.Wait()).ShedFor(reason.ShedFailing)
}

// invalid reports whether a call was refused because of its content, or because of the payment that came with it.
func invalid(f *reason.Refusal) bool {
	return slices.Contains(inTheCall, f.Code) || f.Reason == reason.PaymentMismatch || f.Reason == reason.PaymentFailed
}

// countFailure counts a call that was refused as invalid against the limit of its agent.
func (x *Executor) countFailure(e *execution, fault *reason.Refusal) {
	if fault == nil || e.claims == nil || e.admission != nil || !invalid(fault) {
		return
	}
	x.failing.Admit(e.caller, x.cfg.Now())
}
