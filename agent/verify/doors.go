package verify

import (
	"context"

	"github.com/uimgate/uimgate/agent/verify/doors"
	"github.com/uimgate/uimgate/internal/fetch"
)

// doorChecks converts the checks of package doors into those of this package.
func doorChecks(list []doors.Check) []check {
	out := make([]check, 0, len(list))
	for _, c := range list {
		out = append(out, check{c.ID, c.Section, c.Level, c.Title, c.After, func(v *verification, ctx context.Context) finding {
			return c.Run(v.doors, ctx)
		}})
	}
	return out
}

// made returns a call that was made, so that a door can repeat it.
func (v *verification) made(c call, a fetch.Answer) doors.Call {
	body, _ := v.body(c.uid, c.parameters) // it was encoded before
	return doors.Call{Intent: c.in, Parameters: c.parameters, Body: []byte(body), Answer: a, At: v.Now()}
}
