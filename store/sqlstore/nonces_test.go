package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// provedCall returns a call with a proof of key whose nonce ends after this number of minutes.
func provedCall(nonce string, minutes int) store.BeginRequest {
	return store.BeginRequest{
		Execution:  store.Execution{Service: "s", AgentID: "a"},
		Candidates: []store.Candidate{{}},
		Hold:       time.Minute,
		Nonce:      &store.Nonce{KeyID: "k", ID: nonce, Until: time.Now().Add(time.Duration(minutes) * time.Minute)},
	}
}

// agreementWith returns an agreement of another key with this nonce.
func agreementWith(id, nonce string) pat.NewAgreement {
	return pat.NewAgreement{
		Agreement: pat.Agreement{
			ID: pat.AgreementID(id), Service: "s", AgentID: pat.AgentID("agent-" + id), KeyID: "k", PolicyDigest: "d",
			Assurance: pat.Fresh, Nonce: nonce,
		},
		Policy:     pat.PolicyDocument{Service: "s", Digest: "d", Bytes: []byte("{}")},
		NonceUntil: time.Now().Add(10 * time.Minute),
	}
}

// expectUsed checks that a nonce is refused as used, even with another end, and that a fresh nonce is accepted.
func expectUsed(t *testing.T, s *Store, nonce string) {
	t.Helper()
	for _, minutes := range []int{10, 1, 60} {
		if _, err := s.Begin(t.Context(), provedCall(nonce, minutes)); !errors.Is(err, store.ErrNonceUsed) {
			t.Errorf("%s, for %d minutes: %v; want %v", nonce, minutes, err, store.ErrNonceUsed)
		}
	}
	fresh := fmt.Sprint("beside ", nonce, time.Now().UnixNano())
	if _, err := s.Begin(t.Context(), provedCall(fresh, 10)); err != nil {
		t.Errorf("a fresh nonce after %s: %v", nonce, err)
	}
}

func beginWith(t *testing.T, s *Store, nonces ...string) {
	t.Helper()
	for i, nonce := range nonces {
		if _, err := s.Begin(t.Context(), provedCall(nonce, 10+i)); err != nil {
			t.Errorf("%s: %v", nonce, err)
		}
	}
}

func closed(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A nonce stays used, whatever happens to the process that used it.
func TestAUsedNonceStaysUsed(t *testing.T) {
	t.Parallel()
	for name, then := range map[string]func(t *testing.T, s *Store, path string) *Store{
		"same process": func(_ *testing.T, s *Store, _ string) *Store { return s },
		"restart": func(t *testing.T, s *Store, path string) *Store {
			t.Helper()
			closed(t, s)
			return openTest(t, path, time.Now, engine.SQLite())
		},
		"second process uses other nonces": func(t *testing.T, s *Store, path string) *Store {
			t.Helper()
			other := openTest(t, path, time.Now, engine.SQLite())
			beginWith(t, other, "theirs")
			beginWith(t, s, "ours")
			expectUsed(t, other, "ours")
			expectUsed(t, s, "theirs")
			return other
		},
		"failed transaction": func(t *testing.T, s *Store, path string) *Store {
			t.Helper()
			other := openTest(t, path, time.Now, engine.SQLite())
			r := unapproved("a", "one id", 100)
			if _, err := s.Begin(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			r.Nonce = provedCall("undone", 10).Nonce
			if _, err := s.Begin(t.Context(), r); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("the same record twice: %v, want %v", err, store.ErrUnavailable)
			}
			beginWith(t, other, "undone")
			expectUsed(t, s, "undone")
			return s
		},
		"purge": func(t *testing.T, s *Store, _ string) *Store {
			t.Helper()
			if n, err := s.Purge(t.Context()); n != 0 || err != nil {
				t.Errorf("Purge: got %d, %v; want 0 and no error", n, err)
			}
			return s
		},
		"restored backup": func(t *testing.T, s *Store, path string) *Store {
			t.Helper()
			to := filepath.Join(t.TempDir(), "copy.db")
			if err := Backup(t.Context(), path, to); err != nil {
				t.Fatal(err)
			}
			closed(t, s)
			if _, err := Restore(t.Context(), to, store.DefaultRestoredLimits(), Options{Now: time.Now}); err != nil {
				t.Fatal(err)
			}
			return openTest(t, to, time.Now, engine.SQLite())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "state.db")
			s := openTest(t, path, time.Now, engine.SQLite())
			beginWith(t, s, "call-1", "call-2")
			if _, err := s.Agree(t.Context(), agreementWith("1", "agreement")); err != nil {
				t.Fatal(err)
			}
			s = then(t, s, path)
			for _, nonce := range []string{"call-1", "call-2", "agreement"} {
				expectUsed(t, s, nonce)
			}
			for _, nonce := range []string{"agreement", "call-1"} {
				a := agreementWith("1", nonce)
				a.Agreement.ID = "another"
				if _, err := s.Agree(t.Context(), a); !errors.Is(err, pat.ErrReplayed) {
					t.Errorf("an agreement with %s: %v, want %v", nonce, err, pat.ErrReplayed)
				}
			}
		})
	}
}

