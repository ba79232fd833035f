package agent_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/fetch"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

func TestInvalidPolicies(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	inner := shop.Config.Handler
	for name, tt := range map[string]struct {
		body string
		want error
	}{
		"not an object":      {`[]`, agent.ErrAnswer},
		"not JSON":           {`{"\u001b[31m":`, agent.ErrAnswer},
		"a duplicate member": {`{"uid":"a","uid":"b"}`, agent.ErrAnswer},
		"a number too long":  {`{"uid":"a","n":12345678901234567890123}`, agent.ErrAnswer},
		"too large":          {`{"uid":"` + strings.Repeat("a", 2<<20) + `"}`, fetch.ErrTooLarge},
	} {
		shop.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/api/policy" {
				inner.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/ld+json")
			_, _ = w.Write([]byte(tt.body))
		})
		s := discover(t, options(t, shop), shop.URL)
		p, err := s.Policy(t.Context())
		if !errors.Is(err, tt.want) || p.Digest != "" || !fit(err.Error()) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := s.Agree(t.Context(), agent.Acceptance{Digest: shop.Digest()}); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if shop.Requests("/api/pat/issue") != 0 {
		t.Error("the client signed a policy")
	}
}

func TestPolicyUIDs(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	for policy, want := range map[string]string{
		`{"uid":"urn:a","permission":[]}`: "urn:a", `{"@id":"urn:b"}`: "urn:b", `{"id":"urn:c"}`: "urn:c",
		`{"uid":{"@id":"urn:d"}}`: "urn:d", `{}`: "",
	} {
		shop.Offer(t, policy)
		s := discover(t, options(t, shop), shop.URL)
		p, err := s.Policy(t.Context())
		if err != nil || p.UID != want {
			t.Errorf("%s: %q, %v; want %v, nil", policy, p.UID, err, want)
		}
		// The service states another uid for the policy. The agent accepted the digest, so it agrees.
		if a, err := s.Agree(t.Context(), agent.Acceptance{Digest: p.Digest}); err != nil || a.PolicyUID != agenttest.PolicyUID {
			t.Errorf("%s: got %+v, %v; want no error and PolicyUID %v", policy, a, err, agenttest.PolicyUID)
		}
	}
}

func TestPermits(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	s := agreed(t, options(t, shop), shop.URL).Session()
	for uid, want := range map[string]bool{agenttest.Search: true, "shop.example:other:v1": false, "": false} {
		if s.Permits(uid) != want {
			t.Errorf("%q: %v", uid, !want)
		}
	}
	s.Scope = []string{"shop.example:*:*:execute"}
	if !s.Permits("shop.example:other:v1") || s.Permits("shop.example.evil:other:v1") || s.Permits("other.example:x:v1") {
		t.Error("a wildcard scope must permit its whole namespace and no other")
	}
	s.Scope = nil
	if !s.Permits(agenttest.Search) || (agent.Session{}).Permits(agenttest.Search) {
		t.Error("a session without a scope must permit every intent, a session without a PAT none")
	}
}

func TestErrorTexts(t *testing.T) {
	t.Parallel()
	const changed = "the policy has changed: sha-256:a was accepted, but the service now offers sha-256:b, which was not signed"
	for err, want := range map[error]string{
		&agent.PolicyChangedError{Agreed: "sha-256:a", Offered: "sha-256:b"}: changed,
		&agent.PendingError{AgreementID: "x"}:                                "is waiting for the service's operator",
		&agent.IssuerError{Issuer: "a.example", Host: "b.example"}:           "b.example requests an agreement made out to a.example",
		&agent.Error{Status: 502}:                                            "the service responded with 502 Bad Gateway",
		&agent.Error{Status: 400, Code: "C", Message: "m"}:                   "C: m",
		&agent.Error{Status: 400, Code: "C", Reason: "R"}:                    "R",
		agent.ErrQuotaExceeded:                                               "quota exceeded",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q, want %q", err, want)
		}
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	shop := agenttest.New(t, agenttest.Canonical)
	o := options(t, shop)
	o.Sleep = nil // the real one
	s := agreed(t, o, shop.URL)
	shop.Script(agenttest.Reply{Status: 503, Header: map[string]string{"Retry-After": "20"}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := s.Execute(ctx, agenttest.Search, nil, agent.ExecuteOptions{})
	wantErr(t, err, agent.ErrUnavailable)
	wantErr(t, err, context.DeadlineExceeded)
}

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]agent.Options{
		"id with a space": {AgentID: "a b"}, "id too long": {AgentID: strings.Repeat("a", 201)}, "negative": {MaxWait: -1},
	} {
		if c, err := agent.New(o); !errors.Is(err, agent.ErrOptions) || c != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	shop := agenttest.New(t, agenttest.Canonical)
	_, err := discover(t, agent.Options{}, shop.URL).Agree(t.Context(), agent.Acceptance{Digest: shop.Digest()})
	wantErr(t, err, agent.ErrOptions)
}
