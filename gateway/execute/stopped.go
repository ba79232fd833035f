package execute

import (
	"cmp"
	"slices"

	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

// stopped refuses a call that the operator has stopped, whatever it costs. It needs the intent of the call.
func (e *execution) stopped() error {
	if err := e.current.Verifier.StoppedCall(e.claims, e.door(), e.intent.ID, false); err != nil {
		return refusal.For(err)
	}
	return nil
}

// freeIfStopped removes the candidates that would charge the call if the operator has stopped charging. If none is left, it refuses the
// call.
func (e *execution) freeIfStopped() error {
	err := e.current.Verifier.Stopped(pat.StopCharging, "")
	if err == nil {
		return nil
	}
	free := slices.DeleteFunc(slices.Clone(e.decision.Candidates), func(c odrl.Candidate) bool { return !c.Charge.IsZero() })
	if len(free) == 0 {
		return refusal.For(err)
	}
	e.decision.Candidates = free
	return nil
}

// door returns the name that stops use for the call's door.
func (e *execution) door() string { return cmp.Or(e.call.Door, pat.DoorHTTP) }
