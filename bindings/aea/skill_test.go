package aea_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/skill"
	"github.com/uimgate/uimgate/gateway/service"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// A shop is a gateway whose service's agent has the skill.
type shop struct {
	*gatetest.Gate
	address string
	line    *aeatest.Line // confidential
	clear   *aeatest.Line // readable by others
}

// opened runs an agent with the skill in front of a gateway.
func opened(t *testing.T, settings string, change ...func(*skill.Config, *gatetest.Gate)) *shop {
	t.Helper()
	g := gatetest.New(t, settings)
	s := &shop{
		Gate: g, address: aeatest.Key(t, aeatest.KeyOne).Public(identity.Fetchai).Address(), line: &aeatest.Line{Name: "1"},
		clear: &aeatest.Line{Name: "2", Clear: true},
	}
	c := skill.Config{
		Door: "aea", ID: "default", Address: s.address, Serving: func() *service.Service { return g.Directory.Current().Service("default") },
		Host: g.Host, API: g.Handler, Shed: g.Metrics.Shed, Memory: g.Memory, Now: g.Now, Log: g.Log, HTTP: true,
	}
	for _, f := range change {
		f(&c, g)
	}
	own := skill.New(c)
	t.Cleanup(own.Close)
	r := runtime.New(s.address, runtime.Options{Now: g.Now, Log: g.Log})
	g.Must(r.Resources().Add(own.Skill()))
	for _, l := range []*aeatest.Line{s.line, s.clear} {
		g.Must(r.Connect(l.Connection(), runtime.ConnectionOptions{}))
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); r.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return s
}

// agent returns the agent with the published key.
func (s *shop) agent(ledger identity.Ledger) *aeatest.Agent {
	return aeatest.NewAgent(s.line, s.address, aeatest.Key(s.T, aeatest.KeyPublished), ledger)
}

// other returns another agent.
func (s *shop) other(n int) *aeatest.Agent {
	return aeatest.NewAgent(s.line, s.address, aeatest.Key(s.T, fmt.Sprintf("%064x", n+2)), identity.Fetchai)
}

func refusal(text string) (reason string) {
	var envelope struct {
		Error struct {
			Code, Message string
			Details       struct{ Reason string }
		}
	}
	if json.Unmarshal([]byte(text), &envelope) != nil || envelope.Error.Code == "" || envelope.Error.Message == "" {
		return "no refusal: " + text
	}
	return envelope.Error.Details.Reason
}

func accept(info map[string]string) protocol.FIPAMessage {
	return protocol.FIPAMessage{Performative: protocol.FIPAAcceptWInform, Info: info}
}

func says(p protocol.Performative, info map[string]string) protocol.FIPAMessage {
	return protocol.FIPAMessage{Performative: p, Info: info}
}

func searchCall(token string) string {
	return fmt.Sprintf(`{"intent_uid": %q, "parameters": {"query": "lamp"}, "pat": %q}`, gatetest.Searching, token)
}

func TestQueries(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	relation := func(name string, op search.Operator, v search.Value) search.Expr {
		return search.Constraint{Attribute: name, Test: search.Relation{Operator: op, Value: v}}
	}
	for name, c := range map[string]struct {
		query []search.Expr
		want  string // intent, or a reason
	}{
		"anything":             {nil, gatetest.Searching},
		"a name":               {[]search.Expr{relation("intent_name", search.Equal, search.Text("Order"))}, gatetest.Ordering},
		"namespace, version":   {[]search.Expr{relation("namespace", search.Equal, search.Text("shop.example")), relation("version", search.Equal, search.Text("v1"))}, gatetest.Searching},
		"intents with a price": {[]search.Expr{relation("price", search.Greater, search.Int(0))}, gatetest.Ordering},
		"the highest price":    {[]search.Expr{relation("price", search.Greater, search.Int(0)), relation("price", search.Less, search.Int(25))}, "INTENT_NOT_FOUND"},
		"a currency":           {[]search.Expr{relation("currency_id", search.Equal, search.Text("EUR"))}, gatetest.Ordering},
		"another currency":     {[]search.Expr{search.Not{Expr: relation("currency_id", search.Equal, search.Text("EUR"))}}, gatetest.Searching},
		"an unknown member":    {[]search.Expr{relation("something", search.Greater, search.Int(1))}, "INTENT_NOT_FOUND"},
		"a price as a double":  {[]search.Expr{relation("price", search.Greater, search.Double(0))}, "INTENT_NOT_FOUND"},
	} {
		a := s.agent(identity.Fetchai)
		a.Start(t, &protocol.FIPA, protocol.FIPAMessage{Performative: protocol.FIPACFP, Query: search.Query{Constraints: c.query}})
		if strings.Contains(c.want, ":") {
			if _, m := a.FIPA(t, protocol.FIPAPropose); aeatest.TextOf(m.Proposal, "service_id") != c.want {
				t.Errorf("%s: %v", name, m.Proposal.Value("service_id"))
			}
			continue
		}
		a.FIPA(t, protocol.FIPADecline)
		if text, uim := a.Refusal(t); refusal(uim) != c.want || !strings.HasPrefix(text, c.want+": ") {
			t.Errorf("%s: %s %s", name, text, uim)
		}
	}
}

