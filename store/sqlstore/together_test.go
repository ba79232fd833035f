package sqlstore

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Calls in one transaction share its statements. 16 calls begin with one insertion into the journal, are settled with a second one, and are
// written into the tables together. Calls with a key need one statement for each table.
func TestCallsOfATransactionShareItsStatements(t *testing.T) {
	t.Parallel()
	const calls = 16
	var mu sync.Mutex
	var writes []string
	held, waiting := make(chan struct{}), make(chan struct{}, 1)
	d := engine.SQLite()
	send := d.Send
	d.Send = func(ctx context.Context, w *engine.Writer, list []engine.Command) error {
		mu.Lock()
		hold := held
		for _, c := range list {
			if strings.HasPrefix(c.Query, "INSERT") || strings.HasPrefix(c.Query, "UPDATE {whole}") {
				writes = append(writes, c.Query)
			}
		}
		mu.Unlock()
		if hold != nil {
			select {
			case waiting <- struct{}{}:
			default:
			}
			<-hold
		}
		return send(ctx, w, list)
	}
	s := openTest(t, t.TempDir()+"/state.db", time.Now, d)
	// queued makes calls wait behind a held transaction, and returns the statements that they then execute.
	queued := func(each func(i int) error) []string {
		t.Helper()
		mu.Lock()
		held = make(chan struct{})
		mu.Unlock()
		var all sync.WaitGroup
		all.Go(func() {
			if err := s.db.Update(t.Context(), func(context.Context, *engine.Tx) error { return nil }); err != nil {
				t.Error(err)
			}
		})
		<-waiting
		for i := range calls {
			all.Go(func() {
				if err := each(i); err != nil {
					t.Error(err)
				}
			})
		}
		for n := 0; n < calls; n, _, _ = s.db.Queued() {
			runtime.Gosched()
		}
		mu.Lock()
		release := held
		held, writes = nil, nil
		mu.Unlock()
		close(release)
		all.Wait()
		mu.Lock()
		defer mu.Unlock()
		return writes
	}
	held = nil
	var admissions [calls]store.Admission
	begin := func(key string) func(i int) error {
		return func(i int) (err error) {
			r := store.BeginRequest{
				Execution:  store.Execution{ID: fmt.Sprint(key, i), Service: "s", AgentID: "a", Intent: "i"},
				Candidates: []store.Candidate{{Charge: money.Amount{Nano: 1, Currency: "USD"}}},
				Billing:    store.Billing{Credit: money.Amount{Nano: money.Unit, Currency: "USD"}},
				Hold:       time.Minute, KeyFor: time.Minute,
			}
			if key != "" {
				r.Execution.IdempotencyKey = r.Execution.ID
			}
			admissions[i], err = s.Begin(t.Context(), r)
			return err
		}
	}
	settle := func(i int) error {
		_, err := s.Settle(t.Context(), admissions[i], store.Settlement{State: store.Captured, Outcome: store.Done})
		return err
	}
	const journal, rest = "INSERT INTO journal", ";INSERT INTO accounts;INSERT {whole}INTO ledger"
	for _, step := range []struct {
		what, want string
		do         func(i int) error
	}{
		{"begun", journal, begin("")},
		{"settled, after others began", "INSERT {whole}INTO executions" + rest + ";" + journal, settle},
		{"begun with keys, after others were settled", "UPDATE {whole}executions" + rest +
			";INSERT {whole}INTO executions;INSERT {whole}INTO idempotency" + rest, begin("key")},
		{"settled without an answer", journal, settle},
	} {
		if got := queued(step.do); !alike(got, step.want) {
			t.Errorf("%s with %q, want %s", step.what, got, step.want)
		}
	}
	if err := s.CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
}

// alike reports whether the statements begin with the wanted texts, which are separated by semicolons.
func alike(got []string, want string) bool {
	parts := strings.Split(want, ";")
	if len(got) != len(parts) {
		return false
	}
	for i, part := range parts {
		if !strings.HasPrefix(got[i], part) {
			return false
		}
	}
	return true
}
