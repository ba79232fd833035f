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

// UnresolvedCalls lists the records of calls of unknown outcome.
type UnresolvedCalls interface {
	// Executions returns records, the newest first.
	Executions(ctx context.Context, f store.Filter) ([]store.Execution, error)
	// Reconcile settles an unresolved record as the service reports it: store.ErrSettled if another process has.
	Reconcile(ctx context.Context, service, id string, to store.State) (store.Execution, error)
}

// A Reconciler settles calls of unknown outcome by requesting the outcome from the service behind the gateway. It waits until the
// deadline of a call, when no process can send the call any more.
type Reconciler struct {
	records UnresolvedCalls
	now     func() time.Time

	mu     sync.Mutex
	rounds map[string]round // by service
}

// A round is the position of the reconciliation of one service, and its next time.
type round struct {
	after string    // the last requested record; empty: from the newest
	due   time.Time // not before
	pause time.Duration
}

const (
	questionsAtOnce   = 8   // calls of one service
	questionsPerRound = 100 // calls of one service in one round
	// A round that settled nothing is followed by a pause, which doubles up to mostAskingPause.
	leastAskingPause = 5 * time.Second
	mostAskingPause  = 5 * time.Minute
)

// NewReconciler makes a Reconciler on records, with the clock of their store.
func NewReconciler(records UnresolvedCalls, now func() time.Time) *Reconciler {
	return &Reconciler{records: records, now: now, rounds: map[string]round{}}
}

// Round requests the outcome of some calls of a service, if the service supports that and it is time, and returns how many were settled.
// An error means that the service or the store did not respond; the calls are requested again later.
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

// ask requests the outcome of calls until a request fails.
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
