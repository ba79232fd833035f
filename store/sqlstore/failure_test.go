package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/window"
	"github.com/uimgate/uimgate/store/sqlstore/upkeep"
)

// openWithPragma opens a database whose writer connections have an additional pragma.
func openWithPragma(t *testing.T, dir, pragma string) *Store {
	t.Helper()
	return openAs(t, dir, pragma, true)
}

// openAs is openWithPragma, with or without a journal.
func openAs(t *testing.T, dir, pragma string, journals bool) *Store {
	t.Helper()
	d := engine.SQLite()
	connect := d.Open
	d.Open = func(ctx context.Context, path string) (write, read *sql.DB, err error) {
		write, read, err = connect(ctx, path)
		if err != nil || pragma == "" {
			return write, read, err
		}
		if err := write.Close(); err != nil {
			return nil, nil, err
		}
		write, err = sql.Open("sqlite", engine.SQLiteSource(path, false)+"&_pragma="+pragma)
		return write, read, err
	}
	path := filepath.Join(dir, "state.db")
	Empty.Copy(t, path)
	if !journals {
		return openTestWith(t, path, time.Now, d, noJournal)
	}
	return openTest(t, path, time.Now, d)
}

func noJournal(*engine.DB) calls.Journal { return nil }

// openTest opens a store and closes it at the end of the test.
func openTest(t *testing.T, dsn string, now func() time.Time, d *engine.Dialect) *Store {
	t.Helper()
	return openTestWith(t, dsn, now, d, newJournal)
}

func openTestWith(t *testing.T, dsn string, now func() time.Time, d *engine.Dialect, journal upkeep.NewJournal) *Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), slow)
	defer cancel()
	s, err := open(ctx, dsn, Options{Now: now}, d, journal)
	for errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil { // a test with little patience on a busy machine
		s, err = open(ctx, dsn, Options{Now: now}, d, journal)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func paidCall(i int) store.BeginRequest {
	return store.BeginRequest{
		Execution: store.Execution{
			ID: fmt.Sprintf("%06d", i), Service: "s", AgentID: "a", IdempotencyKey: fmt.Sprint(i),
			Intent: strings.Repeat("x", 500),
		},
		Limits:     []store.Reservation{{Principal: "a", Limit: limit.Limit{ID: "l", Rate: limit.Rate{Max: 1_000_000, Period: limit.Lifetime}}}},
		Candidates: []store.Candidate{{Charge: money.Amount{Nano: 1, Currency: "USD"}}},
		Billing:    store.Billing{Credit: money.Amount{Nano: 1_000_000, Currency: "USD"}},
		Hold:       time.Minute, KeyFor: 24 * time.Hour,
	}
}

// journaledCall is paidCall without a key, so that it is written to the journal first.
func journaledCall(i int) store.BeginRequest {
	r := paidCall(i)
	r.Execution.IdempotencyKey = ""
	return r
}

func TestAFullDiskDeniesAndLosesNothing(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(i int) store.BeginRequest{"with keys": paidCall, "without": journaledCall} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fillDisk(t, call)
		})
	}
}

func fillDisk(t *testing.T, call func(i int) store.BeginRequest) {
	t.Helper()
	dir := t.TempDir()
	s := openWithPragma(t, dir, "max_page_count(300)")
	started, denied := 0, 0
	for i := range 2000 {
		_, err := s.Begin(t.Context(), call(i))
		switch {
		case err == nil:
			started++
		case errors.Is(err, store.ErrUnavailable):
			denied++
			if engine.SQLiteCode(err) == 0 || strings.Contains(err.Error(), "INSERT") {
				t.Fatalf("%v: want the cause without SQL", err)
			}
		default:
			t.Fatal(err)
		}
		if denied == 20 {
			break
		}
	}
	if started < 20 || denied < 20 {
		t.Fatalf("%d begun, %d denied: the disk did not fill up", started, denied)
	}
	pending := rowsIn(t, filepath.Join(dir, "state.db"), "journal") > 0
	err := s.Close()
	if errors.Is(err, engine.ErrLeft) != pending || pending != engine.DiskFull(err) || !pending && err != nil {
		t.Fatalf("closed with charges in the journal: %v; %v", pending, err)
	}
	s = openWithPragma(t, dir, "")
	found, err := s.Executions(t.Context(), store.Filter{Limit: 1000})
	if err != nil || len(found) != started {
		t.Fatalf("%d executions, %v; want %d", len(found), err, started)
	}
	accounts, err := s.Accounts(t.Context(), store.Filter{})
	if err != nil || len(accounts) != 1 || accounts[0].Held.Nano != int64(started) {
		t.Fatalf("%+v, %v; want %d held", accounts, err, started)
	}
	got, err := s.Begin(t.Context(), call(1999))
	if err != nil || got.Standing[0].Left != 1_000_000-int64(started)-1 {
		t.Fatalf("got %+v, %v; want no error and [0].Left %v", got.Standing, err, 1_000_000-int64(started)-1)
	}
}

func TestReadOnlyDatabaseDeniesAndStillReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := openWithPragma(t, dir, "").Begin(t.Context(), paidCall(1)); err != nil {
		t.Fatal(err)
	}
	s := openWithPragma(t, dir, "query_only(1)")
	if _, err := s.Begin(t.Context(), paidCall(2)); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("%v; want ErrUnavailable", err)
	}
	if err := s.Ready(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Fatalf("%v; want ErrUnavailable", err)
	}
	if _, err := s.Execution(t.Context(), "s", "000001"); err != nil {
		t.Fatal(err)
	}
}