// inOneTransaction runs operations in one transaction: a held transaction delays them until all of them wait.
func inOneTransaction(t *testing.T, s *Store, each ...func() error) (errs []error) {
	t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		if err := s.db.Update(t.Context(), func(context.Context, *engine.Tx) error {
			select {
			case <-held:
			default:
				close(held)
			}
			<-free
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	<-held
	errs = make([]error, len(each))
	for i, run := range each {
		all.Go(func() { errs[i] = run() })
	}
	for n := 0; n < len(each); _, n, _ = s.db.Queued() {
		runtime.Gosched()
	}
	close(free)
	all.Wait()
	return errs
}

func TestANonceIsUsedOnceInATransaction(t *testing.T) {
	t.Parallel()
	s := openWithPragma(t, t.TempDir(), "")
	var calls, others []func() error
	for i := range 20 {
		calls = append(calls, func() error {
			_, err := s.Begin(t.Context(), provedCall("call-"+strconv.Itoa(i%2), i))
			return err
		})
		others = append(others, func() error { return using(t, s, "other-"+strconv.Itoa(i%2), nil) })
	}
	for what, each := range map[string][]func() error{"calls": calls, "other operations": others} {
		took := 0
		for _, err := range inOneTransaction(t, s, each...) {
			switch {
			case err == nil:
				took++
			case !errors.Is(err, store.ErrNonceUsed) && !errors.Is(err, pat.ErrReplayed):
				t.Errorf("%s: %v", what, err)
			}
		}
		if took != 2 {
			t.Errorf("%d %s used one of two nonces; want 2", took, what)
		}
	}
}

// using runs an operation other than a call that uses a nonce and then returns the given error.
func using(t *testing.T, s *Store, nonce string, then error) error {
	t.Helper()
	return s.db.Update(t.Context(), func(ctx context.Context, t *engine.Tx) error {
		fresh, err := s.UseNonce(ctx, t, "s", "k", nonce, time.Now().Add(time.Hour))
		if err == nil && !fresh {
			err = pat.ErrReplayed
		}
		return errors.Join(err, then)
	})
}

// An operation that fails, alone or in a shared transaction, leaves its nonce unused.
func TestFailedOperationLeavesNonceUnused(t *testing.T) {
	t.Parallel()
	s := openWithPragma(t, t.TempDir(), "")
	errUndone := errors.New("undone")
	using := func(nonce string, then error) func() error { return func() error { return using(t, s, nonce, then) } }
	if err := using("alone", errUndone)(); !errors.Is(err, errUndone) || errors.Is(err, pat.ErrReplayed) {
		t.Error(err)
	}
	errs := inOneTransaction(t, s, using("kept", nil), using("undone", errUndone), using("undone", errUndone), using("kept too", nil))
	for i, want := range []error{nil, errUndone, errUndone, nil} {
		if !errors.Is(errs[i], want) || errors.Is(errs[i], pat.ErrReplayed) {
			t.Errorf("operation %d: %v; want %v", i, errs[i], want)
		}
	}
	limited := provedCall("limited", 10)
	limited.Limits = []store.Reservation{{Principal: "a"}} // the rate is invalid
	if _, err := s.Begin(t.Context(), limited); err == nil {
		t.Error("a call without a rate began")
	}
	beginWith(t, s, "alone", "undone", "limited")
	expectUsed(t, s, "kept")
	expectUsed(t, s, "kept too")
}
