package agent_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat/keys"
)

// limitedPolicy is the default policy of gatetest with a rate limit on searches.
const limitedPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search:v1", "action": "execute",
     "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 7, "unit": "hour"}]},
    {"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ]
}`

// provedGate returns a gateway with limitedPolicy, whose paid orders need a proof of possession.
func provedGate(t *testing.T) *gatetest.Gate {
	t.Helper()
	return gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, doors: {uagents: {}}}\n",
		func(g *gatetest.Gate) { g.Write("policy.json", limitedPolicy) })
}

// published is the address in the documents of a gatetest gateway.
const published = "127.0.0.1:8080"

// gateOptions returns the options of an agent that reaches a gateway under its published address.
func gateOptions(t *testing.T, g *gatetest.Gate) agent.Options {
	t.Helper()
	listens := strings.TrimPrefix(g.URL, "http://")
	return agent.Options{
		Key: keyOf(t, keys.EdDSA), AgentID: "robot", Now: g.Now, Sleep: (&waits{}).sleep, MaxAttempts: 1,
		Wrap: func(next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				if r.URL.Host != published {
					return next.RoundTrip(r)
				}
				to := r.Clone(r.Context())
				to.URL.Host, to.Host = listens, published
				answer, err := next.RoundTrip(to)
				if err == nil {
					answer.Request = r
				}
				return answer, err
			})
		},
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// upstreamSays sets the response of the API behind a gateway.
func upstreamSays(g *gatetest.Gate, status int, body string) {
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// An outcome is the result or the error of Execute.
type outcome struct {
	Step    string
	Result  agent.Result
	Refused *agent.Error
	Err     string
}

// checkEvidence checks that a charge that has ended has a receipt, with the right digests.
func checkEvidence(t *testing.T, way agent.Via, o outcome) {
	t.Helper()
	charge, of := o.Result.Charge, o.Result.Evidence
	if o.Refused != nil {
		charge, of = o.Refused.Charge, o.Refused.Evidence
	}
	ended := charge != nil && charge.State != "pending"
	if (of.Receipt != nil) != ended || len(of.Discrepancies) > 0 {
		t.Errorf("%s by %q: receipt %v, discrepancies %v for the charge %v", o.Step, way, of.Receipt, of.Discrepancies, charge)
	}
}

// outcomesVia makes one agent's calls in one way and returns their outcomes.
func outcomesVia(t *testing.T, way agent.Via) []outcome {
	t.Helper()
	g := provedGate(t)
	options := gateOptions(t, g)
	if way == agent.ViaUAgents {
		options = envelopeOptions(t, g)
	}
	s := agreed(t, options, "http://"+published)
	var list []outcome
	call := func(step, uid string, params map[string]any, o agent.ExecuteOptions) outcome {
		t.Helper()
		o.Via = way
		result, err := s.Execute(t.Context(), uid, params, o)
		one := outcome{Step: step, Result: result}
		if err != nil {
			one.Err = err.Error()
			if refused, ok := errors.AsType[*agent.Error](err); ok {
				one.Refused = refused
			}
		}
		list = append(list, one)
		checkEvidence(t, way, one)
		return one
	}
	lamp, query := map[string]any{"product": "lamp"}, map[string]any{"query": "lamp & <shade>"}
	refusedFor := func(got outcome, want reason.Reason) {
		t.Helper()
		if got.Refused == nil || got.Refused.Reason != string(want) {
			t.Errorf("%s by %q: %+v; want %s", got.Step, way, got, want)
		}
	}

	upstreamSays(g, http.StatusOK, `{"b": 12345678901234567890.5, "a": ["<&>", "\u2028 é \"", null], "n": 1e3}`)
	if free := call("free", gatetest.Searching, query, agent.ExecuteOptions{}); free.Err != "" || free.Result.RateLimit == nil {
		t.Errorf("%q: %+v", way, free)
	}
	upstreamSays(g, http.StatusOK, `[1, {"x": "y"}]`)
	call("a list", gatetest.Searching, query, agent.ExecuteOptions{RequestID: "mine"})
	upstreamSays(g, http.StatusOK, `{"order": "o-1"}`)
	if paid := call("paid with proof", gatetest.Ordering, lamp, agent.ExecuteOptions{}); paid.Err != "" || paid.Result.Charge == nil {
		t.Errorf("%q: %+v", way, paid)
	}
	key := agent.ExecuteOptions{IdempotencyKey: "order-1"}
	call("under a key", gatetest.Ordering, lamp, key)
	if again := call("repeated", gatetest.Ordering, lamp, key); !again.Result.Replayed || again.Result.Charge == nil {
		t.Errorf("%q: %+v", way, again)
	}
	refusedFor(call("another call under the key", gatetest.Ordering, map[string]any{"product": "x"}, key), reason.IdempotencyKeyReused)
	wrong := call("wrong parameters", gatetest.Ordering, map[string]any{"produkt": "lamp", "n": 1}, agent.ExecuteOptions{})
	if refusedFor(wrong, reason.MissingParameter); len(wrong.Refused.Violations) != 3 {
		t.Errorf("%q: %+v, want length 3", way, wrong.Refused.Violations)
	}
	refusedFor(call("an unknown intent", "shop.example:find:v1", lamp, agent.ExecuteOptions{}), reason.IntentNotFound)
	refusedFor(call("another version", "shop.example:order:v9", lamp, agent.ExecuteOptions{}), reason.VersionConflict)
	upstreamSays(g, http.StatusNotFound, `{"message": "There is no such product."}`)
	refusedFor(call("refused by the API", gatetest.Ordering, lamp, agent.ExecuteOptions{}), reason.UpstreamRejected)
	upstreamSays(g, http.StatusOK, `{"order`)
	refusedFor(call("an invalid answer", gatetest.Ordering, lamp, agent.ExecuteOptions{}), reason.ResponseInvalid)
	g.BreakOff()
	if lost := call("a lost answer", gatetest.Ordering, lamp, agent.ExecuteOptions{}); lost.Refused == nil ||
		lost.Refused.Outcome != "unknown" || lost.Refused.Charge == nil || lost.Refused.Charge.State != "pending" {
		t.Errorf("%q: %+v", way, lost.Refused)
	}
	upstreamSays(g, http.StatusOK, `{}`)
	for n := 3; n <= 7; n++ {
		call(fmt.Sprintf("search %d", n), gatetest.Searching, query, agent.ExecuteOptions{})
	}
	limited := call("the limit", gatetest.Searching, query, agent.ExecuteOptions{})
	if refusedFor(limited, reason.RateLimitExceeded); limited.Refused.RetryAfter <= 0 || limited.Refused.RateLimit == nil {
		t.Errorf("%q: %+v", way, limited.Refused)
	}
	before := s.Session()
	g.Later(59*time.Minute + 30*time.Second)
	call("after a renewal", gatetest.Ordering, lamp, agent.ExecuteOptions{})
	if s.Session().ExpiresAt.Equal(before.ExpiresAt) {
		t.Errorf("%q: not renewed", way)
	}
	kept := s.Session()
	g.Must(s.Revoke(t.Context()))
	g.Later(time.Second)
	s, err := clientOf(t, options).Resume(kept)
	g.Must(err)
	refusedFor(call("revoked", gatetest.Ordering, lamp, agent.ExecuteOptions{}), reason.RevokedToken)
	s = agreed(t, options, "http://"+published)
	g.Write("policy.json", strings.Replace(limitedPolicy, "0.25", "0.30", 1))
	g.Reload()
	changed := call("another policy", gatetest.Ordering, lamp, agent.ExecuteOptions{})
	refusedFor(changed, reason.PolicyRequiresAgreement)
	if changed.Refused.Offered == "" || !strings.Contains(changed.Err, "the policy has changed") {
		t.Errorf("%q: %+v", way, changed)
	}
	return list
}

