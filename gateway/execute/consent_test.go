package execute_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// consented returns a new agent with the consent of a person to this scope.
func (w *world) consented(scope ...string) (*gatetest.Agent, pat.Issuance) {
	w.Helper()
	s := w.service()
	agreement, err := s.Issuance.Consent(w.Context(), pat.ConsentRequest{
		ClientID: "client", ClientName: "Client", RedirectHost: "localhost", PolicyDigest: s.Offer().Digest,
		Scope: scope, Page: "sha-256:p",
	})
	w.Must(err)
	issued, err := s.Issuance.ConsentedToken(w.Context(), agreement.ID, s.At("/mcp"), nil)
	w.Must(err)
	return &gatetest.Agent{ID: agreement.AgentID, Token: issued.Token}, issued
}

// A consent permits exactly the calls that a static agreement permits. Other members of the call do not change that.
func TestConsentPermitsNoMoreThanStatic(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", quickUpstream)
	entry := "shop.example:*:*:execute"
	a, issued := w.consented(entry)
	static := w.static()
	claims, err := w.service().Verifier.Verify(w.Context(), static.Token, w.Now())
	w.Must(err)
	if !slices.Equal(issued.Claims.Scope, claims.Scope) || len(claims.Scope) == 0 {
		t.Errorf("scope of a consent %v, of a static agreement %v", issued.Claims.Scope, claims.Scope)
	}
	for _, intent := range []string{buy, careful, "shop.example:signed:v1", proved} {
		_, one, _ := w.do(a, call{intent: intent, parameters: `{"product":"lamp"}`})
		_, other, _ := w.do(static, call{intent: intent, parameters: `{"product":"lamp"}`})
		if one == nil || other == nil || one.Reason != other.Reason {
			t.Errorf("%s: refused under consent with %v, under a static agreement with %v", intent, one, other)
		}
	}
	if w.requests.Load() != 0 {
		t.Errorf("%d requests reached the service, want 0", w.requests.Load())
	}
}

// The gateway knows no key for a consent, so it refuses every proof, even one with the key of another agent.
func TestConsentHasNoProof(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", quickUpstream)
	a, _ := w.consented(find + ":execute")
	other := w.fresh()
	signer := &gatetest.Agent{ID: a.ID, Key: other.Key, Token: a.Token}
	parameters := `{"q":"lamp"}`
	_, refused, _ := w.do(a, call{intent: find, parameters: parameters, proof: w.proof(signer, find, parameters)})
	if refused == nil || refused.Reason != reason.PolicyRequiresVerification {
		t.Errorf("a proof under a consent: %v", refused)
	}
	var received http.Header
	w.serve(func(rw http.ResponseWriter, r *http.Request) {
		received = r.Header.Clone()
		rw.Header().Set("Content-Type", "application/json")
		fmt.Fprint(rw, `{"items":[]}`)
	})
	w.must(a, call{intent: find, parameters: parameters})
	if received.Get("Uim-Agent-Id") != string(a.ID) || received.Get("Uim-Agreement-Assurance") != "consent" ||
		received["Uim-Agent-Key"] != nil {
		t.Errorf("the service received %v", received)
	}
}

// Each consent has its own limits.
func TestConsentsAreLimitedSeparately(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", quickUpstream)
	w.answers(200, "application/json", `{"items":[]}`)
	one, _ := w.consented(find + ":execute")
	other, _ := w.consented(find + ":execute")
	for range 5 {
		w.must(one, call{intent: find, parameters: `{"q":"lamp"}`})
	}
	_, refused, _ := w.do(one, call{intent: find, parameters: `{"q":"lamp"}`})
	if refused == nil || refused.Reason != reason.RateLimitExceeded {
		t.Errorf("the sixth call: %v", refused)
	}
	w.must(other, call{intent: find, parameters: `{"q":"lamp"}`})
}
