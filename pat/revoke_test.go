package pat_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uimgate/uimgate/pat"
)

func TestRevocation(t *testing.T) {
	for _, kind := range []pat.RevocationKind{pat.RevokedToken, pat.RevokedAgreement, pat.RevokedAgent, pat.RevokedPolicy} {
		t.Run(string(kind), func(t *testing.T) {
			w := newWorld(t)
			key, bystander := newEd(), newEd()
			hit := w.issue(t, w.fresh(t, "agent", key))
			second := w.issue(t, w.fresh(t, "agent", key))
			third := w.issue(t, w.fresh(t, "bystander", bystander))
			for _, i := range []pat.Issuance{hit, second, third} { // cache all of them
				if _, err := w.verify(t, i.Token); err != nil {
					t.Fatal(err)
				}
			}
			subject := map[pat.RevocationKind]string{
				pat.RevokedToken: string(hit.Claims.ID), pat.RevokedAgreement: string(hit.AgreementID), pat.RevokedAgent: "agent",
				pat.RevokedPolicy: w.terms.offer.Digest,
			}[kind]
			w.add(500 * time.Millisecond)
			noError(t, w.issuer.Revoke(t.Context(), pat.Revocation{Kind: kind, Subject: subject, Reason: "because"}))
			noError(t, w.issuer.Revoke(t.Context(), pat.Revocation{Kind: kind, Subject: subject, Reason: "again"}))
			want := pat.ErrRevoked
			if kind == pat.RevokedAgent {
				want = pat.ErrBlocked
			}
			check := func(when string, i pat.Issuance, want error) {
				t.Helper()
				if _, err := w.verify(t, i.Token); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", when, err, want)
				}
			}
			check("the one", hit, want)
			switch kind {
			case pat.RevokedAgent:
				check("another PAT of the agent", second, want)
				check("another agent's", third, nil)
			case pat.RevokedPolicy:
				check("another PAT of the agent", second, want)
				check("another agent's", third, want)
			default:
				check("another PAT of the agent", second, nil)
				check("another agent's", third, nil)
			}
			// Revocations survive a restart.
			w.view = pat.NewView(w.store, w.keys, w.now)
			w.refresh(t)
			w.reissue(t)
			check("after a restart", hit, want)
			if kind == pat.RevokedAgent {
				if _, err := w.issuer.Issue(t.Context(), w.fresh(t, "agent", key)); !errors.Is(err, pat.ErrBlocked) {
					t.Errorf("a blocked agent agrees again: %v, want %v", err, pat.ErrBlocked)
				}
				noError(t, w.issuer.Unblock(t.Context(), "agent"))
				check("after it was unblocked", hit, pat.ErrRevoked)
			}
			again := w.issue(t, w.fresh(t, "agent", key)) // in the same second as the revocation
			check("a new agreement", again, nil)
			if !again.Claims.IssuedAt.Truncate(time.Second).Equal(again.Claims.IssuedAt) {
				t.Errorf("iat %s", again.Claims.IssuedAt)
			}
		})
	}
	w := newWorld(t)
	for _, bad := range []struct{ kind, subject string }{{"token", ""}, {"renewed", "x"}, {"", "x"}} {
		if err := w.issuer.Revoke(t.Context(), pat.Revocation{Kind: pat.RevocationKind(bad.kind), Subject: bad.subject}); err == nil {
			t.Errorf("got %v", bad)
		}
	}
}

