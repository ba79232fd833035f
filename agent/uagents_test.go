package agent_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/agent"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/identity"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/pat"
)

func seeded(t *testing.T, seed string) identity.Key {
	t.Helper()
	key, err := identity.FromSeed(seed, 0)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// envelopeOptions returns the options of an agent that uses the uAgents protocol.
func envelopeOptions(t *testing.T, g *gatetest.Gate) agent.Options {
	t.Helper()
	o := gateOptions(t, g)
	o.Key, o.AgentID, o.UAgent = nil, "", &agent.UAgent{Key: seeded(t, "the seed of a robot")}
	return o
}

func TestUAgent(t *testing.T) {
	t.Parallel()
	g := provedGate(t)
	upstreamSays(g, http.StatusOK, `{"order": "o-1"}`)
	o := envelopeOptions(t, g)
	client := clientOf(t, o)
	address := string(o.UAgent.Key.Address())
	if string(client.AgentID()) != address {
		t.Errorf("%s, want %s", client.AgentID(), address)
	}
	s, err := client.Discover(t.Context(), "http://"+published)
	g.Must(err)
	digest := g.Directory.Current().Service("default").Offer().Digest
	if _, err := s.Agree(t.Context(), agent.Acceptance{Digest: "sha-256:" + strings.Repeat("A", 43)}); !errors.As(err,
		new(*agent.PolicyChangedError)) {
		t.Errorf("another policy: %v", err)
	}
	declaring := agent.Acceptance{Digest: digest, Declared: pat.Declaration{"purpose": {"x"}}}
	if _, err := s.Agree(t.Context(), declaring); !errors.Is(err, agent.ErrOptions) {
		t.Errorf("declaring: %v, want %v", err, agent.ErrOptions)
	}
	a, err := s.Agree(t.Context(), agent.Acceptance{Digest: digest, Scope: []string{gatetest.Ordering + ":execute"}})
	if err != nil || a.Form != agent.FormEnvelope || a.ID == "" || len(a.Scope) != 1 || a.ExpiresAt.IsZero() {
		t.Fatalf("got %+v, %v", a, err)
	}
	file := filepath.Join(t.TempDir(), "session.json")
	g.Must(agent.SaveSession(file, s.Session()))
	session, err := agent.LoadSession(file)
	g.Must(err)
	if s, err = client.Resume(session); err != nil {
		t.Fatal(err)
	}
	result, err := s.Execute(t.Context(), gatetest.Ordering, map[string]any{"product": "lamp"}, agent.ExecuteOptions{})
	if err != nil || result.Charge == nil || result.IdempotencyKey == "" {
		t.Errorf("got %+v, %v", result, err)
	}
	if _, err := s.Execute(t.Context(), gatetest.Searching, nil, agent.ExecuteOptions{}); !errors.Is(err, agent.ErrScopeExceeded) {
		t.Errorf("beyond the scope: %v, want %v", err, agent.ErrScopeExceeded)
	}
	before := s.Session()
	if renewed, err := s.Renew(t.Context()); err != nil || renewed.ID != a.ID || s.Session().String() == "" {
		t.Errorf("got %+v, %v", renewed, err)
	}
	for _, text := range []string{fmt.Sprintf("%+v", before), fmt.Sprintf("%#v", o), fmt.Sprintf("%v", client)} {
		if strings.Contains(text, "the seed of a robot") {
			t.Errorf("the seed is printed: %s", text)
		}
	}
}

func TestEnvelopePendingApproval(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, doors: {uagents: {}}}\n"+
		"pat: {admission: approval}\n")
	o := envelopeOptions(t, g)
	s, err := clientOf(t, o).Discover(t.Context(), "http://"+published)
	g.Must(err)
	acceptance := agent.Acceptance{Digest: g.Directory.Current().Service("default").Offer().Digest}
	for range 2 { // each attempt sends a new envelope
		if _, err := s.Agree(t.Context(), acceptance); !errors.As(err, new(*agent.PendingError)) {
			t.Fatalf("%v, want a PendingError", err)
		}
	}
	g.Must(g.Store.SetAgent(t.Context(), pat.AgentChange{Service: "default", ID: pat.AgentID(o.UAgent.Key.Address()), Approved: true}))
	if a, err := s.Agree(t.Context(), acceptance); err != nil || a.ID == "" {
		t.Errorf("got %+v, %v", a, err)
	}
}

