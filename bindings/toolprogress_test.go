package bindings_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// reportingServer is a server of MCP 2026-07-28 whose tool reports its progress twice if it is asked to. seen receives the params of each
// call.
func reportingServer(t *testing.T, seen chan<- string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Meta map[string]json.RawMessage `json:"_meta"`
			}
		}
		body, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(body, &m)
		if m.Method != "tools/call" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}`, m.ID)
			return
		}
		token := string(m.Params.Meta["progressToken"])
		seen <- token
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(message string) {
			_, _ = fmt.Fprintf(w, "data: %s\n\n", message)
			_ = http.NewResponseController(w).Flush()
		}
		const note = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,%s}}`
		if token != "" {
			send(fmt.Sprintf(note, token, `"progress":0.5,"total":2.50,"message":"half with sesame-1234"`))
			send(fmt.Sprintf(note, token, `"progress":1,"total":2.50,"message":"Schritt 2"`))
		}
		send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[],"structuredContent":{"steps":2}}}`, m.ID))
	}))
	t.Cleanup(s.Close)
	return s
}

func TestProgressOfAToolServer(t *testing.T) { // its parts share a server, one after the other
	seen := make(chan string, 10)
	server := reportingServer(t, seen)
	g := gatetest.New(t, `services:
- agents_file: agents.json
  policy_file: policy.json
  upstream: {mcp: {url: `+server.URL+`/mcp}, auth: {headers: {X-Key: sesame-1234}}}
  intents: {"shop.example:order:v1": {proof: optional}}
`, func(g *gatetest.Gate) {
		g.Write("agents.json", toolIntents)
		g.Write("policy.json", toolPolicy)
	})
	a := g.Agreed("agent-1")
	const call = `{"intent_uid":"shop.example:order:v1","parameters":{"duration":1,"steps":2}}`
	const tool = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order_v1","arguments":{"duration":1,"steps":2}%s}}`
	const task = `{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"data":%s}]}}}`
	post := func(path, body string, header ...string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+path, strings.NewReader(body))
		g.Must(err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+a.Token)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		return string(g.Send(r).Body)
	}
	events := []string{"Accept", "application/json, text/event-stream"}
	mcp := append([]string{"MCP-Protocol-Version", "2025-11-25"}, events...)
	for name, c := range map[string]struct {
		answer func() string
		asked  bool
		want   []string // in this order
		not    string
	}{
		"HTTP": {
			answer: func() string { return post("/api/intents/execute", call, events...) }, asked: true,
			want: []string{
				"event: progress\ndata: {\"progress\":0.5,\"total\":2.50}\n\n",
				"event: progress\ndata: {\"message\":\"Schritt 2\",\"progress\":1,\"total\":2.50}\n\n",
				"event: output\ndata: {\"steps\":2}\n\n", "event: end\ndata: {", `"UIM-Charge":"0.25 EUR;`,
			},
		},
		"HTTP, no stream": {answer: func() string { return post("/api/intents/execute", call) }, want: []string{`{"steps":2}`}, not: "event"},
		"MCP": {
			answer: func() string { return post("/mcp", fmt.Sprintf(tool, `,"_meta":{"progressToken":"t-1"}`), mcp...) }, asked: true,
			want: []string{
				`"params":{"progress":0.5,"progressToken":"t-1","total":2.50}`,
				`"params":{"message":"Schritt 2","progress":1,"progressToken":"t-1","total":2.50}`, `"structuredContent":{"steps":2}`, `"UIM-Charge":"0.25 EUR;`,
			},
		},
		"MCP, no token": {
			answer: func() string { return post("/mcp", fmt.Sprintf(tool, ""), mcp...) }, want: []string{`"structuredContent":{"steps":2}`}, not: "progress",
		},
		"A2A": {
			answer: func() string { return post("/a2a", fmt.Sprintf(task, call), "A2A-Version", "1.0") }, asked: true,
			want: []string{
				`"data":{"progress":0.5,"total":2.50}`, `"data":{"message":"Schritt 2","progress":1,"total":2.50}`, `"data":{"steps":2}`, "TASK_STATE_COMPLETED",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.answer()
			rest := got
			for _, want := range c.want {
				_, after, found := strings.Cut(rest, want)
				if !found {
					t.Fatalf("after the first parts, %s is missing from\n%s", want, got)
				}
				rest = after
			}
			if c.not != "" && strings.Contains(got, c.not) || strings.Contains(got, "sesame") {
				t.Errorf("got %s", got)
			}
			if token := <-seen; (token != "") != c.asked {
				t.Errorf("the server received the token %q", token)
			}
		})
	}
	if used := g.Call("/api/intents/execute", a.Token, json.RawMessage(call)); !bytes.Equal(bytes.TrimSpace(used.Body), []byte(`{"steps":2}`)) {
		t.Errorf("got %s", used.Body)
	}
}
