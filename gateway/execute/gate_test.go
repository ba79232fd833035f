package execute_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// withdrawals are events that end the permission for a call while the call is running.
var withdrawals = map[string]struct {
	withdraw func(*world, *gatetest.Agent)
	want     reason.Reason
}{
	"the PAT is revoked": {revoked(pat.RevokedToken), reason.RevokedToken},
	"the agreement is revoked": {func(w *world, a *gatetest.Agent) {
		claims, err := w.service().Verifier.Verify(w.Context(), a.Token, w.Now())
		w.Must(err)
		w.revoke(pat.RevokedAgreement, string(claims.Agreement))
	}, reason.RevokedToken},
	"the agent is blocked": {revoked(pat.RevokedAgent), reason.AgentBlocked},
	"the agent is stopped": {stopped(pat.StopAgent), reason.Stopped},
	"the intent is stopped": {func(w *world, _ *gatetest.Agent) {
		w.stop(pat.Stop{Kind: pat.StopIntent, Subject: buy})
		w.stop(pat.Stop{Kind: pat.StopIntent, Subject: find})
	}, reason.Stopped},
	"the service is stopped": {stopped(pat.StopService), reason.Stopped},
	"the policy is revoked": {func(w *world, _ *gatetest.Agent) {
		w.revoke(pat.RevokedPolicy, w.service().Offer().Digest)
	}, reason.RevokedToken},
	"another policy is offered": {func(w *world, _ *gatetest.Agent) { w.offerAnother() }, reason.PolicyRequiresAgreement},
	"the PAT expires":           {func(w *world, _ *gatetest.Agent) { w.Later(31 * time.Second) }, reason.ExpiredToken},
}

// stopped returns an event that stops the calls of an agent by one kind of stop.
func stopped(kind pat.StopKind) func(*world, *gatetest.Agent) {
	return func(w *world, a *gatetest.Agent) {
		stop := pat.Stop{Service: w.service().ID, Kind: kind}
		switch kind { //nolint:exhaustive // the other kinds have no subject
		case pat.StopAgent:
			stop.Subject = string(a.ID)
		case pat.StopDoor:
			stop.Subject = pat.DoorHTTP
		case pat.StopIntent:
			stop.Subject = find
		}
		w.stop(stop)
	}
}

// stop records a stop, and lets the process read it.
func (w *world) stop(s pat.Stop) {
	w.Helper()
	s.By = "test"
	_, err := w.Store.Stop(w.Context(), s)
	w.Must(err)
	w.Must(w.View.Refresh(w.Context()))
}

// resume ends a stop, and lets the process read it.
func (w *world) resume(s pat.Stop) {
	w.Helper()
	_, err := w.Store.Resume(w.Context(), s)
	w.Must(err)
	w.Must(w.View.Refresh(w.Context()))
}

func (w *world) revoke(kind pat.RevocationKind, subject string) {
	w.Helper()
	w.Must(w.service().Issuance.Revoke(w.Context(), pat.Revocation{Kind: kind, Subject: subject, Reason: "test"}))
}

// offerAnother reloads the configuration with another policy.
func (w *world) offerAnother() {
	w.Helper()
	w.Write("policy.json", strings.Replace(stepsPolicy, "policy/1", "policy/2", 1))
	w.Reload()
}

// shortLived are settings for PATs of one minute. With the leeway, a PAT that is one minute old is valid for 30 s more.
const shortLived = "pat: {ttl: 1m, renew_grace: 0s}\n"

// aged returns an agent whose PAT ends in 30 s.
func (w *world) aged() *gatetest.Agent {
	a := w.fresh()
	w.Later(time.Minute)
	return a
}

