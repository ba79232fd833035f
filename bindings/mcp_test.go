package bindings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/pat"
)

// A message is a response of the door.
type message struct {
	Status int
	Header http.Header
	Error  *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
	Result struct {
		Content    []struct{ Text string }
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
		Tools      []struct{ Name, Description string }
		Next       string         `json:"nextCursor"`
		Meta       map[string]any `json:"_meta"`
	}
}

// reason returns the reason of a refusal, from the error or from the result.
func (m *message) reason() string {
	text := ""
	if m.Error != nil {
		text = string(m.Error.Data)
	} else if m.Result.IsError && len(m.Result.Content) == 2 {
		text = m.Result.Content[1].Text
	}
	var envelope struct {
		Error struct{ Details struct{ Reason string } }
	}
	_ = json.Unmarshal([]byte(text), &envelope)
	return envelope.Error.Details.Reason
}

func ask(g *gatetest.Gate, token, method string, params any, header ...string) *message {
	g.Helper()
	header = append([]string{"MCP-Protocol-Version", "2025-11-25"}, header...)
	a := g.Call("/mcp", token, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, header...)
	m := &message{}
	g.Must(json.Unmarshal(a.Body, m))
	m.Status, m.Header = a.Status, a.Header
	return m
}

func callTool(g *gatetest.Gate, token, tool string, arguments map[string]any, header ...string) *message {
	g.Helper()
	return ask(g, token, "tools/call", map[string]any{"name": tool, "arguments": arguments}, header...)
}

var lamp, aLamp = map[string]any{"query": "lamp"}, map[string]any{"product": "lamp"}

func TestOutputMatchesHTTPDoor(t *testing.T) {
	long := strings.Repeat(`é\"\u2028\\😀`, 20_000)
	for name, answer := range map[string]string{
		"large object": "{\n" + `"a":"` + long + `",` + "\n" + `"b":"x` + long + `"}`, "large text": `"` + long + `"`,
		"object": `{"b": 1.50, "a": [1, {"c": "<é>\u2028"}], "big": 123456789012345678901234567890}`, "list": `[1, 2]`, "text": `"lamp"`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gatetest.New(t, "")
			g.Upstream = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }
			a := g.Agreed("agent-1")
			plain := g.Execute(a, gatetest.Searching)
			m := callTool(g, a.Token, "search_v1", lamp)
			if m.Status != http.StatusOK || m.Result.IsError || m.Result.Content[0].Text != string(plain.Body) {
				t.Fatalf("%d %.500v, want %.500s", m.Status, m.Result, plain.Body)
			}
			// A client that reads only streams gets the same output as one event.
			stream := g.Call("/mcp", a.Token, map[string]any{
				"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "search_v1", "arguments": lamp},
			}, "Accept", "text/event-stream", "MCP-Protocol-Version", "2025-11-25")
			event, isEvent := bytes.CutPrefix(stream.Body, []byte("event: message\ndata: "))
			event, ends := bytes.CutSuffix(event, []byte("\n\n"))
			streamed := &message{}
			if err := json.Unmarshal(event, streamed); err != nil || !isEvent || !ends || bytes.ContainsAny(event, "\r\n") ||
				streamed.Result.Content[0].Text != string(plain.Body) {
				t.Errorf("%v: %.500s", err, stream.Body)
			}
			if isObject := strings.HasPrefix(answer, "{"); isObject != (m.Result.Structured != nil) {
				t.Errorf("structuredContent %s", m.Result.Structured)
			} else if isObject && !bytes.Equal(m.Result.Structured, plain.Body) {
				t.Errorf("%s, want %s", m.Result.Structured, plain.Body)
			}
		})
	}
}

