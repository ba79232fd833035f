package execute_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// The intents of the tests. stepsPolicy and stepsConfig contain their rules and settings.
const (
	find    = "shop.example:find:v1"    // free, five calls an hour
	few     = "shop.example:few:v1"     // free, two calls in all
	shared  = "shop.example:shared:v1"  // free, three calls an hour for all agents together
	buy     = "shop.example:buy:v1"     // 0.25 EUR, does not require a proof of key
	dear    = "shop.example:dear:v1"    // more than the credit, does not require a proof of key
	proved  = "shop.example:proved:v1"  // free, the operator requires a proof of key
	signed  = "shop.example:signed:v1"  // requires a proof of key
	careful = "shop.example:careful:v1" // requires a fresh agreement
	study   = "shop.example:study:v1"   // for research, but not for war
	either  = "shop.example:either:v1"  // free for research, otherwise 0.25 EUR
	item    = "shop.example:item:v1"    // has a parameter in the path
	old     = "shop.example:old:v1"     // retired
	gone    = "shop.example:gone:v1"    // retired, without a successor
	secret  = "shop.example:secret:v1"  // not permitted
)

const stepsAgents = `{
  "service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"},
  "intents": [
    {"intent_uid": "shop.example:find:v1", "intent_name": "Find", "description": "Find.",
     "input_parameters": [
       {"name": "q", "type": "string", "required": true, "minLength": 2, "maxLength": 9},
       {"name": "kind", "type": "string", "enum": ["lamp", "desk"]},
       {"name": "price", "type": "number", "minimum": 0, "maximum": 100},
       {"name": "day", "type": "string", "format": "date"},
       {"name": "page", "type": "integer", "default": 1}],
     "output_parameters": [{"name": "items", "type": "array", "required": true}],
     "endpoint": {"url": "https://shop.example/find", "method": "GET"}},
    {"intent_uid": "shop.example:few:v1", "intent_name": "Few", "description": "Few.",
     "endpoint": {"url": "https://shop.example/few", "method": "GET"}},
    {"intent_uid": "shop.example:shared:v1", "intent_name": "Shared", "description": "Shared.",
     "endpoint": {"url": "https://shop.example/shared", "method": "GET"}},
    {"intent_uid": "shop.example:buy:v1", "intent_name": "Buy", "description": "Buy.",
     "input_parameters": [{"name": "product", "type": "string", "required": true}, {"name": "amount", "type": "number"}],
     "output_parameters": [{"name": "order", "type": "string", "required": true}],
     "endpoint": {"url": "https://shop.example/orders", "method": "POST", "content_type": "application/json"}},
    {"intent_uid": "shop.example:dear:v1", "intent_name": "Dear", "description": "Dear.",
     "endpoint": {"url": "https://shop.example/dear", "method": "POST"}},
    {"intent_uid": "shop.example:signed:v1", "intent_name": "Signed", "description": "Signed.",
     "endpoint": {"url": "https://shop.example/signed", "method": "POST"}},
    {"intent_uid": "shop.example:careful:v1", "intent_name": "Careful", "description": "Careful.",
     "endpoint": {"url": "https://shop.example/careful", "method": "POST"}},
    {"intent_uid": "shop.example:study:v1", "intent_name": "Study", "description": "Study.",
     "input_parameters": [{"name": "purpose", "type": "string"}, {"name": "industry", "type": "string"}],
     "endpoint": {"url": "https://shop.example/study", "method": "POST"}},
    {"intent_uid": "shop.example:either:v1", "intent_name": "Either", "description": "Either.",
     "input_parameters": [{"name": "purpose", "type": "string"}, {"name": "paid", "type": "string"}],
     "endpoint": {"url": "https://shop.example/either", "method": "POST"}},
    {"intent_uid": "shop.example:item:v1", "intent_name": "Item", "description": "Item.",
     "input_parameters": [{"name": "id", "type": "string", "required": true}],
     "endpoint": {"url": "https://shop.example/items/{id}", "method": "GET"}},
    {"intent_uid": "shop.example:proved:v1", "intent_name": "Proved", "description": "Proved.",
     "endpoint": {"url": "https://shop.example/proved", "method": "POST"}},
    {"intent_uid": "shop.example:old:v1", "intent_name": "Old", "description": "Old.", "retired": true, "replaced_by": "shop.example:find:v1"},
    {"intent_uid": "shop.example:gone:v1", "intent_name": "Gone", "description": "Gone.", "retired": true},
    {"intent_uid": "shop.example:secret:v1", "intent_name": "Secret", "description": "Secret.",
     "endpoint": {"url": "https://shop.example/secret", "method": "POST"}}
  ]
}`

const stepsPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:find:v1", "action": "execute",
     "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 5, "unit": "hour"}]},
    {"target": "shop.example:few:v1", "action": "execute", "constraint": [{"leftOperand": "count", "operator": "lteq", "rightOperand": 2}]},
    {"target": "shop.example:shared:v1", "action": "execute"},
    {"target": "shop.example:buy:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]},
    {"target": "shop.example:dear:v1", "action": "execute", "duty": [{"action": "pay", "amount": "200", "unit": "EUR"}]},
    {"target": "shop.example:signed:v1", "action": "execute", "duty": [{"action": "signPayload"}]},
    {"target": "shop.example:careful:v1", "action": "execute"},
    {"target": "shop.example:study:v1", "action": "execute",
     "constraint": [{"leftOperand": "purpose", "operator": "eq", "rightOperand": "research"}]},
    {"target": "shop.example:either:v1", "action": "execute",
     "constraint": [{"leftOperand": "purpose", "operator": "eq", "rightOperand": "research"}]},
    {"target": "shop.example:either:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}],
     "constraint": [{"leftOperand": "event", "operator": "eq", "rightOperand": "yes"}]},
    {"target": "shop.example:item:v1", "action": "execute"},
    {"target": "shop.example:proved:v1", "action": "execute"}
  ],
  "prohibition": [
    {"target": "shop.example:study:v1", "action": "execute", "constraint": [{"leftOperand": "industry", "operator": "eq", "rightOperand": "war"}]},
    {"target": "shop.example:find:v1", "action": "exceedRateLimit"}
  ]
}`

const stepsRego = "package uimgate.extra\n\ndeny if input.facts.industry == \"gambling\"\n"

// stepsConfig returns the configuration of the tests. settings precede the services, and service is appended to the service.
func stepsConfig(settings, service string) string {
	return settings + `
services:
- agents_file: agents.json
  policy_file: policy.json
  policy_rego: extra.rego
  policy_rego_time: 1s
  facts: {purpose: [{parameter: /purpose}], industry: [{parameter: /industry}], event: [{parameter: /paid}]}
  intents:
    "` + shared + `": {ceiling: 3/hour}
    "` + careful + `": {agreement: fresh}
    "` + buy + `": {proof: optional}
    "` + dear + `": {proof: optional}
    "` + proved + `": {proof: required}
