package admin_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/policies"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// decideGate is a gateway under whyPolicy with calls that were permitted, denied and charged.
func decideGate(t *testing.T) *adminGate {
	t.Helper()
	g := newAdminGate(t, whySettings)
	g.Write("policy.json", whyPolicy)
	g.Reload()
	a := g.Agreed("agent-1")
	g.search(a, "denied", "parameter-canary")
	g.search(a, "permitted", "research")
	g.search(a, "exhausted", "research")
	g.Execute(a, gatetest.Ordering, "UIM-Request-ID", "paid")
	return g
}

func (g *adminGate) decide(body map[string]any) policies.PolicyDecision {
	g.Helper()
	return ask[policies.PolicyDecision](g, "POST", "/decide", body)
}

func TestDecideAgain(t *testing.T) {
	g := decideGate(t)
	edited := strings.NewReplacer("research", "training", "0.25", "0.30", `"rightOperand": 1,`, `"rightOperand": 7,`).Replace(whyPolicy)
	moved := strings.ReplaceAll(whyPolicy, "https://shop.example/policy/1", "https://other.example/policy/2")
	for name, c := range map[string]struct {
		body                                   map[string]any
		decision, reason, rule, charge, limits string
		same                                   bool
	}{
		"a denied call whose fact is unknown": {
			map[string]any{"request_id": "denied"}, "deny", "POLICY_NOT_APPLICABLE", "https://shop.example/rules/search", "", "", true,
		},
		"with the fact that it needs": {
			map[string]any{"request_id": "denied", "facts": map[string]any{"purpose": "research"}},
			"permit", "", "https://shop.example/rules/search", "", "1/hour", false,
		},
		"with another fact": {
			map[string]any{"request_id": "permitted", "facts": map[string]any{"purpose": []any{"training", "fun"}}},
			"deny", "POLICY_NOT_APPLICABLE", "https://shop.example/rules/search", "", "", false,
		},
		"without a fact": {
			map[string]any{"request_id": "permitted", "facts": map[string]any{"purpose": nil}},
			"deny", "POLICY_NOT_APPLICABLE", "https://shop.example/rules/search", "", "", false,
		},
		"a charged call": {map[string]any{"request_id": "paid"}, "permit", "", "/permission/1", "0.25 EUR", "", true},
		"by an edited policy": {
			map[string]any{"request_id": "paid", "policy": edited}, "permit", "", "/permission/1", "0.30 EUR", "", true,
		},
		"an edited limit": {
			map[string]any{"request_id": "denied", "policy": edited, "facts": map[string]any{"purpose": "training"}},
			"permit", "", "https://shop.example/rules/search", "", "7/hour", false,
		},
		"by a policy with another host": {
			map[string]any{"request_id": "paid", "policy": moved}, "permit", "", "/permission/1", "0.25 EUR", "", true,
		},
		"no earlier call": {
			map[string]any{"agent_id": "nobody", "intent": gatetest.Ordering}, "permit", "", "/permission/1", "0.25 EUR", "", false,
		},
	} {
		got := g.decide(c.body)
		if got.Decision != c.decision || string(got.Reason) != c.reason || got.Rule != c.rule || got.Charge != c.charge ||
			strings.Join(got.Limits, " ") != c.limits || got.Policy.Digest == "" {
			t.Errorf("%s: got %+v", name, got)
		}
		if (got.Recorded != nil) != (c.body["request_id"] != nil) || got.Recorded != nil && got.Recorded.Same != c.same {
			t.Errorf("%s: recorded %+v, want the same: %v", name, got.Recorded, c.same)
		}
	}
	denied := g.decide(map[string]any{"request_id": "denied", "facts": map[string]any{"purpose": "fun"}})
	want := []policies.ConstraintState{
		{
			Rule: "https://shop.example/rules/search", Type: "Permission", Name: "/permission/0/constraint/0", Operand: "purpose", Operator: "eq",
			Wanted: []string{"research"}, Found: "fun", State: "unsatisfied",
		},
		{
			Rule: "https://shop.example/rules/search", Type: "Permission", Name: "/permission/0/constraint/1", Operand: "rateLimit",
			Operator: "lteq", Wanted: []string{"1"}, Unit: "hour", State: "counted",
		},
	}
	if !slices.EqualFunc(denied.Constraints, want, func(a, b policies.ConstraintState) bool {
		return a.Name == b.Name && a.Rule == b.Rule && a.Type == b.Type && a.Operand == b.Operand && a.Operator == b.Operator &&
			slices.Equal(a.Wanted, b.Wanted) && a.Unit == b.Unit && a.Found == b.Found && a.State == b.State
	}) {
		t.Errorf("got  %+v\nwant %+v", denied.Constraints, want)
	}
	if got := g.decide(map[string]any{"request_id": "denied"}); !slices.Equal(got.Unknown, []string{"purpose"}) {
		t.Errorf("unknown: %v", got.Unknown)
	}
	got := g.decide(map[string]any{"request_id": "permitted", "facts": map[string]any{"purpose": "research"}})
	if got.At.After(g.Now()) || got.AgentID != "agent-1" || got.Constraints[0].State != "satisfied" {
		t.Errorf("got %+v", got)
	}
}

