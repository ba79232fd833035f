package bindings_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

// Intents that call tools of the official server-everything.
const toolIntents = `{
  "service-info": {"name": "shop.example", "description": "Tools", "service_url": "https://shop.example"},
  "intents": [
    {"intent_uid": "shop.example:search:v1", "intent_name": "Search", "description": "Echo.",
     "input_parameters": [{"name": "message", "type": "string", "required": true}],
     "endpoint": "https://shop.example/tools/echo", "safe": true},
    {"intent_uid": "shop.example:weather:v1", "intent_name": "Weather", "description": "Weather.",
     "input_parameters": [{"name": "location", "type": "string", "required": true}],
     "output_parameters": [{"name": "temperature", "type": "number", "required": true}],
     "endpoint": "https://shop.example/tools/get-structured-content", "safe": true},
    {"intent_uid": "shop.example:order:v1", "intent_name": "Order", "description": "Wait.",
     "input_parameters": [{"name": "duration", "type": "number", "required": true}, {"name": "steps", "type": "number", "required": true}],
     "endpoint": "https://shop.example/tools/trigger-long-running-operation"}
  ]
}`

const toolPolicy = `{
  "@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim",
  "permission": [
    {"target": "shop.example:search:v1", "action": "execute",
     "constraint": [{"leftOperand": "count", "operator": "lteq", "rightOperand": 4}]},
    {"target": "shop.example:weather:v1", "action": "execute"},
    {"target": "shop.example:order:v1", "action": "execute", "duty": [{"action": "pay", "amount": "0.25", "unit": "EUR"}]}
  ]
}`

