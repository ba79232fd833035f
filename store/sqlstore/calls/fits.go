package calls

import (
	"context"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
)

// Fits returns the states of the limits in list. If a limit has fewer units left than its reservation takes, Fits also returns a
// *store.LimitError, as Begin would. Fits reserves nothing.
func (c *Calls) Fits(ctx context.Context, service string, list []store.Reservation) (states []limit.Status, err error) {
	rs, err := joinReservations(service, list)
	if err != nil || len(rs) == 0 {
		return nil, err
	}
	n := rowSet{agentID: rs[0].key.AgentID}
	for _, r := range rs {
		n.counters = append(n.counters, r.key)
	}
	err = c.call(ctx, n, func(_ context.Context, w *work) error {
		states = nil
		for _, r := range rs {
			states = append(states, w.standing(r))
		}
		return w.fit(rs)
	})
	return states, err
}