// A policy that was offered before decides by its digest, and a proof of key is used again.
func TestDecideByAnEarlierPolicyAndWithAProof(t *testing.T) {
	g := decideGate(t)
	before := g.decide(map[string]any{"request_id": "paid"}).Policy
	signed := strings.Replace(whyPolicy, `"duty": [{`, `"duty": [{"action": "signPayload"}, {`, 1)
	g.Write("policy.json", signed)
	g.Reload()
	refused := g.decide(map[string]any{"request_id": "paid"})
	if refused.Decision != "deny" || refused.Reason != "POLICY_REQUIRES_VERIFICATION" || refused.Policy.Digest == before.Digest {
		t.Errorf("without a proof: got %+v", refused)
	}
	if got := g.decide(map[string]any{"request_id": "paid", "proof": "true"}); got.Decision != "permit" {
		t.Errorf("with a proof: got %+v", got)
	}
	got := g.decide(map[string]any{"request_id": "paid", "policy_digest": before.Digest})
	if got.Decision != "permit" || got.Policy.Digest != before.Digest || got.Policy.Offered || !got.Recorded.Same {
		t.Errorf("by the earlier policy: got %+v", got)
	}
	g.Refuses(g.do("POST", "/decide", map[string]any{"agent_id": "nobody", "intent": gatetest.Ordering, "proof": "true"}),
		http.StatusBadRequest, "MALFORMED_REQUEST")
}

func TestDecideRefusesWhatItCannotDecide(t *testing.T) {
	g := decideGate(t)
	g.Call("/api/nothing", "", map[string]any{}, "UIM-Request-ID", "lost")
	for name, c := range map[string]struct {
		body   map[string]any
		status int
		reason string
	}{
		"nothing":            {map[string]any{}, 400, "MALFORMED_REQUEST"},
		"no intent":          {map[string]any{"agent_id": "a"}, 400, "MALFORMED_REQUEST"},
		"an unknown intent":  {map[string]any{"agent_id": "a", "intent": "shop.example:serach:v1"}, 404, "INTENT_NOT_FOUND"},
		"an unknown request": {map[string]any{"request_id": "none"}, 404, "NO_SUCH_RECORD"},
		"a request without an intent": {
			map[string]any{"request_id": "lost"}, 404, "NO_SUCH_RECORD",
		},
		"a fact that no rule reads": {
			map[string]any{"request_id": "paid", "facts": map[string]any{"purpos": "x"}}, 400, "MALFORMED_REQUEST",
		},
		"a fact that is an object": {
			map[string]any{"request_id": "paid", "facts": map[string]any{"purpose": map[string]any{}}}, 400, "MALFORMED_REQUEST",
		},
		"a fact with a nested list": {
			map[string]any{"request_id": "paid", "facts": map[string]any{"purpose": []any{[]any{"x"}}}}, 400, "MALFORMED_REQUEST",
		},
		"a time without a zone":     {map[string]any{"request_id": "paid", "at": "2026-11-01"}, 400, "MALFORMED_REQUEST"},
		"an unknown word for proof": {map[string]any{"request_id": "paid", "proof": "yes"}, 400, "MALFORMED_REQUEST"},
		"two policies": {
			map[string]any{"request_id": "paid", "policy": whyPolicy, "policy_digest": "sha-256:x"}, 400, "MALFORMED_REQUEST",
		},
		"an unknown policy":         {map[string]any{"request_id": "paid", "policy_digest": "sha-256:x"}, 404, "NO_SUCH_RECORD"},
		"a policy that is not JSON": {map[string]any{"request_id": "paid", "policy": "{"}, 422, "CONFIG_REFUSED"},
		"a policy with an error": {
			map[string]any{"request_id": "paid", "policy": strings.ReplaceAll(whyPolicy, "lteq", "about")}, 422, "CONFIG_REFUSED",
		},
		"a policy that is too long": {map[string]any{"request_id": "paid", "policy": strings.Repeat(" ", 5<<20)}, 413, "BODY_TOO_LARGE"},
	} {
		a := g.do("POST", "/decide", c.body)
		if a.Status != c.status || !strings.Contains(string(a.Body), `"`+c.reason+`"`) {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	wrong := g.do("POST", "/decide", map[string]any{"request_id": "paid", "policy": strings.ReplaceAll(whyPolicy, "lteq", "about")})
	if !strings.Contains(string(wrong.Body), `"line":`) {
		t.Errorf("the problem has no line: %s", wrong.Body)
	}
}
