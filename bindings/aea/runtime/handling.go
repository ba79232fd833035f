package runtime

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"
)

// errBusy means that too many calls of the handlers of a skill have not returned in time.
var errBusy = errors.New("the skill is busy")

// handle calls a handler, and waits at most Limits.Handler for it, unless the skill is patient. A call that takes longer continues without
// a worker. The error is errBusy if the skill has as many such calls as it may.
func (r *Runtime) handle(ctx context.Context, h active, m Message) error {
	if h.of.Patient {
		return r.guard(func() error { return h.Handle(ctx, m) })
	}
	if int(h.of.overdue.Load()) >= max(1, r.limits.Workers/4) {
		return errBusy
	}
	ended := make(chan error, 1)
	r.handling.Go(func() { ended <- r.guard(func() error { return h.Handle(ctx, m) }) })
	timeout := time.NewTimer(r.limits.Handler)
	defer timeout.Stop()
	select {
	case err := <-ended:
		return err
	case <-timeout.C:
	}
	h.of.overdue.Add(1)
	r.log.Warn("a handler takes too long", zap.Stringer("skill", h.of.ID), zap.Stringer("protocol", m.spec))
	r.handling.Go(func() {
		err := <-ended
		h.of.overdue.Add(-1)
		r.note(h.of, err)
	})
	return nil
}