// unservedStore returns a store whose queue no writer reads. queued returns the number of operations in it.
func unservedStore(t *testing.T) (s *Store, step *engine.Stepper, queued func() int) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	Empty.Copy(t, path)
	s, err := connect(t.Context(), path, Options{Now: time.Now}, engine.SQLite(), newJournal)
	if err != nil {
		t.Fatal(err)
	}
	step = s.db.Step()
	t.Cleanup(func() {
		if err := step.Kill(); err != nil {
			t.Error(err)
		}
	})
	return s, step, func() int { n, _, _ := s.db.Queued(); return n }
}

// New calls are rejected while there is still space to settle calls in progress, and abandoned calls do not run.
func TestFullQueueKeepsSpaceToSettle(t *testing.T) {
	t.Parallel()
	const most, all = 192, 256 // three quarters
	s, step, queued := unservedStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for i := range most {
		waiting.Go(func() {
			if _, err := s.Begin(ctx, paidCall(i)); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
				t.Errorf("%v; want ErrUnavailable", err)
			}
		})
	}
	for queued() < most {
		runtime.Gosched()
	}
	if _, err := s.Begin(t.Context(), paidCall(most)); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrQueueFull) {
		t.Errorf("a new call: %v; want %v and %v", err, store.ErrUnavailable, store.ErrQueueFull)
	}
	settle := func(ctx context.Context) error {
		_, err := s.Settle(ctx, store.Admission{Recorded: true, Execution: store.Execution{ID: "e", Service: "s"}},
			store.Settlement{State: store.Captured, Outcome: store.Done})
		return err
	}
	for range all - most {
		waiting.Go(func() {
			if err := settle(ctx); errors.Is(err, store.ErrQueueFull) {
				t.Errorf("the end of a call: %v", err)
			}
		})
	}
	for queued() < all {
		runtime.Gosched()
	}
	if err := settle(t.Context()); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, store.ErrQueueFull) {
		t.Errorf("a full queue: %v; want %v and %v", err, store.ErrUnavailable, store.ErrQueueFull)
	}
	cancel()
	waiting.Wait()
	step.Drain(t.Context())
	step.Together(t.Context(), func() {
		got, err := s.Begin(t.Context(), paidCall(most))
		if err != nil || got.Standing[0].Left != 999_999 {
			t.Errorf("%+v, %v; an abandoned call was counted", got.Standing, err)
		}
	})
}

// A caller whose context ends while it waits for another process returns, and its call is not counted.
func TestCallCanBeCanceledWhileDatabaseIsLocked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openWithPragma(t, dir, "")
	other := openWithPragma(t, dir, "")
	locked, release := make(chan struct{}), make(chan struct{})
	held := make(chan error, 1)
	go func() {
		held <- other.db.Update(t.Context(), func(context.Context, *engine.Tx) error {
			close(locked)
			<-release
			return nil
		})
	}()
	<-locked
	ctx, cancel := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() {
		_, err := s.Begin(ctx, paidCall(1))
		first <- err
	}()
	cancel()
	if err := <-first; !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want ErrUnavailable", err)
	}
	close(release)
	if err := <-held; err != nil {
		t.Error(err)
	}
	got, err := s.Begin(t.Context(), paidCall(2))
	if err != nil || got.Standing[0].Left != 999_999 {
		t.Fatalf("%+v, %v; the abandoned call was counted", got.Standing, err)
	}
}

// An offered policy is kept even if it has no agreements.
func TestAnOfferedPolicyIsNotPurged(t *testing.T) {
	t.Parallel()
	s := openWithPragma(t, t.TempDir(), "")
	long := time.Now().Add(-365 * 24 * time.Hour)
	for i, digest := range []string{"offered", "gone"} {
		p := pat.PolicyDocument{Service: "s", Digest: digest, Bytes: []byte("{}"), FirstOffered: long}
		if i == 0 {
			if err := s.OfferPolicy(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		a := pat.Agreement{
			ID: pat.AgreementID(digest), Service: "s", AgentID: pat.AgentID(digest), KeyID: keys.ID(digest),
			PolicyDigest: digest, Assurance: pat.Static, CreatedAt: long,
		}
		if _, err := s.Agree(t.Context(), pat.NewAgreement{Agreement: a, Policy: p}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{"offered", "gone"} {
		if _, err := s.Agreement(t.Context(), "s", pat.AgreementID(digest)); !errors.Is(err, pat.ErrNotFound) {
			t.Errorf("agreement %s: %v, want %v", digest, err, pat.ErrNotFound)
		}
	}
	if _, err := s.Policy(t.Context(), "s", "offered"); err != nil {
		t.Errorf("the offered policy: %v", err)
	}
	if _, err := s.Policy(t.Context(), "s", "gone"); !errors.Is(err, pat.ErrNotFound) {
		t.Errorf("the other: %v, want %v", err, pat.ErrNotFound)
	}
}

// Invalid stored counts deny the calls that need them, and no others.
func TestAnInvalidCounterDenies(t *testing.T) {
	t.Parallel()
	s := openWithPragma(t, t.TempDir(), "")
	if _, err := s.Begin(t.Context(), paidCall(1)); err != nil {
		t.Fatal(err)
	}
	err := s.db.Update(t.Context(), func(ctx context.Context, t *engine.Tx) error {
		_, err := t.Exec(ctx, "UPDATE counters SET counts = ?", []byte{0xff})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(t.Context(), paidCall(2)); !errors.Is(err, store.ErrUnavailable) || !errors.Is(err, window.ErrInvalid) {
		t.Fatalf("%v; want ErrUnavailable", err)
	}
	other := paidCall(3)
	other.Limits[0].ID = "another"
	if _, err := s.Begin(t.Context(), other); err != nil {
		t.Fatal(err)
	}
}