// An intent for which every call needs a proof is not offered: agents cannot prove calls with their keys.
func TestIntentsNotOffered(t *testing.T) {
	t.Parallel()
	s := opened(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n")
	a := s.agent(identity.Fetchai)
	for intent, want := range map[string]string{
		gatetest.Ordering: "POLICY_REQUIRES_VERIFICATION", "shop.example:search:v9": "INTENT_NOT_FOUND", "": "INTENT_NOT_FOUND",
	} {
		a.Start(t, &protocol.FIPA, aeatest.CFP(intent))
		a.FIPA(t, protocol.FIPADecline)
		if _, uim := a.Refusal(t); refusal(uim) != want {
			t.Errorf("%s: %s", intent, uim)
		}
	}
}

// The skill sends no PAT over a connection that others can read, in negotiations and in HTTP responses. It does execute calls on such
// connections.
func TestNoPATsInClear(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	token := a.Agrees(t, gatetest.Searching)
	public := aeatest.NewAgent(s.clear, s.address, a.Key, a.Ledger)
	turn, offer := public.Asks(t, gatetest.Searching)
	public.Reply(t, turn, accept(public.Info(offer)))
	public.FIPA(t, protocol.FIPADecline)
	if _, uim := public.Refusal(t); refusal(uim) != "INSUFFICIENT_PERMISSIONS" {
		t.Error(uim)
	}
	for _, path := range []string{"/api/pat/issue", "/pat/issue", "/api/pat/renew", "/pat/renew"} {
		answer := public.Requests(t, protocol.HTTPMessage{Method: "POST", URL: path, Header: http.Header{"Authorization": {"Bearer " + token}}})
		if answer.Status != http.StatusForbidden || refusal(string(answer.Body)) != "INSUFFICIENT_PERMISSIONS" {
			t.Errorf("%s: %d %s", path, answer.Status, answer.Body)
		}
	}
	if answer := public.Calls(t, searchCall(token)); answer != `{"ok":true}` {
		t.Errorf("got %q, want %q", answer, `{"ok":true}`)
	}
	renewed := a.Requests(t,
		protocol.HTTPMessage{Method: "POST", URL: "/api/pat/renew", Header: http.Header{"Authorization": {"Bearer " + token}}})
	if renewed.Status != http.StatusOK {
		t.Errorf("got %d %s; want %v", renewed.Status, renewed.Body, http.StatusOK)
	}
	open := opened(t, "", func(c *skill.Config, _ *gatetest.Gate) { c.Clear = true })
	aeatest.NewAgent(open.clear, open.address, a.Key, a.Ledger).Agrees(t, gatetest.Searching)
}

func TestLogHasNoPATs(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	token := a.Agrees(t, gatetest.Searching)
	a.Calls(t, searchCall(token))
	reported := 0
	for _, line := range s.Logs.All() {
		fields, err := json.Marshal(line.ContextMap())
		s.Must(err)
		text := line.Message + string(fields)
		if strings.Contains(text, token) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(token))) {
			t.Error("a PAT in the log")
		}
		if line.ContextMap()["door"] == "aea" && line.ContextMap()["agent"] == a.Address() {
			reported++
		}
	}
	if reported != 2 {
		t.Errorf("got %d lines of the agent, want 2", reported)
	}
}