` + service
}

// A world is a gateway with one service, a real store and an upstream that counts its requests.
type world struct {
	*gatetest.Gate
	requests atomic.Int64
	handler  atomic.Pointer[http.HandlerFunc] // of the upstream
	agents   int
	closed   bool // the store is closed
	gone     bool // the service is no longer served
}

const quickUpstream = "  upstream: {url: UPSTREAM, timeout: 30s, breaker: {failures: 1000, open_for: 10s}}\n"

func newWorld(t *testing.T, settings, upstream string) *world {
	t.Helper()
	w := &world{}
	w.Gate = gatetest.New(t, stepsConfig(settings, upstream), func(g *gatetest.Gate) {
		g.Write("agents.json", stepsAgents)
		g.Write("policy.json", stepsPolicy)
		g.Write("extra.rego", stepsRego)
	})
	w.answers(200, "application/json", `{"items":[],"order":"o-1"}`)
	w.Upstream = func(rw http.ResponseWriter, r *http.Request) {
		w.requests.Add(1)
		(*w.handler.Load())(rw, r)
	}
	return w
}

// serve sets the handler of the upstream.
func (w *world) serve(h http.HandlerFunc) { w.handler.Store(&h) }

// closeStore closes the store.
func (w *world) closeStore() {
	w.Must(w.Store.Close())
	w.closed = true
}

// answers sets the response of the upstream. more has pairs of the name and value of header fields.
func (w *world) answers(status int, mediaType, body string, more ...string) {
	w.serve(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", mediaType)
		for i := 0; i+1 < len(more); i += 2 {
			rw.Header().Set(more[i], more[i+1])
		}
		rw.WriteHeader(status)
		_, _ = io.WriteString(rw, body)
	})
}

// closesEarly makes the upstream read each request and close the connection.
func (w *world) closesEarly() {
	w.serve(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if c, _, err := http.NewResponseController(rw).Hijack(); err == nil {
			_ = c.Close()
		}
	})
}

func (w *world) service() *service.Service { return w.Directory.Current().Service("default") }

// served returns the service of a call, or nil if it is no longer served.
func (w *world) served() *service.Service {
	if w.gone {
		return nil
	}
	return w.service()
}

// execution returns the id of the only execution that is recorded.
func (w *world) execution() string {
	w.Helper()
	list, err := w.Store.Executions(w.Context(), store.Filter{Service: "default", Limit: 2})
	w.Must(err)
	if len(list) != 1 {
		w.Fatalf("got %+v, want one execution", list)
	}
	return list[0].ID
}

// fresh returns a new agent with a fresh agreement.
func (w *world) fresh() *gatetest.Agent {
	w.agents++
	return w.Agreed(fmt.Sprintf("agent-%d", w.agents))
}

// static returns a new agent with a static agreement.
func (w *world) static() *gatetest.Agent {
	w.Helper()
	w.agents++
	a := w.Unapproved(fmt.Sprintf("static-%d", w.agents))
	a.Token = w.staticToken(a)
	return a
}

// staticToken returns a PAT under a static agreement of the agent.
func (w *world) staticToken(a *gatetest.Agent) string {
	w.Helper()
	answer := w.Call("/api/pat/issue", "", map[string]any{
		"agent_id": a.ID, "agent_public_key": a.PublicKey,
		"signed_policy": base64.StdEncoding.EncodeToString(ed25519.Sign(a.Key, w.service().Offer().Bytes)),
	})
	var issued struct {
		PAT string `json:"uim-pat"`
	}
	w.Must(json.Unmarshal(answer.Body, &issued))
	if issued.PAT == "" {
		w.Fatalf("no PAT in %s", answer.Body)
	}
	return issued.PAT
}

// proof signs one call.
func (w *world) proof(a *gatetest.Agent, intent, parameters string) string {
	w.Helper()
	digest, err := pat.ExecuteDigest(intent, tree(w, parameters))
	w.Must(err)
	proof, err := pat.SignProof(a.Key, pat.ProofBinding{Audience: "shop.example", TokenID: w.TokenID(a), Digest: digest}, w.Now())
	w.Must(err)
	return proof
}

func tree(w *world, text string) strictjson.Object {
	w.Helper()
	if text == "" {
		text = "{}"
	}
	o, err := strictjson.DecodeObject([]byte(text))
	w.Must(err)
	return o
}

// A call is the input of one call of an agent.
type call struct {
	intent, parameters string
	key                execute.IdempotencyKey
	proof              string
	door               string                          // empty: UIM over HTTP
	read               func() (execute.Request, error) // replaces intent and parameters
}

// do makes a call. It also returns the event that the recorder received.
func (w *world) do(a *gatetest.Agent, c call) (execute.Result, *reason.Refusal, *execute.Event) {
	w.Helper()
	if c.read == nil {
		parameters := tree(w, c.parameters)
		c.read = func() (execute.Request, error) {
			return execute.Request{IntentUID: c.intent, Parameters: parameters}, nil
		}
	}
	token := ""
	if a != nil {
		token = a.Token
	}
	var event *execute.Event
	result, err := w.Executor.Execute(w.Context(), execute.Call{
		Service: w.served, Token: token, Door: c.door, IdempotencyKey: c.key, Proof: c.proof, RequestID: "r-1",
		Observe: func(e *execute.Event) { event = e }, Read: c.read,
	})
	if err == nil {
		return result, nil, event
	}
	refused, ok := errors.AsType[*reason.Refusal](err)
	if !ok {
		w.Fatalf("%v is no *reason.Refusal", err)
	}
	return result, refused, event
}

// must makes a call and fails the test if it is refused.
func (w *world) must(a *gatetest.Agent, c call) execute.Result {
	w.Helper()
	result, refused, _ := w.do(a, c)
	if refused != nil {
		w.Fatalf("%s: got %v %v; want nil", c.intent, refused, refused.Unwrap())
	}
	return result
}

// counted returns how many of the five calls of find the agent had used. It makes one more.
func (w *world) counted(a *gatetest.Agent) int64 {
	w.Helper()
	w.answers(200, "application/json", `{"items":[]}`)
	result := w.must(a, call{intent: find, parameters: `{"q":"lamp"}`})
	for _, s := range result.Standing {
		if s.Period == "hour" && s.Max == 5 {
			return s.Max - s.Left - 1
		}
	}
	w.Fatalf("no limit of five an hour in %+v", result.Standing)
	return 0
}

// owed returns the held and captured amounts of an agent.
func (w *world) owed(a *gatetest.Agent) string {
	w.Helper()
	if w.closed {
		return ""
	}
	list, err := w.Store.Accounts(w.Context(), store.Filter{Service: "default", AgentID: a.ID, Limit: 10})
	w.Must(err)
	if len(list) == 0 {
		return ""
	}
	return list[0].Held.Decimal() + " held, " + list[0].Captured.Decimal() + " captured"
}

// standing lists the limits in a result or refusal and the remainder of each, without the limit that unapproved agents share.
func standing(result execute.Result, refused *reason.Refusal) string {
	limits := result.Standing
	if refused != nil {
		limits = refused.Standing
	}
	var list []string
	for _, s := range limits {
		if strings.HasPrefix(s.ID, limit.OfNewcomers("", limit.Rate{}).ID) {
			continue
		}
		list = append(list, fmt.Sprintf("%d of %s", s.Left, s.Rate))
	}
	slices.Sort(list)
	return strings.Join(list, ", ")
}
