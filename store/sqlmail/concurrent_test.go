package sqlmail_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

func TestConcurrently(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"concurrent idempotency key":       idempotencyAtOnce,
		"woken recipients":                 wokenMessages,
		"concurrent senders fill a queue":  sendersAtOnce,
		"concurrent polls lose no message": pollsMeanwhile,
		"two processes share a database":   twoProcesses,
	})
}

func idempotencyAtOnce(r *relay) {
	other := sqlmail.New(open(r.T, r.place), sqlmail.Options{MaxAgents: manyAgents})
	var first atomic.Int64
	var all sync.WaitGroup
	for n := range 16 {
		s, m := r.Store, r.message(alice, bob)
		m.IdempotencyKey = "k"
		if n%2 == 1 {
			s = other
		}
		if n%3 == 0 {
			m.Recipient = carol // the digest identifies the message
		}
		all.Go(func() {
			_, repeated, err := s.Send(r.Context(), m)
			if err != nil {
				r.Error(err)
			}
			if !repeated {
				first.Add(1)
			}
		})
	}
	all.Wait()
	if got := r.counted(); first.Load() != 1 || got.Messages != 1 {
		r.Fatalf("got %v, %+v; want 1 and Messages 1", first.Load(), got)
	}
}

func wokenMessages(r *relay) {
	since := r.Now()
	r.send(r.message(alice, bob))
	gone := r.send(r.message(alice, carol))
	r.must(r.Delivered(r.Context(), carol, []string{gone.ID}))
	if want := []mail.Key{bob, carol}; !slices.Equal(r.arrived, want) {
		r.Fatalf("got %v, want %v", r.arrived, want)
	}
	woken := func(want ...mail.Key) {
		r.Helper()
		keys, next, err := r.Woken(r.Context(), since)
		r.must(err)
		if !slices.Equal(keys, want) {
			r.Fatalf("%x; want %x", keys, want)
		}
		since = next
	}
	woken(bob)
	woken()
	r.send(r.message(alice, bob))
	r.send(r.message(alice, carol))
	r.send(r.message(alice, bob))
	woken(bob, carol)
	woken()
	r.age(time.Minute)
	keys, _, err := r.Woken(r.Context(), r.Now())
	r.must(err)
	if len(keys) != 0 {
		r.Fatalf("got %v, want none", keys)
	}
}

func sendersAtOnce(r *relay) {
	r.agent(bob)
	const most = 20
	var taken, full atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		m := r.message(alice, bob)
		m.Waiting = most
		all.Go(func() {
			switch _, _, err := r.Send(r.Context(), m); {
			case err == nil:
				taken.Add(1)
			case errors.Is(err, mail.ErrQueueFull):
				full.Add(1)
			default:
				r.Error(err)
			}
		})
	}
	all.Wait()
	if taken.Load() != most || full.Load() != 64-most || len(r.waiting(bob)) != most {
		r.Fatal(taken.Load(), full.Load())
	}
	r.counted()
}

func (r *relay) reader(s *sqlmail.Store, done <-chan struct{}) map[string]int {
	seen := map[string]int{}
	var after *mail.Place
	for last := false; ; {
		list, more, err := s.Messages(r.Context(), mail.Query{Recipient: bob, Status: mail.Sent, After: after, Limit: 3})
		if err != nil {
			r.Error(err)
			return seen
		}
		for _, m := range list {
			seen[m.ID]++
			after = &mail.Place{CreatedAt: m.CreatedAt, ID: m.ID}
		}
		if err := s.Delivered(r.Context(), bob, ids(list)); err != nil {
			r.Error(err)
			return seen
		}
		if more {
			continue
		}
		if last {
			return seen
		}
		select {
		case <-done:
			last = true
		default:
		}
	}
}

func (r *relay) meanwhile(senders, readers []*sqlmail.Store) {
	done := make(chan struct{})
	var sending, reading sync.WaitGroup
	var mu sync.Mutex
	sent := map[string]bool{}
	for _, s := range senders {
		sending.Go(func() {
			for range 40 {
				m := r.message(alice, bob)
				m.Waiting, m.Unknown = 1000, 1000
				if _, _, err := s.Send(r.Context(), m); err != nil {
					r.Error(err)
					return
				}
				mu.Lock()
				sent[m.ID] = true
				mu.Unlock()
			}
		})
	}
	for _, s := range readers {
		reading.Go(func() {
			seen := r.reader(s, done)
			for id, n := range seen {
				if n != 1 {
					r.Errorf("%s was read %d times", id, n)
				}
			}
			if len(readers) == 1 && len(seen) != len(sent) {
				r.Errorf("%d were read of %d", len(seen), len(sent))
			}
		})
	}
	sending.Wait()
	close(done)
	reading.Wait()
	r.same(r.waiting(bob), nil)
	if got := r.counted(); got.Messages != int64(len(sent)) {
		r.Fatalf("got %+v, want Messages %v", got, int64(len(sent)))
	}
}

func pollsMeanwhile(r *relay) {
	r.meanwhile([]*sqlmail.Store{r.Store, r.Store, r.Store, r.Store}, []*sqlmail.Store{r.Store})
}

func twoProcesses(r *relay) {
	other := sqlmail.New(open(r.T, r.place), sqlmail.Options{MaxAgents: manyAgents})
	r.meanwhile([]*sqlmail.Store{r.Store, r.Store, other, other}, []*sqlmail.Store{other})
}

// When an attempt to post fails, its transaction locks the box first, as all transactions do that change postings. Otherwise it would keep
// the webhook locked while it waits for the posting of a message that is being deleted, and the deletion waits for the webhook.
func TestFailedAttemptLocksBox(t *testing.T) {
	t.Parallel()
	r := newRelay(t, engines["postgres"](t))
	r.agent(bob)
	r.hook(bob)
	r.send(r.message(alice, bob))
	p := r.due(1)[0]
	attempt := make(chan error, 1)
	started := false
	r.must(r.db.Engine().Aside(t.Context(), func(ctx context.Context, x *engine.Tx) error {
		var one, waiting int
		if _, err := x.Row(ctx, "SELECT 1 FROM relay_boxes WHERE recipient = ? FOR UPDATE", []any{bob[:]}, &one); err != nil {
			return err
		}
		if _, err := x.Exec(ctx, "DELETE FROM relay_postings WHERE owner = ?", bob[:]); err != nil {
			return err
		}
		if !started {
			started = true
			go func() { attempt <- r.Posted(context.WithoutCancel(ctx), p, r.Now(), false, 9) }()
		}
		for waiting == 0 {
			if _, err := x.Row(ctx, `SELECT COUNT(*) FROM pg_locks w JOIN pg_locks h ON h.transactionid = w.transactionid
				WHERE NOT w.granted AND h.granted AND h.pid = pg_backend_pid()`, nil, &waiting); err != nil {
				return err
			}
		}
		_, err := x.Row(ctx, "SELECT 1 FROM relay_webhooks WHERE owner = ? FOR UPDATE NOWAIT", []any{bob[:]}, &one)
		return err
	}))
	r.must(<-attempt)
}