func TestRefusalsKeepTheirReason(t *testing.T) {
	const config = "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, %s}\n"
	narrow := strings.Replace(gatetest.PolicyFile, `{"target": "shop.example:order:v1"`, `{"assignee": "https://agents.example/nobody", "target": "shop.example:order:v1"`, 1)
	limited := strings.Replace(gatetest.PolicyFile, `"action": "execute"}`, `"action": "execute", "constraint": [{"leftOperand": "count", "operator": "lteq", "rightOperand": 1}]}`, 1)
	for _, row := range []struct {
		name, settings, policy, tool string
		before                       func(g *gatetest.Gate, a *gatetest.Agent)
		arguments                    map[string]any
		status                       int
		reason, challenge, outcome   string
	}{
		{
			name: "changed policy", tool: "search_v1", status: http.StatusUnauthorized, reason: "POLICY_REQUIRES_AGREEMENT", challenge: `error="invalid_token"`,
			before: func(g *gatetest.Gate, _ *gatetest.Agent) {
				g.Write("policy.json", strings.Replace(gatetest.PolicyFile, "policy/1", "policy/2", 1))
				g.Reload()
			},
		},
		{
			name: "expired token", tool: "search_v1", status: http.StatusUnauthorized, reason: "EXPIRED_TOKEN", challenge: `error="invalid_token"`,
			before: func(g *gatetest.Gate, _ *gatetest.Agent) { g.Later(2 * time.Hour) },
		},
		{
			name: "revoked token", tool: "search_v1", status: http.StatusUnauthorized, reason: "REVOKED_TOKEN", challenge: `error="invalid_token"`,
			before: func(g *gatetest.Gate, a *gatetest.Agent) {
				g.Call("/api/pat/revoke", a.Token, map[string]any{"token": a.Token})
				g.Later(time.Second)
			},
		},
		{
			name: "out of scope", tool: "order_v1", arguments: aLamp, policy: narrow, settings: `parties: {"https://agents.example/nobody": {agent_id: nobody, key: NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs}}`, status: http.StatusForbidden,
			reason: "SCOPE_EXCEEDED", challenge: `scope="shop.example:order:v1:execute", error="insufficient_scope"`,
		},
		{
			name: "a charge without proof", tool: "order_v1", arguments: aLamp, status: http.StatusOK, reason: "POLICY_REQUIRES_VERIFICATION",
		},
		{
			name: "limit used up", tool: "search_v1", policy: limited, status: http.StatusOK, reason: "QUOTA_EXCEEDED",
			before: func(g *gatetest.Gate, a *gatetest.Agent) { callTool(g, a.Token, "search_v1", lamp) },
		},
		{
			name: "service away", tool: "search_v1", status: http.StatusOK, reason: "UPSTREAM_ERROR", outcome: "unknown",
			before: func(g *gatetest.Gate, _ *gatetest.Agent) { g.BreakOff() },
		},
		{
			name: "service fails", tool: "search_v1", status: http.StatusOK, reason: "UPSTREAM_ERROR", outcome: "failed",
			before: func(g *gatetest.Gate, _ *gatetest.Agent) {
				g.Upstream = func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "x", http.StatusInternalServerError) }
			},
		},
		{
			name: "blocked", tool: "search_v1", status: http.StatusOK, reason: "AGENT_BLOCKED",
			before: func(g *gatetest.Gate, a *gatetest.Agent) {
				g.Must(g.Store.SetAgent(g.Context(), pat.AgentChange{Service: "default", ID: a.ID, Status: pat.AgentBlocked}))
				g.Later(time.Second)
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			settings := row.settings
			if settings == "" {
				settings = "answers: strict"
			}
			g := gatetest.New(t, fmt.Sprintf(config, settings), func(g *gatetest.Gate) {
				if row.policy != "" {
					g.Write("policy.json", row.policy)
				}
			})
			a := g.Agreed("agent-1")
			if row.before != nil {
				row.before(g, a)
			}
			arguments := row.arguments
			if arguments == nil {
				arguments = lamp
			}
			m := callTool(g, a.Token, row.tool, arguments)
			if m.Status != row.status || m.reason() != row.reason {
				t.Fatalf("%d %s %+v %+v, want %d %s", m.Status, m.reason(), m.Error, m.Result, row.status, row.reason)
			}
			if got := m.Header.Get("WWW-Authenticate"); (got == "") != (row.challenge == "") || !strings.Contains(got, row.challenge) {
				t.Errorf("challenge %s, want %s", got, row.challenge)
			}
			if m.Result.Structured != nil {
				t.Errorf("structuredContent %s, want nil", m.Result.Structured)
			}
			if row.outcome != "" && !strings.Contains(m.Result.Content[1].Text, `"outcome":"`+row.outcome+`"`) {
				t.Errorf("%s, want outcome %s", m.Result.Content[1].Text, row.outcome)
			}
		})
	}
}

