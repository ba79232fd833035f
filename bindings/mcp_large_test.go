package bindings_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// manyIntents returns an agents.json with n intents, in which each tenth has the tag orders.
func manyIntents(n int) string {
	list := make([]string, 0, n)
	for i := range n {
		tag := "other"
		if i%10 == 0 {
			tag = "orders"
		}
		list = append(list, fmt.Sprintf(`{"intent_uid": "shop.example:order-of-department-%04d:v1", "intent_name": "Order%04d", "tags": [%q],
			"description": "Order goods for department %d. The department pays at the end of the month, and %s",
			"input_parameters": [
				{"name": "product", "type": "string", "required": true, "description": "The product in words", "constraints": {"maxLength": 100}},
				{"name": "quantity", "type": "integer", "required": false, "description": "How many", "constraints": {"minimum": 1, "maximum": 99, "default": 1}},
				{"name": "delivery", "type": "object", "required": false, "constraints": {"properties": {"street": {"type": "string"},
					"city": {"type": "string"}, "express": {"type": "boolean"}}, "required": ["city"]}}],
			"output_parameters": [{"name": "order_id", "type": "string", "required": true}],
			"endpoint": {"url": "https://shop.example/orders/%d", "method": "POST"}}`,
			i, i, tag, i, strings.Repeat("its manager confirms each order above the limit. ", 20), i))
	}
	return `{"service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"}, "intents": [` +
		strings.Join(list, ",") + `]}`
}

