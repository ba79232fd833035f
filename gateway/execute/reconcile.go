package execute

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/store"
)

// UnresolvedCalls lists and settles the records of calls whose outcome is unknown.
type UnresolvedCalls interface {
	// Executions returns the selected records, newest first.
	Executions(ctx context.Context, f store.Filter) ([]store.Execution, error)
	// Reconcile settles an unresolved record with the state that the service reports. If another process has already settled it, the error is
	// store.ErrSettled.
	Reconcile(ctx context.Context, service, id string, to store.State) (store.Execution, error)
}

// A Reconciler settles calls whose outcome is unknown: it requests the outcome from the service behind the gateway. It requests an outcome
// only after the deadline of the call, because until then a process may still send the call. It is safe for concurrent use.
type Reconciler struct {
	records UnresolvedCalls
	now     func() time.Time

	mu     sync.Mutex
	rounds map[string]round // by service
}

// A round is the state of the reconciliation for one service.
type round struct {
	after string    // id of the last record that was handled; empty: the next round starts with the newest record
	due   time.Time // earliest time of the next round
	pause time.Duration
}

const (
	questionsAtOnce   = 8   // concurrent requests to one service
	questionsPerRound = 100 // maximum number of calls of one service in one round
	// After a round that settled no calls, there is a pause of leastAskingPause. It doubles with each such round, up to mostAskingPause.
	leastAskingPause = 5 * time.Second
	mostAskingPause  = 5 * time.Minute
)

// NewReconciler returns a Reconciler for records. now must be the clock of their store.
func NewReconciler(records UnresolvedCalls, now func() time.Time) *Reconciler {
	return &Reconciler{records: records, now: now, rounds: map[string]round{}}
}

// Round requests the outcomes of some calls of a service, and returns the number of calls that it settled. It does nothing if the service
// does not support such requests, or if the next round is not due yet. If the service or the store does not respond, Round returns an
// error; later rounds request the outcomes again.
func (r *Reconciler) Round(ctx context.Context, s *service.Service) (settled int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at, now := r.rounds[s.ID], r.now()
	if !s.Upstream.HasStatusQuestion() || now.Before(at.due) {
		return 0, nil
	}
	list, err := r.records.Executions(ctx, store.Filter{Service: s.ID, State: store.Unresolved, After: at.after, Limit: questionsPerRound})
	if err == nil {
		settled, err = r.ask(ctx, s, list)
	}
	at.after = ""
	if len(list) == questionsPerRound {
		at.after = list[len(list)-1].ID
	}
	switch {
	case settled > 0 || len(list) == 0:
		at.pause = 0
	default:
		at.pause = min(max(2*at.pause, leastAskingPause), mostAskingPause)
	}
	at.due = now.Add(at.pause)
	r.rounds[s.ID] = at
	return settled, err
}

// ask requests the outcomes of calls until a request fails, and returns the number of settled calls.
func (r *Reconciler) ask(ctx context.Context, s *service.Service, list []store.Execution) (int, error) {
	var settled atomic.Int64
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(questionsAtOnce)
	for _, e := range list {
		if ctx.Err() != nil {
			break
		}
		if r.now().Before(e.Deadline) {
			continue
		}
		asking.Go(func() error {
			to, err := s.Upstream.Ask(ctx, e.ID)
			if err != nil || to == store.Unresolved {
				return err
			}
			if _, err = r.records.Reconcile(ctx, s.ID, e.ID, to); err == nil {
				settled.Add(1)
			} else if errors.Is(err, store.ErrSettled) {
				err = nil
			}
			return err
		})
	}
	err := asking.Wait()
	return int(settled.Load()), err
}
