package skill_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/aeatest"
	"github.com/uimgate/uimgate/bindings/aea/identity"
	"github.com/uimgate/uimgate/bindings/aea/protocol"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/bindings/aea/search"
	"github.com/uimgate/uimgate/bindings/aea/skill"
	"github.com/uimgate/uimgate/bindings/aea/wire"
	"github.com/uimgate/uimgate/gateway/gatetest"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
)

// A shop is a gateway whose service has the skill.
type shop struct {
	*gatetest.Gate
	address string
	line    *aeatest.Line // that only the agent reads
	clear   *aeatest.Line // that others read as well
}

// opened runs the skill before a gateway.
func opened(t *testing.T, settings string, change ...func(*skill.Config, *gatetest.Gate)) *shop {
	t.Helper()
	g := gatetest.New(t, settings)
	s := &shop{
		Gate: g, address: aeatest.Key(t, aeatest.KeyOne).Public(identity.Fetchai).Address(), line: &aeatest.Line{Name: "1"},
		clear: &aeatest.Line{Name: "2", Clear: true},
	}
	c := skill.Config{
		Door: "aea", ID: "default", Address: s.address, Serving: func() *service.Service { return g.Directory.Current().Service("default") },
		API: g.Handler, Desk: g.Desk, Shed: g.Metrics.Shed, Now: g.Now, Log: g.Log, HTTP: true,
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

// agent returns the agent with a published key.
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

func call(token string) string {
	return fmt.Sprintf(`{"intent_uid": %q, "parameters": {"query": "lamp"}, "pat": %q}`, gatetest.Searching, token)
}

func TestAnOfferAndItsAcceptance(t *testing.T) {
	t.Parallel()
	for _, ledger := range []identity.Ledger{identity.Fetchai, identity.Cosmos, identity.Ethereum} {
		s := opened(t, "")
		a := s.agent(ledger)
		turn, offer := a.Asks(t, gatetest.Ordering)
		policy := s.Directory.Current().Service("default").Offer()
		want := map[string]search.Value{
			"service_id": search.Text(gatetest.Ordering), "quantity": search.Int(1), "price": search.Int(25), "currency_id": search.Text("EUR"),
			"ledger_id": search.Text(ledger), "policy_url": search.Text(s.Directory.Current().Service("default").At("/api/policy")),
			"policy_sha256": search.Text(policy.SHA256()), "policy_uid": search.Text(policy.UID), "scope": search.Text(gatetest.Ordering + ":execute"),
			"rate_limit": search.Int(10000), "rate_period": search.Int(3600), "iss": search.Text("shop.example"),
			"valid_until": search.Int(s.Now().Add(10 * time.Minute).Unix()),
			"execute_url": search.Text(s.Directory.Current().Service("default").At("/api/intents/execute")),
		}
		for name, v := range want {
			if got := offer.Value(name); got != v {
				t.Errorf("%s: %v, want %v", name, got, v)
			}
		}
		if nonce := aeatest.TextOf(offer, "tx_nonce"); len(nonce) != 64 || len(offer.Values) != len(want)+1 || offer.Model.Name != "uim_offer" {
			t.Errorf("%+v", offer)
		}
		a.Reply(t, turn, accept(a.Info(offer)))
		turn, m := a.FIPA(t, protocol.FIPAMatchAcceptWInform)
		claims, err := s.Directory.Current().Service("default").Verifier.Verify(t.Context(), m.Info["pat"], s.Now())
		if err != nil || claims.Subject != pat.AgentID(a.Address()) || claims.Assurance != pat.Fresh || m.Info["jti"] != string(claims.ID) ||
			m.Info["expires_at"] != fmt.Sprint(claims.ExpiresAt.Unix()) || len(claims.Scope) != 1 || claims.Scope[0] != gatetest.Ordering+":execute" {
			t.Errorf("%+v %v %v", claims, m.Info, err)
		}
		agreement, err := s.Store.Agreement(t.Context(), "default", claims.Agreement)
		if err != nil || agreement.Form != "aea-1" {
			t.Errorf("%+v, %v", agreement, err)
		}
		a.Reply(t, turn, says(protocol.FIPAEnd, nil))
		answer := a.Calls(t, fmt.Sprintf(`{"intent_uid": %q, "parameters": {"product": "lamp"}, "pat": %q}`, gatetest.Ordering, m.Info["pat"]))
		if answer != `{"ok":true}` {
			t.Errorf("a paid call: %s", answer)
		}
	}
}

func TestAPlainAcceptance(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	turn, offer := a.Asks(t, gatetest.Searching)
	a.Reply(t, turn, says(protocol.FIPAAccept, nil))
	turn, m := a.FIPA(t, protocol.FIPAMatchAcceptWInform)
	if m.Info["pat"] != "" || m.Info["tx_nonce"] != aeatest.TextOf(offer, "tx_nonce") || m.Info["policy_sha256"] == "" {
		t.Fatal(m.Info)
	}
	a.Reply(t, turn, says(protocol.FIPAInform, map[string]string{
		"public_key": a.Key.Public(identity.Fetchai).String(), "signature": a.Key.Sign(identity.Fetchai, []byte(m.Info["sign"])),
		"policy_sha256": m.Info["policy_sha256"], "tx_nonce": m.Info["tx_nonce"],
	}))
	turn, m = a.FIPA(t, protocol.FIPAInform)
	if answer := a.Calls(t, call(m.Info["pat"])); answer != `{"ok":true}` {
		t.Error(answer)
	}
	s.Later(time.Minute)
	a.Reply(t, turn, says(protocol.FIPAInform, map[string]string{"renew": m.Info["pat"]}))
	turn, renewed := a.FIPA(t, protocol.FIPAInform)
	if renewed.Info["pat"] == "" || renewed.Info["jti"] == m.Info["jti"] || renewed.Info["agreement_id"] != m.Info["agreement_id"] {
		t.Errorf("%v", renewed.Info)
	}
	if answer := a.Calls(t, call(renewed.Info["pat"])); answer != `{"ok":true}` {
		t.Error(answer)
	}
	stolen := s.Agreed("agent-2").Token
	a.Reply(t, turn, says(protocol.FIPAInform, map[string]string{"renew": stolen}))
	a.FIPA(t, protocol.FIPAEnd)
	if _, uim := a.Refusal(t); refusal(uim) != "INVALID_TOKEN" {
		t.Error(uim)
	}
}

func TestWhatIsLookedFor(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	relation := func(name string, op search.Operator, v search.Value) search.Expr {
		return search.Constraint{Attribute: name, Test: search.Relation{Operator: op, Value: v}}
	}
	for name, c := range map[string]struct {
		query []search.Expr
		want  string // intent, or a reason
	}{
		"anything":            {nil, gatetest.Searching},
		"a name":              {[]search.Expr{relation("intent_name", search.Equal, search.Text("Order"))}, gatetest.Ordering},
		"namespace, version":  {[]search.Expr{relation("namespace", search.Equal, search.Text("shop.example")), relation("version", search.Equal, search.Text("v1"))}, gatetest.Searching},
		"what costs":          {[]search.Expr{relation("price", search.Greater, search.Int(0))}, gatetest.Ordering},
		"what costs at most":  {[]search.Expr{relation("price", search.Greater, search.Int(0)), relation("price", search.Less, search.Int(25))}, "INTENT_NOT_FOUND"},
		"a currency":          {[]search.Expr{relation("currency_id", search.Equal, search.Text("EUR"))}, gatetest.Ordering},
		"another currency":    {[]search.Expr{search.Not{Expr: relation("currency_id", search.Equal, search.Text("EUR"))}}, gatetest.Searching},
		"what nobody has":     {[]search.Expr{relation("something", search.Greater, search.Int(1))}, "INTENT_NOT_FOUND"},
		"a price of no whole": {[]search.Expr{relation("price", search.Greater, search.Double(0))}, "INTENT_NOT_FOUND"},
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

// What every call of which has to be proved is offered to nobody here: the keys of agents prove no call.
func TestWhatIsNotOffered(t *testing.T) {
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

func TestCounterOffers(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	describe := func(values ...search.KeyValue) protocol.FIPAMessage {
		return protocol.FIPAMessage{Performative: protocol.FIPAPropose, Proposal: search.Describe("uim_offer", values...)}
	}
	cheaper := describe(search.KeyValue{Key: "price", Value: search.Int(24)})
	turn, first := a.Asks(t, gatetest.Ordering)
	nonces := map[string]bool{aeatest.TextOf(first, "tx_nonce"): true}
	for name, counter := range map[string]protocol.FIPAMessage{
		"cheaper": cheaper, "more": describe(search.KeyValue{Key: "quantity", Value: search.Int(2)}),
		"another currency": describe(search.KeyValue{Key: "currency_id", Value: search.Text("USD")}),
		"more terms":       describe(search.KeyValue{Key: "gift", Value: search.Bool(true)}), "nothing": describe(),
	} {
		a.Reply(t, turn, counter)
		var m protocol.FIPAMessage
		turn, m = a.FIPA(t, protocol.FIPAPropose)
		nonce := aeatest.TextOf(m.Proposal, "tx_nonce")
		if m.Proposal.Value("price") != search.Int(25) || nonces[nonce] {
			t.Errorf("%s: %v", name, m.Proposal.Values)
		}
		nonces[nonce] = true
	}
	a.Reply(t, turn, cheaper) // the sixth
	a.FIPA(t, protocol.FIPADecline)
	if _, uim := a.Refusal(t); refusal(uim) != "POLICY_VIOLATION" {
		t.Error(uim)
	}

	for _, by := range []protocol.Performative{protocol.FIPAMatchAcceptWInform, protocol.FIPAMatchAccept} {
		turn, offer := a.Asks(t, gatetest.Ordering)
		a.Reply(t, turn, describe(search.KeyValue{Key: "price", Value: search.Int(30)}, search.KeyValue{Key: "quantity", Value: search.Int(1)}))
		turn, _ = a.FIPA(t, protocol.FIPAAccept)
		info := a.Info(offer)
		if by == protocol.FIPAMatchAccept {
			a.Reply(t, turn, says(by, nil))
			turn, _ = a.FIPA(t, protocol.FIPAInform)
			by = protocol.FIPAInform
		}
		a.Reply(t, turn, says(by, info))
		if _, m := a.FIPA(t, protocol.FIPAInform); m.Info["pat"] == "" {
			t.Errorf("%s: %v", by, m.Info)
		}
	}
}

func TestAcceptancesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a, other := s.agent(identity.Fetchai), s.other(1)
	_, foreign := other.Asks(t, gatetest.Searching)
	for name, c := range map[string]struct {
		change func(info map[string]string, offer search.Description) map[string]string
		want   string
	}{
		"nothing signed": {func(map[string]string, search.Description) map[string]string { return nil }, "UNSUPPORTED_KEY"},
		"signature of another": {func(info map[string]string, offer search.Description) map[string]string {
			info["signature"] = other.Info(offer)["signature"]
			return info
		}, "BAD_SIGNATURE"},
		"key of another":   {func(_ map[string]string, offer search.Description) map[string]string { return other.Info(offer) }, "BAD_SIGNATURE"},
		"offer to another": {func(map[string]string, search.Description) map[string]string { return a.Info(foreign) }, "AGREEMENT_STALE"},
		"another policy": {func(_ map[string]string, offer search.Description) map[string]string {
			return a.Signed(strings.Repeat("a", 64), aeatest.TextOf(offer, "tx_nonce"))
		}, "POLICY_MISMATCH"},
		"another ledger": {func(info map[string]string, _ search.Description) map[string]string {
			info["ledger_id"] = "x"
			return info
		}, "UNSUPPORTED_KEY"},
	} {
		turn, offer := a.Asks(t, gatetest.Searching)
		a.Reply(t, turn, accept(c.change(a.Info(offer), offer)))
		a.FIPA(t, protocol.FIPADecline)
		if text, uim := a.Refusal(t); refusal(uim) != c.want || strings.Contains(text+uim, aeatest.TextOf(offer, "tx_nonce")) {
			t.Errorf("%s: %s %s", name, text, uim)
		}
		if turn.Dialogue.Label().StarterRef == "" {
			t.Error("no name")
		}
		s.Pass(20 * time.Second) // errors are sent to nobody without end
	}
	turn, offer := a.Asks(t, gatetest.Searching)
	s.Later(10 * time.Minute)
	a.Reply(t, turn, accept(a.Info(offer)))
	a.FIPA(t, protocol.FIPADecline)
	if _, uim := a.Refusal(t); refusal(uim) != "AGREEMENT_STALE" {
		t.Errorf("too late: %s", uim)
	}
}

// An agreement that was signed once makes one PAT, in whichever dialogue and form it comes again.
func TestAnOfferIsUsedOnce(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	turn, offer := a.Asks(t, gatetest.Searching)
	a.Reply(t, turn, accept(a.Info(offer)))
	turn, _ = a.FIPA(t, protocol.FIPAMatchAcceptWInform)
	a.Reply(t, turn, says(protocol.FIPAInform, a.Info(offer)))
	a.FIPA(t, protocol.FIPAEnd)
	if _, uim := a.Refusal(t); refusal(uim) != "AGREEMENT_REPLAYED" {
		t.Error(uim)
	}
	turn, _ = a.Asks(t, gatetest.Searching)
	a.Reply(t, turn, accept(a.Info(offer)))
	a.FIPA(t, protocol.FIPADecline)
	if _, uim := a.Refusal(t); refusal(uim) != "AGREEMENT_STALE" {
		t.Error(uim)
	}
}

// No PAT is told where others can read it, neither by a negotiation nor by a request of http; calls are made there.
func TestConnectionsThatOthersRead(t *testing.T) {
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
	if answer := public.Calls(t, call(token)); answer != `{"ok":true}` {
		t.Error(answer)
	}
	renewed := a.Requests(t, protocol.HTTPMessage{Method: "POST", URL: "/api/pat/renew", Header: http.Header{"Authorization": {"Bearer " + token}}})
	if renewed.Status != http.StatusOK {
		t.Errorf("%d %s", renewed.Status, renewed.Body)
	}
	open := opened(t, "", func(c *skill.Config, _ *gatetest.Gate) { c.Clear = true })
	aeatest.NewAgent(open.clear, open.address, a.Key, a.Ledger).Agrees(t, gatetest.Searching)
}

func TestAnAgentThatWaitsForApproval(t *testing.T) {
	t.Parallel()
	s := opened(t, "pat: {admission: approval}\nservices:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n")
	a := s.agent(identity.Fetchai)
	turn, offer := a.Asks(t, gatetest.Searching)
	a.Reply(t, turn, accept(a.Info(offer)))
	turn, m := a.FIPA(t, protocol.FIPAMatchAcceptWInform)
	if m.Info["status"] != "pending" || m.Info["pat"] != "" || m.Info["agreement_id"] == "" {
		t.Fatal(m.Info)
	}
	s.Must(s.Directory.Current().Service("default").Issuance.Approve(t.Context(), pat.AgentID(a.Address())))
	a.Reply(t, turn, says(protocol.FIPAInform, a.Info(offer)))
	if _, m := a.FIPA(t, protocol.FIPAInform); m.Info["pat"] == "" {
		t.Error(m.Info)
	}
}

func TestRequestsInMessages(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	token := a.Agrees(t, gatetest.Searching)
	body := []byte(fmt.Sprintf(`{"intent_uid": %q, "parameters": {"query": "lamp"}}`, gatetest.Searching))
	with := func(token string) http.Header {
		return http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
	}
	for name, c := range map[string]struct {
		message protocol.HTTPMessage
		status  int
		says    string
	}{
		"a call":          {protocol.HTTPMessage{Method: "POST", URL: "http://gw.test/api/intents/execute", Header: with(token), Body: body}, 200, `{"ok":true}`},
		"in small":        {protocol.HTTPMessage{Method: "post", URL: "/api/intents/execute?x", Header: with(token), Body: body}, 200, `{"ok":true}`},
		"search":          {protocol.HTTPMessage{Method: "GET", URL: "https://elsewhere/api/intents/search?query=order"}, 200, gatetest.Ordering},
		"agents.json":     {protocol.HTTPMessage{Method: "GET", URL: "/agents.json"}, 200, "shop.example"},
		"the policy":      {protocol.HTTPMessage{Method: "GET", URL: "/api/policy"}, 200, gatetest.PolicyFile},
		"no PAT":          {protocol.HTTPMessage{Method: "POST", URL: "/api/intents/execute", Header: http.Header{"Content-Type": {"application/json"}}, Body: body}, 401, "MISSING_TOKEN"},
		"another's PAT":   {protocol.HTTPMessage{Method: "POST", URL: "/api/intents/execute", Header: with(s.Agreed("agent-2").Token), Body: body}, 401, "INVALID_TOKEN"},
		"no such path":    {protocol.HTTPMessage{Method: "GET", URL: "/nowhere"}, 404, "NO_SUCH_PATH"},
		"another door":    {protocol.HTTPMessage{Method: "POST", URL: "/mcp", Header: with(token), Body: body}, 404, "NO_SUCH_PATH"},
		"no method":       {protocol.HTTPMessage{Method: "GO HOME", URL: "/agents.json"}, 405, "METHOD_NOT_ALLOWED"},
		"no url":          {protocol.HTTPMessage{Method: "GET", URL: "http://[::1"}, 400, "MALFORMED_REQUEST"},
		"an opaque url":   {protocol.HTTPMessage{Method: "GET", URL: "mailto:x"}, 400, "MALFORMED_REQUEST"},
		"a long body":     {protocol.HTTPMessage{Method: "POST", URL: "/api/intents/execute", Header: with(token), Body: []byte(strings.Repeat(" ", 2<<20))}, 413, "BODY_TOO_LARGE"},
		"no JSON":         {protocol.HTTPMessage{Method: "POST", URL: "/api/intents/execute", Header: with(token), Body: []byte("x")}, 400, "MALFORMED_REQUEST"},
		"a header twice":  {protocol.HTTPMessage{Method: "POST", URL: "/api/intents/execute", Header: http.Header{"Authorization": {"a", "b"}}, Body: body}, 400, "MALFORMED_REQUEST"},
		"another's agent": {protocol.HTTPMessage{Method: "POST", URL: "/api/pat/introspect", Header: with(token), Body: []byte(`{"token":"x"}`)}, 403, "INSUFFICIENT_PERMISSIONS"},
	} {
		answer := a.Requests(t, c.message)
		if answer.Status != c.status || !strings.Contains(string(answer.Body), c.says) || answer.StatusText != http.StatusText(c.status) ||
			answer.Header.Get("Content-Type") == "" || answer.Header.Get("Connection") != "" {
			t.Errorf("%s: %d %s %v %.300s", name, answer.Status, answer.StatusText, answer.Header, answer.Body)
		}
	}
}

func TestCallsInBytes(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	var calls atomic.Int64
	a := s.agent(identity.Fetchai)
	token := a.Agrees(t, gatetest.Searching)
	s.Upstream = func(w http.ResponseWriter, _ *http.Request) { calls.Add(1); fmt.Fprint(w, `{"lamps":1}`) }
	for name, c := range map[string]struct{ bytes, want string }{
		"a call":            {call(token), `{"lamps":1}`},
		"no PAT":            {`{"intent_uid": "shop.example:search:v1", "parameters": {"query": "lamp"}}`, "MISSING_TOKEN"},
		"another's":         {call(s.Agreed("agent-2").Token), "INVALID_TOKEN"},
		"no token at all":   {call("x"), "INVALID_TOKEN"},
		"out of scope":      {strings.Replace(call(token), "search", "order", 1), "SCOPE_EXCEEDED"},
		"wrong parameters":  {strings.Replace(call(token), `"lamp"`, "1", 1), "INVALID_PARAMETER"},
		"no parameters":     {fmt.Sprintf(`{"intent_uid": "shop.example:search:v1", "parameters": {}, "pat": %q}`, token), "MISSING_PARAMETER"},
		"unknown intent":    {strings.Replace(call(token), "search", "sell", 1), "INTENT_NOT_FOUND"},
		"a member more":     {fmt.Sprintf(`{"x": 1, "intent_uid": "shop.example:search:v1", "parameters": {}, "pat": %q}`, token), "MALFORMED_REQUEST"},
		"a PAT of no text":  {`{"pat": 1}`, "MALFORMED_REQUEST"},
		"a key of no text":  {`{"idempotency_key": {}}`, "MALFORMED_REQUEST"},
		"a key too long":    {fmt.Sprintf(`{"idempotency_key": %q, "pat": %q}`, strings.Repeat("k", 129), token), "MALFORMED_REQUEST"},
		"more than allowed": {strings.Replace(call(token), "lamp", strings.Repeat("l", 1<<20), 1), "BODY_TOO_LARGE"},
	} {
		answer := a.Calls(t, c.bytes)
		if !strings.HasPrefix(answer, `{"error":`) && answer != c.want || strings.HasPrefix(answer, `{"error":`) && refusal(answer) != c.want {
			t.Errorf("%s: %.300s", name, answer)
		}
	}
	if calls.Load() != 1 {
		t.Errorf("%d calls reached the service", calls.Load())
	}
	for name, bytes := range map[string]string{"no JSON": "hello", "a list": "[]", "nothing": "", "a member twice": `{"pat":"a","pat":"b"}`} {
		a.Start(t, &protocol.Default, protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte(bytes)})
		m, ok := a.Next(t).Content.(protocol.DefaultMessage)
		if !ok || m.Performative != protocol.DefaultError || m.Code != protocol.CodeInvalidMessage {
			t.Errorf("%s: %+v", name, m)
		}
	}
	s.Upstream = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	if answer := a.Calls(t, call(token)); refusal(answer) != "UPSTREAM_ERROR" {
		t.Error(answer)
	}
}

// A message that comes again after its dialogue was forgotten is told again, and not done again.
func TestACallIsDoneOnce(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	var calls atomic.Int64
	s.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, `{"call":%d}`, calls.Add(1)) }
	a := s.agent(identity.Fetchai)
	token := a.Agrees(t, gatetest.Searching)
	request := protocol.HTTPMessage{
		Performative: protocol.HTTPRequest, Method: "POST", URL: "/api/intents/execute", Body: []byte(fmt.Sprintf(
			`{"intent_uid": %q, "parameters": {"query": "lamp"}}`, gatetest.Searching)),
		Header: http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}},
	}
	e := a.Start(t, &protocol.HTTP, request)
	first, _ := a.Next(t).Content.(protocol.HTTPMessage)
	s.line.Send(t, e)
	again := s.line.Next(t, a.Address())
	m, err := wire.DecodeMessage(again.Message)
	s.Must(err)
	c, err := protocol.HTTP.Decode(m.Content)
	s.Must(err)
	second, _ := c.(protocol.HTTPMessage)
	if string(first.Body) != `{"call":1}` || string(second.Body) != `{"call":1}` || second.Header.Get("Idempotency-Replayed") != "true" ||
		first.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("%s %s %v", first.Body, second.Body, second.Header)
	}
	keyed := strings.Replace(call(token), `"pat"`, `"idempotency_key": "mine", "pat"`, 1)
	if one, two := a.Calls(t, keyed), a.Calls(t, keyed); one != two || one != `{"call":2}` {
		t.Errorf("%s %s", one, two)
	}
	if one, two := a.Calls(t, call(token)), a.Calls(t, call(token)); one != `{"call":3}` || two != `{"call":4}` {
		t.Errorf("two dialogues are two calls: %s %s", one, two)
	}
	e = a.Start(t, &protocol.Default, protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte(call(token))})
	a.Next(t)
	s.line.Send(t, e)
	if m, ok := a.Next(t).Content.(protocol.DefaultMessage); !ok || m.Code != protocol.CodeInvalidDialogue || calls.Load() != 5 {
		t.Errorf("%+v, %d calls", m, calls.Load())
	}
}

// An output that no envelope holds was made and paid all the same: the agent is told.
func TestAnAnswerThatNoEnvelopeHolds(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	s.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"long":"%s"}`, strings.Repeat("x", 4<<20))
	}
	a := s.agent(identity.Fetchai)
	answer := a.Calls(t, call(a.Agrees(t, gatetest.Searching)))
	if refusal(answer) != "RESPONSE_INVALID" || !strings.Contains(answer, `"outcome":"done"`) {
		t.Errorf("%.500s", answer)
	}
}

func TestWhatIsWrittenDown(t *testing.T) {
	t.Parallel()
	s := opened(t, "")
	a := s.agent(identity.Fetchai)
	token := a.Agrees(t, gatetest.Searching)
	a.Calls(t, call(token))
	told := 0
	for _, line := range s.Logs.All() {
		fields, err := json.Marshal(line.ContextMap())
		s.Must(err)
		text := line.Message + string(fields)
		if strings.Contains(text, token) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(token))) {
			t.Error("a PAT in the log")
		}
		if line.ContextMap()["door"] == "aea" && line.ContextMap()["agent"] == a.Address() {
			told++
		}
	}
	if told != 2 {
		t.Errorf("%d lines of the agent", told)
	}
}
