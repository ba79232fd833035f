package sqlstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A frozenProcess is a process that stops between reading and writing until it is woken.
type frozenProcess struct {
	asleep, wake chan struct{}
	once         sync.Once
}

// freeze stops the next transaction of a store before it writes a counter.
func (f *frozenProcess) freeze(d *engine.Dialect) {
	f.asleep, f.wake = make(chan struct{}), make(chan struct{})
	send := d.Send
	d.Send = func(ctx context.Context, w *engine.Writer, list []engine.Command) error {
		for _, c := range list {
			if strings.Contains(c.Query, "counters SET") || strings.Contains(c.Query, "INTO counters") {
				f.once.Do(func() {
					close(f.asleep)
					<-f.wake
				})
			}
		}
		return send(ctx, w, list)
	}
}

// unapproved returns a call of an unapproved agent. All of them share the row of the pool.
func unapproved(agent, id string, most int64) store.BeginRequest {
	r := store.BeginRequest{
		Execution:  store.Execution{ID: id, Service: "s", AgentID: pat.AgentID(agent), Intent: "i"},
		Limits:     []store.Reservation{{Limit: limit.Limit{ID: "shared", Rate: limit.Rate{Max: most, Period: limit.Lifetime}}}},
		Candidates: []store.Candidate{{Charge: money.Amount{Nano: 1, Currency: "USD"}}},
		Billing:    store.Billing{Credit: money.Amount{Nano: most, Currency: "USD"}, Unapproved: true},
		Hold:       time.Minute, KeyFor: 24 * time.Hour,
	}
	return r
}

func TestFrozenProcessBlocksNoOthers(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	var f frozenProcess
	healthy := openOn(t, dsn, nil)
	if _, err := healthy.Begin(t.Context(), unapproved("agent-1", "0", 1000)); err != nil { // creates the rows
		t.Fatal(err)
	}
	slow := openOn(t, dsn, f.freeze)
	began := make(chan error, 1)
	go func() {
		_, err := slow.Begin(t.Context(), unapproved("agent-1", "1", 1000))
		began <- err
	}()
	<-f.asleep
	var all sync.WaitGroup
	for i, agent := range []string{"agent-1", "agent-2", "agent-3", "agent-4"} {
		all.Go(func() {
			a, err := healthy.Begin(t.Context(), unapproved(agent, string(rune('a'+i)), 1000))
			if err == nil {
				_, err = healthy.Settle(t.Context(), a, store.Settlement{State: store.Captured, Outcome: store.Done})
			}
			if err != nil {
				t.Errorf("while another process is frozen: %v", err)
			}
		})
	}
	all.Wait()
	close(f.wake)
	if err := <-began; err != nil {
		t.Errorf("woken: %v", err)
	}
	if err := healthy.CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
}

// Several statements read the data of a call, and each of them reads the rows that were committed before it. If another process begins the
// same message in between, both its nonce and its key must be found, or neither.
func TestMessageBegunBetweenReadsIsInProgress(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	message := func(id string) store.BeginRequest {
		r := unapproved("agent", id, 1000)
		r.Execution.IdempotencyKey = "message"
		r.Nonce = &store.Nonce{KeyID: "k", ID: "message", Until: time.Now().Add(time.Hour)}
		return r
	}
	faster := openOn(t, dsn, nil)
	var started sync.Once
	slower := openOn(t, dsn, func(d *engine.Dialect) {
		send := d.Send
		d.Send = func(ctx context.Context, w *engine.Writer, list []engine.Command) error {
			first := slices.IndexFunc(list, func(c engine.Command) bool {
				return strings.Contains(c.Query, "FROM idempotency i JOIN") || strings.Contains(c.Query, "FROM nonces WHERE")
			})
			if first < 0 {
				return send(ctx, w, list)
			}
			if err := send(ctx, w, list[:first+1]); err != nil {
				return err
			}
			started.Do(func() {
				if _, err := faster.Begin(ctx, message("1")); err != nil {
					t.Error(err)
				}
			})
			return send(ctx, w, list[first+1:])
		}
	})
	if _, err := slower.Begin(t.Context(), message("2")); !errors.Is(err, store.ErrInProgress) {
		t.Errorf("%v; want %v", err, store.ErrInProgress)
	}
}

// Processes that conflict constantly admit exactly as many calls as the limit permits.
func TestConcurrentProcessesTakeExactlyTheLimit(t *testing.T) {
	t.Parallel()
	const most = 120
	dsn := pgtest.Start(t).Database(t)
	stores := []*Store{openOn(t, dsn, nil), openOn(t, dsn, nil), openOn(t, dsn, nil)}
	var mu sync.Mutex
	taken := 0
	var all sync.WaitGroup
	for i, s := range stores {
		for j := range 4 {
			all.Go(func() {
				for n := range 15 {
					id := strings.Repeat("x", i+1) + strings.Repeat("y", j+1) + strings.Repeat("z", n+1)
					a, err := s.Begin(t.Context(), unapproved("agent-"+id[:i+j+2], id, most))
					if err != nil {
						continue
					}
					mu.Lock()
					taken++
					mu.Unlock()
					if _, err := s.Settle(t.Context(), a, store.Settlement{State: store.Captured, Outcome: store.Done}); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	if taken != most {
		t.Errorf("%d were admitted of %d, by 180 calls", taken, most)
	}
	if err := stores[0].CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
}
