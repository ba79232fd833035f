package execute

import (
	"slices"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
)

// failuresPerMinute bounds how many calls of one agent may be refused as invalid: checking a call costs time, and a refused call costs
// the agent nothing. Beyond it, the agent may make one such call a second.
var failuresPerMinute = limit.Rate{Max: 60, Period: limit.Minute}

// inTheCall are the codes of refusals of invalid calls.
var inTheCall = []reason.Code{reason.CodeInvalidParameter, reason.CodeInvalidSignature, reason.CodePayloadTooLarge}

// heldBack refuses a call of an agent with too many recent invalid calls, before it is read or checked.
func (x *Executor) heldBack(e *execution) error {
	if !x.failing.Empty(e.caller, x.now()) {
		return nil
	}
	return reason.RateLimitExceeded.Refusal("Too many calls of this agent were refused for what is in them: correct them first.").
		After(x.failing.Wait()).ShedFor(reason.ShedFailing)
}

// countFailure counts a refused call of its agent, if it was refused as invalid.
func (x *Executor) countFailure(e *execution, fault *reason.Refusal) {
	if fault == nil || e.claims == nil || e.admission != nil || !slices.Contains(inTheCall, fault.Code) {
		return
	}
	x.failing.Admit(e.caller, x.now())
}
