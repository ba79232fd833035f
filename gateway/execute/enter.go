package execute

import (
	"context"

	"github.com/uimgate/uimgate/gateway/refusal"
)

// enter reserves a place among the calls in progress to the service, before begin reserves anything. It may wait for a place. It refuses
// the call if a breaker of the intent is open for the agent. Some places are reserved for approved agents.
func (x *Executor) enter(ctx context.Context, e *execution) (err error) {
	x.begins(e, Begin)
	agent := e.claims.Principal()
	if e.approved, err = x.approved(ctx, e.service.ID, agent); err != nil {
		return refusal.For(err)
	}
	if err := e.prepared.Ready(string(agent), !e.approved); err != nil {
		return refusal.For(err)
	}
	if e.place, err = e.service.Upstream.Enter(ctx, string(agent), !e.approved); err != nil {
		return refusal.For(err)
	}
	return nil
}

// leave releases the place, if the call still has one.
func (e *execution) leave() {
	if e.place != nil {
		e.place()
		e.place = nil
	}
}