func largeGate(t *testing.T, n int, settings string) *gatetest.Gate {
	t.Helper()
	config := "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, doors: {mcp: {" + settings + "}}}\n"
	g := gatetest.New(t, config, func(g *gatetest.Gate) {
		g.Write("agents.json", manyIntents(n))
		g.Write("policy.json", strings.Split(gatetest.PolicyFile, `"permission"`)[0]+`"permission": [{"target": "shop.example", "action": "execute"}]}`)
	})
	g.Upstream = func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"order_id": %q}`, r.URL.Path) }
	return g
}

// listAt lists tools at a URL of the endpoint, without a PAT.
func listAt(g *gatetest.Gate, path string) (names []string, size int) {
	g.Helper()
	a := g.Call(path, "", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, "MCP-Protocol-Version", "2025-11-25")
	m := &message{}
	g.Must(json.Unmarshal(a.Body, m))
	for _, tool := range m.Result.Tools {
		names = append(names, tool.Name)
	}
	return names, len(a.Body)
}

// tokens estimates the tokens of a text for a model.
func tokens(size int) int { return (size + 3) / 4 }

// TestLargeCatalogueFitsModels bounds what a catalogue of 1,000 intents costs a model: the list, a search and a description.
func TestLargeCatalogueFitsModels(t *testing.T) {
	g := largeGate(t, 1000, "")
	names, size := listAt(g, "/mcp")
	if strings.Join(names, " ") != "search_intents describe_intents call_intent" || tokens(size) > 1500 {
		t.Fatalf("%q in %d tokens, want the three tools in at most 1,500", names, tokens(size))
	}
	t.Logf("list: %d tokens", tokens(size))
	a := g.Agreed("agent-1")
	uid := "shop.example:order-of-department-0007:v1"
	for _, row := range []struct {
		tool      string
		arguments map[string]any
		most      int
		has       []string
	}{
		{"search_intents", map[string]any{"query": "order goods for department 7"}, 1000, []string{uid, `"total":1000`, `"terms":"free"`}},
		{"search_intents", map[string]any{"query": "order", "limit": 20}, 1000, []string{`"total":1000`}},
		{"search_intents", map[string]any{"tags": []any{"orders"}}, 1000, []string{`"total":100`}},
		{"search_intents", map[string]any{"query": "zebra"}, 1000, []string{`"total":0`, "Nothing matches"}},
		{"describe_intents", map[string]any{"uids": []any{uid}}, 400, []string{
			"product: string // at most 100 characters; The product in words", "quantity?: number // whole number; 1 to 99; default 1; How many",
			"delivery?: {city: string, express?: boolean, street?: string}", "=> {order_id: string}", "Terms: free.",
		}},
		{"describe_intents", map[string]any{"uids": []any{"order-of-department-0007_v1"}}, 400, []string{uid}},
		{"describe_intents", map[string]any{"uids": []any{"shop.example:order-of-department-0007:v2"}}, 400, []string{"Did you mean " + uid + "?"}},
	} {
		params := map[string]any{"name": row.tool, "arguments": row.arguments}
		call := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
		got := g.Call("/mcp", "", call, "MCP-Protocol-Version", "2025-11-25")
		m := &message{}
		g.Must(json.Unmarshal(got.Body, m))
		if m.Result.IsError || len(m.Result.Content) != 1 || tokens(len(got.Body)) > row.most {
			t.Errorf("%s %v: %d tokens, want at most %d: %s", row.tool, row.arguments, tokens(len(got.Body)), row.most, got.Body)
			continue
		}
		t.Logf("%s %v: %d tokens", row.tool, row.arguments, tokens(len(got.Body)))
		for _, part := range row.has {
			if !strings.Contains(m.Result.Content[0].Text, part) {
				t.Errorf("%s %v: %q is missing from\n%s", row.tool, row.arguments, part, m.Result.Content[0].Text)
			}
		}
	}
	for name, arguments := range map[string]map[string]any{
		"call_intent": {"uid": uid, "parameters": map[string]any{"product": "lamp"}}, "order-of-department-0007_v1": {"product": "lamp"},
	} {
		if m := callTool(g, a.Token, name, arguments); m.Result.IsError || string(m.Result.Structured) != `{"order_id":"/orders/7"}` {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// TestToolsOfAList checks which tools a list has, by the number of intents, the configuration and the URL.
func TestToolsOfAList(t *testing.T) {
	few := []string{"call_intent", "describe_intents", "search_intents"}
	for name, row := range map[string]struct {
		intents        int
		settings, path string
		want           int // tools for intents; 0: the three tools
	}{
		"as many as the list may have": {40, "", "/mcp", 40},
		"one more":                     {41, "", "/mcp", 0},
		"another limit":                {41, "list_up_to: 50", "/mcp", 41},
		"never listed":                 {2, "list_up_to: 0", "/mcp", 0},
		"all":                          {41, "", "/mcp?tools=all", 41},
		"by tag":                       {41, "", "/mcp?tools=tag:orders", 5},
		"by tags":                      {41, "", "/mcp?tools=tag:Orders,tag:other", 41},
		"unknown tag":                  {41, "", "/mcp?tools=tag:x", -1},
		"search":                       {2, "", "/mcp?tools=search", 0},
	} {
		t.Run(name, func(t *testing.T) {
			names, _ := listAt(largeGate(t, row.intents, row.settings), row.path)
			switch {
			case row.want == 0:
				for _, tool := range few {
					if len(names) != len(few) || !strings.Contains(strings.Join(names, " "), tool) {
						t.Errorf("got %q, want %q", names, few)
					}
				}
			case len(names) != max(row.want, 0):
				t.Errorf("%d tools, want %d", len(names), max(row.want, 0))
			}
			for _, tool := range names {
				if !toolForm.MatchString(tool) {
					t.Errorf("the name %q does not suit every host", tool)
				}
			}
		})
	}
	g := gatetest.New(t, "")
	if m := g.Call("/mcp?tools=some", "", map[string]any{
		"jsonrpc": "2.0", "id": 1,
		"method": "tools/list",
	}); m.Status != http.StatusBadRequest {
		t.Errorf("an unknown choice: %d %s", m.Status, m.Body)
	}
}

var toolForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// TestCallIntentIsTheSameCall compares a call by call_intent with one by the tool of the intent.
func TestCallIntentIsTheSameCall(t *testing.T) {
	g := gatetest.New(t, "")
	g.Upstream = echoing
	a := g.Agreed("agent-1")
	for name, row := range map[string]struct {
		tool, uid string
		arguments map[string]any
		reason    string
	}{
		"output":            {"search_v1", gatetest.Searching, lamp, ""},
		"other output":      {"order_v1", "shop.example:order:v1", aLamp, ""},
		"missing parameter": {"search_v1", "search_v1", map[string]any{}, "MISSING_PARAMETER"},
	} {
		t.Run(name, func(t *testing.T) {
			own := callTool(g, a.Token, row.tool, row.arguments)
			through := callTool(g, a.Token, "call_intent", map[string]any{"uid": row.uid, "parameters": row.arguments})
			if own.reason() != row.reason || through.reason() != row.reason || own.Status != through.Status ||
				own.Result.IsError != through.Result.IsError ||
				string(own.Result.Structured) != string(through.Result.Structured) || len(own.Result.Meta) != len(through.Result.Meta) {
				t.Errorf("tool: %d %s %+v\ncall_intent: %d %s %+v", own.Status, own.reason(), own.Result, through.Status, through.reason(),
					through.Result)
			}
		})
	}
	for tool, arguments := range map[string]map[string]any{
		"order_v1": aLamp, "call_intent": {"uid": "shop.example:order:v1", "parameters": aLamp},
	} {
		m := callTool(g, a.Token, tool, arguments)
		if charge, _ := m.Result.Meta["UIM-Charge"].(string); !strings.HasPrefix(charge, "0.25 EUR; ") {
			t.Errorf("%s: %+v", tool, m.Result)
		}
	}
	strict := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n")
	m := callTool(strict, strict.Agreed("agent-1").Token, "call_intent", map[string]any{"uid": "order_v1", "parameters": aLamp})
	if !m.Result.IsError || m.reason() != "POLICY_REQUIRES_VERIFICATION" {
		t.Errorf("a charge without proof: %s %+v", m.reason(), m)
	}
	for name, arguments := range map[string]map[string]any{
		"INVALID_PARAMETER": {"parameters": map[string]any{}}, "INTENT_NOT_FOUND": {"uid": "shop.example:other:v1"},
		"VERSION_CONFLICT": {"uid": "shop.example:search:v9"},
	} {
		if m := callTool(g, a.Token, "call_intent", arguments); !m.Result.IsError || m.reason() != name {
			t.Errorf("%v: %s %+v", arguments, m.reason(), m)
		}
	}
}

// TestCatalogueNeedsNoPAT checks what a client can read without a PAT: what agents.json contains, and no more.
func TestCatalogueNeedsNoPAT(t *testing.T) {
	g := gatetest.New(t, "")
	for name, row := range map[string]struct {
		method string
		params map[string]any
		status int
	}{
		"initialize": {"initialize", map[string]any{"protocolVersion": "2025-11-25"}, http.StatusOK},
		"list":       {"tools/list", nil, http.StatusOK},
		"search":     {"tools/call", map[string]any{"name": "search_intents"}, http.StatusOK},
		"describe":   {"tools/call", map[string]any{"name": "describe_intents", "arguments": map[string]any{"uids": []any{"search_v1"}}}, http.StatusOK},
		"call":       {"tools/call", map[string]any{"name": "search_v1", "arguments": lamp}, http.StatusUnauthorized},
		"unknown":    {"tools/call", map[string]any{"name": "x"}, http.StatusUnauthorized},
		"by call":    {"tools/call", map[string]any{"name": "call_intent", "arguments": map[string]any{"uid": "search_v1"}}, http.StatusUnauthorized},
		"too large":  {"tools/list", map[string]any{"x": strings.Repeat("x", 65<<10)}, http.StatusRequestEntityTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			m := ask(g, "", row.method, row.params)
			if m.Status != row.status || (m.Status == http.StatusUnauthorized) != (m.Header.Get("WWW-Authenticate") != "") {
				t.Errorf("%d %v, want %d", m.Status, m.Header, row.status)
			}
		})
	}
	closed := largeGate(t, 2, "public_list: false")
	if m := ask(closed, "", "tools/list", nil); m.Status != http.StatusUnauthorized {
		t.Errorf("a list that is not public: %d, want 401", m.Status)
	}
	if m := ask(g, "x", "tools/list", nil); m.Status != http.StatusUnauthorized {
		t.Errorf("a token that is not a PAT: %d, want 401", m.Status)
	}
}