// TestToolListPages reads the whole list page by page, also while a reload adds a tool.
func TestToolListPages(t *testing.T) {
	const settings = "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, doors: {mcp: {page_size: 2}}}\n"
	catalogue := func(names ...string) string {
		list := make([]string, 0, len(names))
		for _, name := range names {
			list = append(list, fmt.Sprintf(`{"intent_uid": "shop.example:%s:v1", "intent_name": "N", "description": "D",
				"input_parameters": [], "endpoint": {"url": "https://shop.example/x", "method": "GET"}}`, name))
		}
		return `{"service-info": {"name": "shop.example", "description": "A shop", "service_url": "https://shop.example"}, "intents": [` +
			strings.Join(list, ",") + `]}`
	}
	policy := strings.ReplaceAll(strings.Split(gatetest.PolicyFile, `"permission"`)[0]+`"permission": [{"target": "shop.example", "action": "execute"}]}`, "\n", " ")
	g := gatetest.New(t, settings, func(g *gatetest.Gate) {
		g.Write("agents.json", catalogue("e", "a", "c", "b", "d"))
		g.Write("policy.json", policy)
	})
	token := g.Agreed("agent-1").Token
	var names []string
	params := map[string]any{}
	for range 5 {
		m := ask(g, token, "tools/list", params)
		for _, tool := range m.Result.Tools {
			names = append(names, tool.Name)
		}
		cursor := m.Result.Next
		if cursor == "" {
			break
		}
		if len(names) == 2 {
			g.Write("agents.json", catalogue("e", "a", "aa", "c", "b", "d"))
			g.Reload()
		}
		params = map[string]any{"cursor": cursor}
	}
	if want := []string{"a_v1", "b_v1", "c_v1", "d_v1", "e_v1"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	if m := ask(g, token, "tools/list", nil); m.Result.Tools[1].Name != "aa_v1" {
		t.Errorf("after a reload: %+v, want [1].Name %q", m.Result.Tools, "aa_v1")
	}
}

// TestClosedDoor checks that a closed door has no path.
func TestClosedDoor(t *testing.T) {
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, doors: {mcp: {enabled: false}}}\n")
	g.Refuses(g.Call("/mcp", g.Agreed("agent-1").Token, map[string]any{}), http.StatusNotFound, "NO_SUCH_PATH")
	if got := g.Get("/agents.json"); strings.Contains(string(got.Body), "uim-mcp") {
		t.Errorf("got %s", got.Body)
	}
}

// TestLogNamesDoor checks that the log line of a call names the door.
func TestLogNamesDoor(t *testing.T) {
	g := gatetest.New(t, "")
	callTool(g, g.Agreed("agent-1").Token, "search_v1", lamp)
	for _, entry := range g.Logs.FilterMessage("request").All() {
		if fields := entry.ContextMap(); fields["route"] == "/mcp" {
			if fields["door"] != "mcp" || fields["intent_uid"] != gatetest.Searching || fields["agent"] != "agent-1" {
				t.Errorf("got %v", fields)
			}
			return
		}
	}
	t.Error("the log has no line of the call")
}
