package agent_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/agent"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// relayedGate returns a gateway whose service is an agent on the gateway's own relay.
func relayedGate(t *testing.T) *gatetest.Gate {
	t.Helper()
	return gatetest.New(t, gatetest.RelaySettings+
		"services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, doors: {mrp: {relay: local}}}\n",
		func(g *gatetest.Gate) { g.Write("policy.json", limitedPolicy) })
}

// relayOptions returns the options of an agent on that relay. The test fails if the agent posts to the service's own endpoints.
func relayOptions(t *testing.T, g *gatetest.Gate, encrypt bool) agent.Options {
	t.Helper()
	o := gateOptions(t, g)
	o.AgentID, o.Relay = "", &agent.Relay{URL: g.RelayURL, Encrypt: encrypt}
	wrap := o.Wrap
	o.Wrap = func(next http.RoundTripper) http.RoundTripper {
		through := wrap(next)
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPost && r.URL.Host == published {
				t.Errorf("the agent posted to the service itself: %s", r.URL.Path)
			}
			return through.RoundTrip(r)
		})
	}
	return o
}

func TestRelayAgent(t *testing.T) {
	t.Parallel()
	for name, encrypt := range map[string]bool{"for the relay to read": false, "encrypted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := relayedGate(t)
			upstreamSays(g, http.StatusOK, `{"order": "o-1"}`)
			o := relayOptions(t, g, encrypt)
			client := clientOf(t, o)
			if _, err := wire.ParseKey(string(client.AgentID())); err != nil {
				t.Errorf("%s: %v", client.AgentID(), err)
			}
			s, err := client.Discover(t.Context(), "http://"+published)
			g.Must(err)
			digest := g.Directory.Current().Service("default").Offer().Digest
			a, err := s.Agree(t.Context(), agent.Acceptance{Digest: digest, Scope: []string{gatetest.Ordering + ":execute"}})
			if err != nil || a.Form != agent.FormFresh || a.ID == "" || len(a.Scope) != 1 || a.ExpiresAt.IsZero() {
				t.Fatalf("got %+v, %v", a, err)
			}
			result, err := s.Execute(t.Context(), gatetest.Ordering, map[string]any{"product": "lamp"}, agent.ExecuteOptions{IdempotencyKey: "once"})
			if err != nil || result.Charge == nil || fmt.Sprint(result.Output) != "map[order:o-1]" {
				t.Fatalf("got %+v, %v", result, err)
			}
			again, err := s.Execute(t.Context(), gatetest.Ordering, map[string]any{"product": "lamp"}, agent.ExecuteOptions{IdempotencyKey: "once"})
			if err != nil || !again.Replayed {
				t.Errorf("got %+v, %v", again, err)
			}
			if _, err := s.Execute(t.Context(), gatetest.Searching, nil, agent.ExecuteOptions{}); !errors.Is(err, agent.ErrScopeExceeded) {
				t.Errorf("beyond the scope: %v, want %v", err, agent.ErrScopeExceeded)
			}
			if _, err := s.Execute(t.Context(), gatetest.Ordering, map[string]any{"product": 7}, agent.ExecuteOptions{}); !errors.Is(err,
				agent.ErrInvalidParameter) {
				t.Errorf("wrong parameters: %v, want %v", err, agent.ErrInvalidParameter)
			}
			if renewed, err := s.Renew(t.Context()); err != nil || renewed.ID != a.ID {
				t.Errorf("got %+v, %v; want no error and ID %v", renewed, err, a.ID)
			}
		})
	}
}

func TestInvalidRelayOptions(t *testing.T) {
	t.Parallel()
	g := relayedGate(t)
	for name, change := range map[string]func(*agent.Options){
		"another id":        func(o *agent.Options) { o.AgentID = "robot" },
		"no key":            func(o *agent.Options) { o.Key = nil },
		"a relay over http": func(o *agent.Options) { o.Relay.URL = "http://relay.example" },
		"no URL":            func(o *agent.Options) { o.Relay.URL = "" },
		"a key of P-256":    func(o *agent.Options) { o.Key = keyOf(t, "ES256") },
	} {
		o := relayOptions(t, g, false)
		change(&o)
		if _, err := agent.New(o); !errors.Is(err, agent.ErrOptions) {
			t.Errorf("%s: %v, want %v", name, err, agent.ErrOptions)
		}
	}
	for name, key := range map[string]string{"another key": strings.Repeat("A", 43), "no key": "x"} {
		o := relayOptions(t, g, false)
		o.Relay.Service = key
		s, err := clientOf(t, o).Discover(t.Context(), "http://"+published)
		g.Must(err)
		_, err = s.Agree(t.Context(), agent.Acceptance{Digest: g.Directory.Current().Service("default").Offer().Digest})
		if !errors.Is(err, agent.ErrNoDoor) {
			t.Errorf("%s: %v, want %v", name, err, agent.ErrNoDoor)
		}
	}
}