func TestRevokedBeforeFirstByteIsNotSent(t *testing.T) {
	t.Parallel()
	for name, c := range withdrawals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, shortLived, quickUpstream)
			a := w.aged()
			w.holdAfterBegin(func(store.Admission) { c.withdraw(w, a) })
			_, refused, event := w.do(a, call{intent: buy, parameters: `{"product":"x"}`, key: "k"})
			if refused == nil || refused.Reason != c.want || refused.Details["outcome"] != store.NotSent || refused.Charge.State != "released" {
				t.Errorf("%v; want %s", refused, c.want)
			}
			if refused != nil && c.want == reason.PolicyRequiresAgreement && refused.Details["policy"] == nil {
				t.Errorf("the policy to agree to is not named: %v", refused.Details)
			}
			if n, owed := w.requests.Load(), w.owed(a); n != 0 || owed != "0.00 held, 0.00 captured" || event.Outcome != store.NotSent {
				t.Errorf("%d requests, owed %s, outcome %s", n, owed, event.Outcome)
			}
		})
	}
}

func TestRevokedCallIsNotRetried(t *testing.T) {
	t.Parallel()
	for name, c := range withdrawals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, shortLived, quickUpstream)
			a := w.aged()
			w.closesEarly()
			breakOff := *w.handler.Load()
			w.serve(func(rw http.ResponseWriter, r *http.Request) {
				c.withdraw(w, a)
				breakOff(rw, r)
			})
			_, refused, _ := w.do(a, call{intent: find, parameters: `{"q":"lamp"}`})
			if refused == nil || refused.Reason != reason.UpstreamError || refused.Details["outcome"] != store.Unknown {
				t.Errorf("got %v", refused)
			}
			if n := w.requests.Load(); n != 1 {
				t.Errorf("%d requests; want 1", n)
			}
		})
	}
}

// A call whose body arrives late uses the policy and the endpoint at the time of its arrival.
func TestCallUsesTheTimeOfItsBody(t *testing.T) {
	slow := func(w *world, meanwhile func()) call {
		return call{read: func() (execute.Request, error) {
			meanwhile()
			return execute.Request{IntentUID: item, Parameters: tree(w, `{"id":"x"}`)}, nil
		}}
	}
	t.Run("another policy", func(t *testing.T) {
		w := newWorld(t, "", quickUpstream)
		a := w.fresh()
		_, refused, _ := w.do(a, slow(w, w.offerAnother))
		if refused == nil || refused.Reason != reason.PolicyRequiresAgreement || w.requests.Load() != 0 {
			t.Errorf("%v, %d requests", refused, w.requests.Load())
		}
	})
	t.Run("another endpoint", func(t *testing.T) {
		w := newWorld(t, "", quickUpstream)
		a := w.fresh()
		var path string
		w.serve(func(rw http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			_, _ = io.WriteString(rw, "{}")
		})
		w.must(a, slow(w, func() {
			w.Write("agents.json", strings.Replace(stepsAgents, "/items/{id}", "/goods/{id}", 1))
			w.Reload()
		}))
		if path != "/goods/x" {
			t.Errorf("sent to %s, want %q", path, "/goods/x")
		}
	})
	t.Run("removed service", func(t *testing.T) {
		w := newWorld(t, "", quickUpstream)
		a := w.fresh()
		_, refused, _ := w.do(a, slow(w, func() { w.gone = true }))
		if refused == nil || refused.Reason != reason.UnknownHost || w.requests.Load() != 0 {
			t.Errorf("%v, %d requests", refused, w.requests.Load())
		}
	})
}

// If the gateway cannot refresh its view of revocations, it sends no calls.
func TestNothingIsSentOnStaleView(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	a := w.fresh()
	w.holdAfterBegin(func(store.Admission) { w.Pass(2 * time.Second) })
	if _, refused, _ := w.do(a, call{intent: item, parameters: `{"id":"x"}`}); refused != nil { // the view is refreshed
		t.Errorf("got %v, want nil", refused)
	}
	w.requests.Store(0)
	w.holdAfterBegin(func(store.Admission) {
		w.closeStore()
		w.Pass(2 * time.Second)
	})
	_, refused, _ := w.do(a, call{intent: item, parameters: `{"id":"x"}`})
	if refused == nil || refused.Reason != reason.StoreUnavailable || refused.Details["outcome"] != store.NotSent || w.requests.Load() != 0 {
		t.Errorf("%v, %d requests", refused, w.requests.Load())
	}
}