func TestRevocationByPossession(t *testing.T) {
	w := newWorld(t)
	issued := w.issue(t, w.fresh(t, "agent", newEd()))
	for name, token := range map[string]string{
		"none": "", "nonsense": "x.y.z", "forged": jws(t, map[string]any{"alg": "EdDSA", "typ": pat.TypePAT, "kid": w.keys.Current()},
			issuedPayload(t, issued), edSign(newEd())),
	} {
		if err := w.issuer.RevokeToken(t.Context(), token); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.verify(t, issued.Token); err != nil {
		t.Fatalf("an invalid token revoked the PAT: %v", err)
	}
	noError(t, w.issuer.RevokeToken(t.Context(), issued.Token))
	noError(t, w.issuer.RevokeToken(t.Context(), issued.Token))
	if _, err := w.verify(t, issued.Token); !errors.Is(err, pat.ErrRevoked) {
		t.Errorf("got %v, want %v", err, pat.ErrRevoked)
	}
}

func issuedPayload(tb testing.TB, i pat.Issuance) []byte {
	tb.Helper()
	parts := slices.Collect(func(yield func(string) bool) {
		start := 0
		for n, c := range i.Token + "." {
			if c == '.' {
				if !yield(i.Token[start:n]) {
					return
				}
				start = n + 1
			}
		}
	})
	return must(base64url(parts[1]))
}

func TestRevocationReachesOtherProcesses(t *testing.T) {
	w := newWorld(t)
	issued := w.issue(t, w.fresh(t, "agent", newEd()))
	replica := pat.NewView(w.store, w.keys, w.now)
	there := must(pat.NewVerifier(pat.VerifierConfig{Service: service, Issuer: issuer, Keys: w.keys, View: replica}))
	if _, err := there.Verify(t.Context(), issued.Token, w.now()); !errors.Is(err, pat.ErrUnavailable) {
		t.Errorf("a view that was not refreshed: %v, want %v", err, pat.ErrUnavailable)
	}
	noError(t, replica.Refresh(t.Context()))
	if _, err := there.Verify(t.Context(), issued.Token, w.now()); err != nil {
		t.Fatal(err)
	}
	noError(t, w.issuer.Revoke(t.Context(), pat.Revocation{Kind: pat.RevokedToken, Subject: string(issued.Claims.ID)}))
	w.add(time.Second)
	if _, err := there.Verify(t.Context(), issued.Token, w.now()); err != nil {
		t.Errorf("a view that is at most a second old: %v", err)
	}
	w.add(time.Millisecond)
	if _, err := there.Verify(t.Context(), issued.Token, w.now()); !errors.Is(err, pat.ErrUnavailable) {
		t.Errorf("a view older than a second: %v, want %v", err, pat.ErrUnavailable)
	}
	noError(t, replica.Refresh(t.Context()))
	if _, err := there.Verify(t.Context(), issued.Token, w.now()); !errors.Is(err, pat.ErrRevoked) {
		t.Errorf("got %v, want %v", err, pat.ErrRevoked)
	}
}

func TestViewReportsBlockedAgents(t *testing.T) {
	w := newWorld(t)
	w.issue(t, w.fresh(t, "agent", newEd()))
	if w.view.Blocked(service, "agent") {
		t.Error("the agent is blocked without a revocation")
	}
	noError(t, w.issuer.Revoke(t.Context(), pat.Revocation{Kind: pat.RevokedAgent, Subject: "agent"}))
	if !w.view.Blocked(service, "agent") || w.view.Blocked("other", "agent") {
		t.Error("the agent is not blocked, or blocked at another service")
	}
	noError(t, w.issuer.Unblock(t.Context(), "agent"))
	if w.view.Blocked(service, "agent") {
		t.Error("still blocked")
	}
	if err := w.issuer.Unblock(t.Context(), "nobody"); !errors.Is(err, pat.ErrNotFound) {
		t.Errorf("got %v, want %v", err, pat.ErrNotFound)
	}
}

// A feed is a ViewStore that counts reads and fails on demand.
type feed struct {
	mu    sync.Mutex
	reads int
	err   error
}

func (f *feed) Changes(context.Context, int64) ([]pat.Change, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads++
	return nil, 0, f.err
}

func (f *feed) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func TestViewRunsUntilContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{}
		v := pat.NewView(f, nil, time.Now)
		ctx, cancel := context.WithCancel(t.Context())
		var failures atomic.Int64
		done := make(chan error, 1)
		go func() {
			done <- v.Run(ctx, func(err error) {
				if err != nil {
					failures.Add(1)
				}
			})
		}()
		time.Sleep(1100 * time.Millisecond) // no real time passes in the bubble
		synctest.Wait()
		if f.reads != 5 || !v.Fresh(time.Now()) || failures.Load() != 0 {
			t.Errorf("%d reads, fresh %v, %d failures", f.reads, v.Fresh(time.Now()), failures.Load())
		}
		f.fail(errors.New("down"))
		time.Sleep(800 * time.Millisecond)
		synctest.Wait()
		if !v.Fresh(time.Now()) || failures.Load() == 0 {
			t.Errorf("the last read is less than a second old; %d failures", failures.Load())
		}
		time.Sleep(500 * time.Millisecond)
		synctest.Wait()
		if v.Fresh(time.Now()) {
			t.Error("fresh, although the store has failed for a second")
		}
		f.fail(nil)
		time.Sleep(250 * time.Millisecond)
		synctest.Wait()
		if !v.Fresh(time.Now()) {
			t.Error("not fresh, although the store recovered")
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	w := newWorld(t)
	issued := w.issue(t, w.fresh(t, "agent", newEd()))
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for range 20 {
				if _, err := w.verify(t, issued.Token); err != nil {
					t.Error(err)
				}
				if err := w.view.Refresh(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			if n == 0 {
				if _, err := w.keys.Rotate(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if _, err := w.issuer.Issue(t.Context(), w.fresh(t, string(rune('a'+n)), newEd())); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestRepeatedRevocationsAreOneChange revokes a PAT in each way twice, under a clock that advances at each reading.
func TestRepeatedRevocationsAreOneChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ticking := func() time.Time { w.add(time.Microsecond); return w.now() }
	i, err := pat.NewIssuer(pat.IssuerConfig{
		Rules: w.rules, Terms: w.terms, Store: w.store, Keys: w.keys, View: w.view, Now: ticking,
		Forms: forms(),
	})
	noError(t, err)
	issued, consented := w.issue(t, w.fresh(t, "agent", newEd())), w.consentedToken(t, w.consented(t).ID)
	for name, revoke := range map[string]func() error{
		"a PAT by its bearer":     func() error { return i.RevokeToken(t.Context(), issued.Token) },
		"a PAT of consent":        func() error { return i.RevokeToken(t.Context(), consented.Token) },
		"a token by the operator": func() error { return i.Revoke(t.Context(), pat.Revocation{Kind: pat.RevokedToken, Subject: "other"}) },
		"an agreement": func() error {
			return i.Revoke(t.Context(), pat.Revocation{Kind: pat.RevokedAgreement, Subject: string(issued.AgreementID)})
		},
	} {
		_, before, err := w.store.Changes(t.Context(), 0)
		noError(t, err)
		for range 30 {
			noError(t, revoke())
		}
		if _, after, err := w.store.Changes(t.Context(), 0); err != nil || after != before+1 {
			t.Errorf("%s: the feed moves by %d, %v; want 1", name, after-before, err)
		}
	}
}