// TestOfficialToolServer puts terms in front of the MCP project's server-everything, and calls its tools through several doors.
func TestOfficialToolServer(t *testing.T) {
	t.Parallel()
	dir := bindtest.Node(t)
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal(err)
	}
	mark := "of-" + t.Name() + strconv.FormatInt(time.Now().UnixNano(), 36) // identifies the process
	server := filepath.Join(dir, "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	g := gatetest.New(t, `services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {timeout: 60s, mcp: {command: `+strconv.Quote(node)+`, args: [`+strconv.Quote(server)+`, stdio, `+mark+`], env: {PATH: /nowhere}}}
  intents: {"shop.example:order:v1": {proof: optional}}
`, func(g *gatetest.Gate) {
		g.Write("agents.json", toolIntents)
		g.Write("policy.json", toolPolicy)
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		g.Directory.End(ctx)
	})
	a := g.Agreed("agent-1")
	for n, door := range []string{"HTTP", "MCP", "A2A, JSON-RPC", "A2A, HTTP+JSON"} {
		w := ways[door]
		body := strings.ReplaceAll(w.numbered(a.Token, int64(n)), `"query":"lamp"`, `"message":"lamp"`)
		answer := g.Send(w.request(g, a.Token, strings.NewReader(body)))
		if !bytes.Contains(answer.Body, []byte("Echo: lamp")) {
			t.Errorf("%s: %s", door, answer.Body)
		}
	}
	body := strings.ReplaceAll(ways["HTTP"].body, `"query":"lamp"`, `"message":"lamp"`)
	g.Refuses(g.Send(ways["HTTP"].request(g, a.Token, strings.NewReader(body))), 429, "QUOTA_EXCEEDED")

	weather := g.Call("/api/intents/execute", a.Token, map[string]any{
		"intent_uid": "shop.example:weather:v1", "parameters": map[string]any{"location": "Chicago"},
	})
	if !bytes.Contains(weather.Body, []byte(`"temperature":36`)) {
		t.Errorf("weather: %s", weather.Body)
	}
	wait := func(seconds int) gatetest.Answer {
		return g.Call("/api/intents/execute", a.Token, map[string]any{
			"intent_uid": "shop.example:order:v1", "parameters": map[string]any{"duration": seconds, "steps": 1},
		})
	}
	if paid := wait(0); !strings.Contains(paid.Header.Get("UIM-Charge"), "state=captured") {
		t.Errorf("paid: %d %s %s", paid.Status, paid.Header.Get("UIM-Charge"), paid.Body)
	}
	for n, door := range []string{"MCP", "MCP, of clients with a handshake", "A2A, JSON-RPC", "A2A, HTTP+JSON", "A2A, a stream"} {
		limited := ways[door]
		beyond := instead(limited.numbered(a.Token, int64(n)+10), `"query":"lamp"`, `"message":"lamp"`)
		refused := g.Send(limited.request(g, a.Token, strings.NewReader(beyond)))
		if !bytes.Contains(refused.Body, []byte("QUOTA_EXCEEDED")) || bytes.Contains(refused.Body, []byte("Echo: lamp")) {
			t.Errorf("%s, beyond the limit: %s", door, refused.Body)
		}
		paid := limited
		paid.header = strings.Split(instead(strings.Join(limited.header, "\n"), "search_v1", "order_v1"), "\n")
		ordered := instead(limited.numbered(a.Token, int64(n)+20), `"query":"lamp"`, `"duration":0,"steps":1`, "search_v1", "order_v1",
			"shop.example:search:v1", "shop.example:order:v1")
		answer := g.Send(paid.request(g, a.Token, strings.NewReader(ordered)))
		charged, err := g.Store.Executions(t.Context(), store.Filter{State: store.Captured})
		g.Must(err)
		charged = slices.DeleteFunc(charged, func(e store.Execution) bool { return e.Charge.IsZero() })
		if !bytes.Contains(answer.Body, []byte("Long running operation completed")) || len(charged) != n+2 ||
			charged[0].Charge.String() != "0.25 EUR" {
			t.Errorf("%s, paid: %s; %d charges in all", door, answer.Body, len(charged))
		}
	}
	report := g.Directory.Current().Services()[0].Upstream
	report.CheckTools(t.Context())
	if r, _ := report.ToolsReport(); len(r.Misfits) != 0 || r.Unread != "" || r.Tools < 3 {
		t.Errorf("the report is %+v", r)
	}
	for n, door := range []string{"HTTP", "MCP", "A2A"} {
		lost := killWhileWorking(t, g, works[door].request(t, g, a.Token), mark)
		unresolved, err := g.Store.Executions(t.Context(), store.Filter{State: store.Unresolved})
		g.Must(err)
		if !strings.Contains(lost, works[door].lost) || strings.Contains(lost, "Long running operation completed") || len(unresolved) != n+1 {
			t.Errorf("%s, lost: %s; %d unresolved charges", door, lost, len(unresolved))
		}
		g.Refuses(wait(0), 502, "UPSTREAM_UNREACHABLE") // during the pause, the gateway sends and charges nothing
		g.Pass(time.Minute)
		if again := wait(0); !strings.Contains(again.Header.Get("UIM-Charge"), "state=captured") {
			t.Errorf("%s, after a restart: %d %s", door, again.Status, again.Body)
		}
	}
}

// works are calls that take 30 seconds and report their progress ten times a second.
var works = map[string]work{
	"HTTP": {
		path: "/api/intents/execute", header: map[string]string{"Accept": "text/event-stream"}, lost: `"state":"pending"`,
		body: `{"intent_uid":"shop.example:order:v1","parameters":{"duration":30,"steps":300}}`,
	},
	"MCP": {
		path: "/mcp", lost: "state=pending",
		header: map[string]string{"MCP-Protocol-Version": "2025-11-25", "Accept": "application/json, text/event-stream"},
		body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order_v1","arguments":{"duration":30,"steps":300},` +
			`"_meta":{"progressToken":"t"}}}`,
	},
	"A2A": {
		path: "/a2a", header: map[string]string{"A2A-Version": "1.0"}, lost: "TASK_STATE_FAILED",
		body: `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"lost","role":"ROLE_USER",` +
			`"parts":[{"data":{"intent_uid":"shop.example:order:v1","parameters":{"duration":30,"steps":300}}}]}}}`,
	},
}

// A work is a call with a stream as its response. lost is part of the response after the server was killed.
type work struct {
	path, body, lost string
	header           map[string]string
}

func (w work) request(t *testing.T, g *gatetest.Gate, token string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+w.path, strings.NewReader(w.body))
	g.Must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	for name, value := range w.header {
		r.Header.Set(name, value)
	}
	return r
}

// instead returns a text in which pairs of texts are replaced.
func instead(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }

// killWhileWorking kills the process of the server when it reports progress of a call, and returns the rest of the response.
func killWhileWorking(t *testing.T, g *gatetest.Gate, r *http.Request, mark string) string {
	t.Helper()
	resp, err := http.DefaultTransport.RoundTrip(r)
	g.Must(err)
	defer func() { _ = resp.Body.Close() }()
	in := bufio.NewReader(resp.Body)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("the response ends before there is progress: %q, %v", line, err)
		}
		if strings.Contains(line, `"progress":`) {
			break
		}
	}
	for pid := range strings.FieldsSeq(string(pgrep(mark))) {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
	rest, err := io.ReadAll(in)
	g.Must(err)
	return string(rest)
}

func pgrep(mark string) []byte {
	out, _ := exec.Command("pgrep", "-f", mark).Output()
	return out
}
