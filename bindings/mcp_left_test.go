package bindings_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// found searches with a token, and returns the member left of each intent.
func found(g *gatetest.Gate, token string) map[string]string {
	g.Helper()
	m := callTool(g, token, "search_intents", map[string]any{})
	if m.Status != http.StatusOK || len(m.Result.Content) != 1 {
		g.Fatalf("%d %+v", m.Status, m.Result)
	}
	var page struct{ Intents []struct{ UID, Left string } }
	g.Must(json.Unmarshal([]byte(m.Result.Content[0].Text), &page))
	out := map[string]string{}
	for _, in := range page.Intents {
		out[in.UID] = in.Left
	}
	return out
}

// TestSearchShowsWhatIsLeft compares the calls that a search shows as left with the calls that the agent makes.
func TestSearchShowsWhatIsLeft(t *testing.T) {
	t.Parallel()
	const free = `{"target": "shop.example:order:v1", "action": "execute",
		"constraint": [{"leftOperand": "count", "operator": "lteq", "rightOperand": 3}]}`
	const paid = `{"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.10", "unit": "EUR"}],
		"constraint": [{"leftOperand": "count", "operator": "lteq", "rightOperand": 50}]}`
	g := gatetest.New(t, "", func(g *gatetest.Gate) {
		head, _, _ := strings.Cut(gatetest.PolicyFile, `"permission"`)
		g.Write("policy.json", head+`"permission": [`+free+","+paid+"]}")
	})
	g.Upstream = echoing
	first, second := g.Agreed("agent-1"), g.Agreed("agent-2")
	for n := range 5 {
		want := fmt.Sprintf("%d of 3 calls in all; then %d of 50 calls in all at 0.10 EUR each", max(0, 3-n), 50-n)
		if got := found(g, first.Token); got[gatetest.Ordering] != want || got[gatetest.Searching] != "" {
			t.Errorf("after %d calls: got %q, want %q, and nothing for searches, which the policy does not permit", n, got, want)
		}
		m := callTool(g, first.Token, "order_v1", aLamp)
		if charge, _ := m.Result.Meta["UIM-Charge"].(string); m.Result.IsError || (charge != "") != (n >= 3) {
			t.Fatalf("call %d: %+v", n, m.Result)
		}
	}
	if got := found(g, second.Token)[gatetest.Ordering]; got != "3 of 3 calls in all; then 50 of 50 calls in all at 0.10 EUR each" {
		t.Errorf("another agent: %q", got)
	}
	if got := found(g, ""); got[gatetest.Ordering] != "" || len(got) != 2 {
		t.Errorf("without a PAT: %q", got)
	}
}

// TestSearchShowsSharedLimits checks limits that all agents share, and intents outside the scope of a PAT.
func TestSearchShowsSharedLimits(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, `services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {url: UPSTREAM}
  intents: {"shop.example:search:v1": {ceiling: 7/day}}
`)
	g.Upstream = echoing
	one, two := g.Agreed("agent-1"), g.Agreed("agent-2")
	callTool(g, one.Token, "search_v1", lamp)
	for _, token := range []string{one.Token, two.Token} {
		if got := found(g, token)[gatetest.Searching]; got != "6 of 7 calls a day, shared with other agents" {
			t.Errorf("got %q", got)
		}
	}
}
