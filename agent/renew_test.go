package agent_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

func TestPATIsRenewedOnceBeforeExpiry(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	execute := func() {
		t.Helper()
		if _, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{}); err != nil {
			t.Error(err)
		}
	}
	shop.Clock.Add(59*time.Minute - time.Second)
	execute()
	if n := shop.Requests("/api/pat/renew"); n != 0 {
		t.Fatalf("renewed %d times, too early, want 0", n)
	}
	shop.Clock.Add(2 * time.Second)
	before := s.Session()
	var all sync.WaitGroup
	for range 20 {
		all.Go(execute)
	}
	all.Wait()
	if n := shop.Requests("/api/pat/renew"); n != 1 {
		t.Errorf("renewed %d times, want once", n)
	}
	after := s.Session()
	ends := shop.Clock.Now().Add(time.Hour)
	if after.Token() == before.Token() || !after.ExpiresAt.Equal(ends) || after.PolicyDigest != before.PolicyDigest {
		t.Errorf("got %+v", after)
	}
	if n := shop.Requests("/api/pat/issue"); n != 1 {
		t.Errorf("agreed %d times, want 1", n)
	}
}

func TestExpiredPATIsReplaced(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	shop.Clock.Add(3 * time.Hour)
	if _, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{}); err != nil {
		t.Fatal(err)
	}
	if n := shop.Requests("/api/pat/issue"); n != 2 {
		t.Errorf("agreed %d times, want 2", n)
	}
}

func TestClientClockBehind(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := options(t, shop)
	behind := shop.Clock.Now()
	o.Now = func() time.Time { return behind }
	s := agreed(t, o, shop.URL)
	shop.Clock.Add(61 * time.Minute)
	_, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
	// The client agrees again, with a timestamp that the service rejects as too old. It must try only once.
	if err == nil || shop.Requests("/api/intents/execute") != 1 || shop.Requests("/api/pat/renew") != 1 {
		t.Errorf("got %v, %d, %d; want an error, 1, 1", err, shop.Requests("/api/intents/execute"), shop.Requests("/api/pat/renew"))
	}
	wantErr(t, err, agent.ErrExpiredToken)
}

func TestRevokedPATIsNotReplaced(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	shop.RevokeAll()
	_, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
	wantErr(t, err, agent.ErrRevokedToken)
	_, err = s.Renew(t.Context())
	wantErr(t, err, agent.ErrRevokedToken)
	if n := shop.Requests("/api/pat/issue"); n != 1 {
		t.Errorf("agreed %d times, want once", n)
	}
}

func TestCancelDoesNotStopSharedRenewal(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Renew(gone); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := s.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestFailedRenewalKeepsValidPAT(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL)
	inner := shop.Config.Handler
	shop.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/pat/renew" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		inner.ServeHTTP(w, r)
	})
	shop.Clock.Add(time.Hour - time.Second)
	if _, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{}); err != nil {
		t.Fatal(err)
	}
	shop.Clock.Add(2 * time.Second)
	_, err := s.Execute(t.Context(), agenttest.Search, nil, agent.ExecuteOptions{})
	wantErr(t, err, agent.ErrUnavailable)
}
