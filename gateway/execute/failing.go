package execute

import (
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
)

// failuresPerMinute bounds how many calls of one agent may be refused for what is in them: checking a call costs time, and
// a call that is refused costs the agent nothing. Then the agent is held back to one such call a second.
var failuresPerMinute = limit.Rate{Max: 60, Period: limit.Minute}

// inTheCall are the codes of refusals for what is in a call.
var inTheCall = []reason.Code{reason.CodeInvalidParameter, reason.CodeInvalidSignature, reason.CodePayloadTooLarge}

// heldBack refuses a call of an agent whose calls were refused too often of late, before it is read or checked.
func (x *Executor) heldBack(e *execution) error {
	if !x.failing.Empty(e.caller, x.now()) {
		return nil
	}
	return reason.RateLimitExceeded.Refusal("Too many calls of this agent were refused for what is in them: correct them first.").
		After(x.failing.Wait()).ShedFor(reason.ShedFailing)
}

// countFailure takes a refused call from the bucket of its agent, if it was refused for what is in it.
func (x *Executor) countFailure(e *execution, fault *reason.Refusal) {
	if fault == nil || e.claims == nil || e.admission != nil || !slices.Contains(inTheCall, fault.Code) {
		return
	}
	x.failing.Admit(e.caller, x.now())
}