// TestProtocolsBehaveAlike makes the same calls in each way, and compares results and errors except for ids.
func TestProtocolsBehaveAlike(t *testing.T) {
	t.Parallel()
	want := outcomesVia(t, agent.ViaUIM)
	for _, way := range []agent.Via{agent.ViaMCP, agent.ViaA2A, agent.ViaUAgents} {
		t.Run(string(way), func(t *testing.T) {
			t.Parallel()
			want, got := slices.Clone(want), outcomesVia(t, way)
			ids := cmp.Options{
				cmpopts.IgnoreFields(agent.Charge{}, "ExecutionID"), cmpopts.IgnoreFields(agent.Result{}, "IdempotencyKey", "RequestID"),
				cmpopts.IgnoreFields(agent.Error{}, "RequestID"), cmpopts.IgnoreUnexported(agent.Error{}),
				cmp.Comparer(func(x, y agent.Evidence) bool { return (x.Receipt == nil) == (y.Receipt == nil) }),
				cmpopts.IgnoreMapEntries(func(name string, _ any) bool { return name == "request_id" || name == "id" }),
			}
			if way == agent.ViaUAgents { // its outputs are objects, and its suggestions name its own messages
				want[1].Result.Raw, want[1].Result.Output = []byte(`{"output":[1, {"x": "y"}]}`), map[string]any{"output": want[1].Result.Output}
				for i, one := range got { // its messages repeat the values of headers and details
					if one.Refused == nil || !strings.HasPrefix(one.Refused.Message, want[i].Refused.Message) {
						continue
					}
					got[i].Refused.Message, got[i].Err = want[i].Refused.Message, strings.Replace(one.Err, one.Refused.Message, want[i].Refused.Message, 1)
				}
				ids = append(ids, cmpopts.IgnoreFields(agent.Error{}, "Suggestion"),
					cmpopts.IgnoreMapEntries(func(name string, _ any) bool { return name == "suggestion" }))
			}
			if diff := cmp.Diff(want, got, ids); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			for i, one := range got {
				if (one.Result.RequestID == "") != (want[i].Result.RequestID == "") || one.Refused != nil && one.Refused.RequestID == "" {
					t.Errorf("%s: the request has no id: %+v", one.Step, one)
				}
			}
		})
	}
}
