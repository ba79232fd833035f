package bindings_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// base is the public URL of the service.
const base = "http://127.0.0.1:8080"

// read reads a resource, and returns its text and the response.
func read(g *gatetest.Gate, token, uri string) (string, *message) {
	g.Helper()
	a := g.Call("/mcp", token, map[string]any{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": map[string]any{"uri": uri}},
		"MCP-Protocol-Version", "2025-11-25")
	var got struct {
		Result struct{ Contents []struct{ URI, Text string } }
	}
	m := &message{}
	g.Must(json.Unmarshal(a.Body, &got))
	g.Must(json.Unmarshal(a.Body, m))
	m.Status, m.Header = a.Status, a.Header
	if len(got.Result.Contents) == 0 {
		return "", m
	}
	if got.Result.Contents[0].URI != uri {
		g.Errorf("%s has the URI %s", uri, got.Result.Contents[0].URI)
	}
	return got.Result.Contents[0].Text, m
}

// TestResources reads every listed resource, and some by template. Each is the body that GET returns.
func TestResources(t *testing.T) {
	g := gatetest.New(t, "")
	g.Upstream = echoing
	a := g.Agreed("agent-1")
	ordered := callTool(g, a.Token, "order_v1", aLamp)
	charge, _ := ordered.Result.Meta["UIM-Charge"].(string)
	_, id, _ := strings.Cut(charge, "id=")
	id, _, _ = strings.Cut(id, ";")
	list := ask(g, "", "resources/list", nil)
	var listed struct{ Resources []struct{ URI, Name string } }
	g.Must(json.Unmarshal(rawResult(g, "", "resources/list", nil), &listed))
	if list.Status != http.StatusOK || len(listed.Resources) < 5 {
		t.Fatalf("%d resources", len(listed.Resources))
	}
	for _, r := range listed.Resources {
		private := r.Name == "usage"
		if text, m := read(g, a.Token, r.URI); text == "" {
			t.Errorf("%s: %+v", r.URI, m.Error)
		}
		if text, m := read(g, "", r.URI); (text == "") != private || (m.Status == http.StatusUnauthorized) != private {
			t.Errorf("%s without a PAT: %d %.40s", r.URI, m.Status, text)
		}
	}
	for path, want := range map[string]string{
		"/agents.json": `"shop.example:order:v1"`, "/policy.md": "# Terms of", "/api/policy": `"uid"`,
		"/api/intents/shop.example:order:v1": `"Order"`, "/errors/MISSING_TOKEN": "MISSING_TOKEN",
		"/api/receipts/" + id: ".", "/api/usage/statement?month=2026-11": "",
	} {
		text, m := read(g, a.Token, base+path)
		if !strings.Contains(text, want) || text == "" && want != "" {
			t.Errorf("%s: %.300s %+v", path, text, m.Error)
		}
	}
	for _, uri := range []string{
		"", "x", base + "/admin", base + "/api/receipts/a/b", base + "/api/receipts/", base + "/mcp", "https://other.example/agents.json",
		base + "/api/policy?digest=x&y=1", base + "/api/intents/..%2F..%2Fadmin", strings.Repeat("x", 2000), base + "/api/intents/unknown:x:v1",
	} {
		if text, m := read(g, a.Token, uri); text != "" || m.Error == nil || m.Error.Code != -32002 {
			t.Errorf("%.80s: %.80s %+v, want the error -32002", uri, text, m.Error)
		}
	}
	if text, m := read(g, a.Token, base+"/api/receipts/01890a5d-ac96-774b-bcce-b302099a8057"); text != "" || m.Error == nil {
		t.Errorf("the receipt of an unknown execution: %.80s", text)
	}
	other := g.Agreed("agent-2")
	if text, m := read(g, other.Token, base+"/api/receipts/"+id); text != "" || m.Error == nil {
		t.Errorf("the receipt of another agent: %.80s", text)
	}
}

// rawResult returns the result of a request.
func rawResult(g *gatetest.Gate, token, method string, params any) []byte {
	g.Helper()
	var got struct{ Result json.RawMessage }
	call := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
	a := g.Call("/mcp", token, call, "MCP-Protocol-Version", "2025-11-25")
	g.Must(json.Unmarshal(a.Body, &got))
	return got.Result
}

func TestPrompts(t *testing.T) {
	g := gatetest.New(t, "")
	for name, row := range map[string]struct {
		params map[string]any
		has    string // empty: an error
	}{
		"agree":             {map[string]any{"name": "agree", "arguments": map[string]any{"purpose": "buy lamps"}}, "buy lamps"},
		"agree, no purpose": {map[string]any{"name": "agree"}, "/policy.md"},
		"order": {
			map[string]any{"name": "order_within_budget", "arguments": map[string]any{"request": "a lamp", "budget": "5 EUR"}}, "5 EUR",
		},
		"unknown":            {map[string]any{"name": "x"}, ""},
		"no name":            {nil, ""},
		"missing argument":   {map[string]any{"name": "order_within_budget", "arguments": map[string]any{"request": "a lamp"}}, ""},
		"argument of a kind": {map[string]any{"name": "agree", "arguments": map[string]any{"purpose": 1}}, ""},
		"long argument":      {map[string]any{"name": "agree", "arguments": map[string]any{"purpose": strings.Repeat("x", 4001)}}, ""},
		"list of arguments":  {map[string]any{"name": "agree", "arguments": []any{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := ask(g, "", "prompts/get", row.params)
			text := string(rawResult(g, "", "prompts/get", row.params))
			if row.has == "" && (m.Error == nil || m.Error.Code != -32602) || row.has != "" && !strings.Contains(text, row.has) {
				t.Errorf("%+v %s", m.Error, text)
			}
		})
	}
}

func TestCompletion(t *testing.T) {
	agents := strings.Replace(gatetest.AgentsFile, `"name": "query", "type": "string"`,
		`"name": "query", "type": "string", "enum": ["lamp", "Lamp shade", "table"]`, 1)
	if agents == gatetest.AgentsFile {
		t.Fatal("the catalogue has no parameter query")
	}
	g := gatetest.New(t, "", func(g *gatetest.Gate) { g.Write("agents.json", agents) })
	complete := func(argument, value string, others map[string]any) map[string]any {
		return map[string]any{
			"ref": map[string]any{"type": "ref/prompt", "name": "order_within_budget"}, "argument": map[string]any{"name": argument, "value": value},
			"context": map[string]any{"arguments": others},
		}
	}
	for name, row := range map[string]struct {
		params map[string]any
		want   string // empty: an error
	}{
		"uids":            {complete("intent", "shop.example:o", nil), `"values":["shop.example:order:v1"]`},
		"enum":            {complete("query", "la", map[string]any{"intent": "shop.example:search:v1"}), `"values":["lamp","Lamp shade"]`},
		"unknown intent":  {complete("query", "", map[string]any{"intent": "x"}), `"values":[]`},
		"no enum":         {complete("product", "", map[string]any{"intent": "shop.example:order:v1"}), `"values":[]`},
		"no argument":     {map[string]any{"ref": map[string]any{"type": "ref/prompt"}}, ""},
		"a kind of refs":  {map[string]any{"ref": map[string]any{"type": "ref/x"}, "argument": map[string]any{"name": "a", "value": ""}}, ""},
		"value of a kind": {map[string]any{"ref": map[string]any{"type": "ref/prompt"}, "argument": map[string]any{"name": "a", "value": 1}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := ask(g, "", "completion/complete", row.params)
			text := string(rawResult(g, "", "completion/complete", row.params))
			if row.want == "" && (m.Error == nil || m.Error.Code != -32602) || row.want != "" && !strings.Contains(text, row.want) {
				t.Errorf("%+v %s, want %s", m.Error, text, row.want)
			}
		})
	}
}

// TestProgressWhileTheServiceWorks reads a notification before the service responds, and then the result.
func TestProgressWhileTheServiceWorks(t *testing.T) {
	g := gatetest.New(t, "")
	notified := make(chan struct{})
	g.Upstream = func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-notified:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, `{"lamps": 1}`)
	}
	a := g.Agreed("agent-1")
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_v1","arguments":{"query":"lamp"},"_meta":{"progressToken":"t-1"}}}`
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/mcp", strings.NewReader(body))
	g.Must(err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + a.Token,
		"MCP-Protocol-Version": "2025-11-25",
	} {
		r.Header.Set(name, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	g.Must(err)
	defer resp.Body.Close()
	var events []map[string]any
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		var event map[string]any
		g.Must(json.Unmarshal([]byte(data), &event))
		if events = append(events, event); len(events) == 1 {
			close(notified)
		}
	}
	if len(events) < 2 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%v %v", resp.Header, events)
	}
	first, _ := events[0]["params"].(map[string]any)
	last, _ := events[len(events)-1]["result"].(map[string]any)
	if events[0]["method"] != "notifications/progress" || first["progressToken"] != "t-1" || last["structuredContent"] == nil {
		t.Errorf("%v", events)
	}
}