// The client sends envelopes to the endpoint that the caller sets, or that an Almanac names, or that agents.json names, in that order.
func TestEnvelopeEndpoint(t *testing.T) {
	t.Parallel()
	g := provedGate(t)
	shop := g.Addresses("uagents")["address"]
	endpoint := "http://" + published + "/submit"
	almanac := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/almanac/agents/" + shop:
			fmt.Fprintf(w, `{"status": "active", "address": %q, "endpoints": [{"url": %q, "weight": 2}], "expiry": "2027-01-01T00:00:00+00:00"}`, shop, endpoint)
		case "/gone/v1/almanac/agents/" + shop:
			fmt.Fprintf(w, `{"address": %q, "endpoints": [{"url": "http://127.0.0.1:9/"}], "expiry": null}`, shop)
		case "/other/v1/almanac/agents/" + shop:
			fmt.Fprintf(w, `{"address": "agent1", "endpoints": [{"url": %q, "weight": 1}], "expiry": "2027-01-01T00:00:00+00:00"}`, endpoint)
		case "/odd/v1/almanac/agents/" + shop:
			fmt.Fprint(w, `[]`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(almanac.Close)
	other := string(seeded(t, "another service").Address())
	for name, c := range map[string]struct {
		service, endpoint, almanac string
		fails                      bool
	}{
		"agents.json":                       {},
		"the same address":                  {service: shop},
		"an endpoint":                       {endpoint: endpoint},
		"an Almanac":                        {almanac: almanac.URL},
		"an Almanac, with a slash":          {almanac: almanac.URL + "/"},
		"an endpoint and an Almanac":        {endpoint: endpoint, almanac: almanac.URL + "/nowhere"},
		"another address":                   {service: other, fails: true},
		"no address":                        {service: "fetch1", fails: true},
		"not in the Almanac":                {almanac: almanac.URL + "/nowhere", fails: true},
		"an expired Almanac entry":          {almanac: almanac.URL + "/gone", fails: true},
		"an Almanac entry of another agent": {almanac: almanac.URL + "/other", fails: true},
		"not an Almanac":                    {almanac: almanac.URL + "/odd", fails: true},
	} {
		o := envelopeOptions(t, g)
		o.UAgent.Service, o.UAgent.Endpoint, o.UAgent.Almanac = c.service, c.endpoint, c.almanac
		s, err := clientOf(t, o).Discover(t.Context(), "http://"+published)
		g.Must(err)
		_, err = s.Agree(t.Context(), agent.Acceptance{Digest: g.Directory.Current().Service("default").Offer().Digest})
		if (err != nil) != c.fails || c.fails && !errors.Is(err, agent.ErrNoDoor) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The client accepts a reply only if the key of the service signed it.
func TestRepliesMustBeSignedByTheService(t *testing.T) {
	t.Parallel()
	g := provedGate(t)
	o := envelopeOptions(t, g)
	shop := identity.Address(g.Addresses("uagents")["address"])
	agreed := []byte(`{"agreement_id": "a", "pat": "x.y.z", "expires_at": 1893456000, "scope": []}`)
	until := uint64(g.Now().Unix() + 30)
	for name, c := range map[string]struct {
		by     string // seed that signs
		change func(e *envelope.Envelope)
		status int
		body   string
		want   string
	}{
		"another agent":   {by: "somebody else", want: "from another agent"},
		"forged sender":   {by: "somebody else", change: func(e *envelope.Envelope) { e.Sender = shop }, want: "no agent's key signed the envelope"},
		"no signature":    {change: func(e *envelope.Envelope) { e.Sender = shop }, want: "invalid response"},
		"not an envelope": {body: `{"status": "OK"}`, want: "invalid response"},
		"not JSON":        {body: `<html>`, want: "invalid response"},
		"an error":        {status: http.StatusBadRequest, body: `{"error": "unable to route envelope", "detail": "No such agent"}`, want: "unable to route"},
		"another page":    {status: http.StatusNotFound, body: `not here`, want: "404"},
		"nothing":         {body: ``, want: "invalid response"},
	} {
		end := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var sent envelope.Envelope
			raw := make([]byte, r.ContentLength)
			if _, err := r.Body.Read(raw); err == nil || len(raw) > 0 {
				sent, _ = envelope.Parse(raw)
			}
			e := envelope.Envelope{
				Target: o.UAgent.Key.Address(), Session: sent.Session, SchemaDigest: protocol.Standard("UIMAgreed").Digest,
				Payload: envelope.Pack(agreed), Expires: &until,
			}
			if c.by != "" {
				e = e.Sign(seeded(t, c.by))
			}
			if c.change != nil {
				c.change(&e)
			}
			body, _ := json.Marshal(e)
			if c.by == "" && c.change == nil {
				body = []byte(c.body)
			}
			if c.status != 0 {
				w.WriteHeader(c.status)
			}
			_, _ = w.Write(body)
		}))
		t.Cleanup(end.Close)
		o := envelopeOptions(t, g)
		o.UAgent.Endpoint = end.URL
		s, err := clientOf(t, o).Discover(t.Context(), "http://"+published)
		g.Must(err)
		_, err = s.Agree(t.Context(), agent.Acceptance{Digest: g.Directory.Current().Service("default").Offer().Digest})
		if err == nil || !strings.Contains(err.Error(), c.want) || s.Session().Agreed() {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// An agent of the uAgents protocol chooses a plan in its envelope, and can declare nothing else there.
func TestUAgentChoosesAPlan(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, doors: {uagents: {}}}\n",
		func(g *gatetest.Gate) {
			g.Write("policy.json", strings.Replace(gatetest.PolicyFile, `"action": "execute"},`, `"action": "execute",
	  "constraint": [{"leftOperand": "uim:plan", "operator": "eq", "rightOperand": "free"}]},`, 1))
		})
	upstreamSays(g, http.StatusOK, `{"ok": true}`)
	s, err := clientOf(t, envelopeOptions(t, g)).Discover(t.Context(), "http://"+published)
	g.Must(err)
	digest := g.Directory.Current().Service("default").Offer().Digest
	both := agent.Acceptance{Digest: digest, Plan: "free", Declared: pat.Declaration{"purpose": {"x"}}}
	if _, err := s.Agree(t.Context(), both); !errors.Is(err, agent.ErrOptions) {
		t.Errorf("a plan and a purpose: %v", err)
	}
	if _, err := s.Agree(t.Context(), agent.Acceptance{Digest: digest, Plan: "pro"}); err == nil || !strings.Contains(err.Error(), "plan") {
		t.Errorf("an unknown plan: %v", err)
	}
	if _, err := s.Agree(t.Context(), agent.Acceptance{Digest: digest, Plan: "free"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Execute(t.Context(), gatetest.Searching, map[string]any{"query": "lamp"}, agent.ExecuteOptions{}); err != nil {
		t.Error(err)
	}
}
