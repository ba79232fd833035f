package bindings_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A taskMessage is a response to tools/call or tasks/get.
type taskMessage struct {
	Result struct {
		ResultType, TaskID, Status, CreatedAt string
		TTLMs                                 int64
		Result                                toolResult
		toolResult
	}
	Error struct {
		Code    int
		Message string
	}
}

// taskRequest sends a request of a client that takes tasks, unless plain.
func taskRequest(g *gatetest.Gate, token, method, name, params string, plain bool) (a taskMessage, raw gatetest.Answer) {
	g.Helper()
	extensions := `"extensions":{"io.modelcontextprotocol/tasks":{}}`
	if plain {
		extensions = ""
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{%s}}}}`, method, params, extensions)
	header := []string{
		"Accept", "application/json, text/event-stream", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", method, "Mcp-Name", name,
	}
	if token != "" {
		header = append(header, "Authorization", "Bearer "+token)
	}
	raw = g.Post("/mcp", body, append(header, "Content-Type", "application/json")...)
	if err := json.Unmarshal(raw.Body, &a); err != nil {
		g.Fatalf("%v in %s", err, raw.Body)
	}
	return a, raw
}

// blocking is an upstream that responds when release is closed.
func blocking(release <-chan struct{}, status int, answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}
}

func TestALongCallBecomesATask(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		answer  string
		isError bool
		charge  string
	}{
		"done":   {http.StatusOK, `{"order":7}`, false, "state=captured"},
		"failed": {http.StatusBadRequest, `{"message":"sold out"}`, true, "state=released"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := gatetest.New(t, "")
			release := make(chan struct{})
			g.Upstream = blocking(release, c.status, c.answer)
			a, other := g.Agreed("agent-1"), g.Agreed("agent-2")
			made, raw := taskRequest(g, a.Token, "tools/call", "order_v1", `"name":"order_v1","arguments":{"product":"lamp"}`, false)
			id := made.Result.TaskID
			if made.Result.ResultType != "task" || id == "" || made.Result.Status != "working" || made.Result.TTLMs != 86_400_000 {
				t.Fatalf("got %s", raw.Body)
			}
			get := func(token string, plain bool) (taskMessage, gatetest.Answer) {
				return taskRequest(g, token, "tasks/get", id, fmt.Sprintf(`"taskId":%q`, id), plain)
			}
			if now, raw := get(a.Token, false); now.Result.Status != "working" || now.Result.ResultType != "complete" {
				t.Errorf("meanwhile: %s", raw.Body)
			}
			if _, raw := get(other.Token, false); !strings.Contains(string(raw.Body), "-32602") {
				t.Errorf("for another agent: %s", raw.Body)
			}
			if now, raw := get(a.Token, true); now.Error.Code != -32021 || raw.Status != http.StatusBadRequest {
				t.Errorf("without the extension: %d %s", raw.Status, raw.Body)
			}
			if _, raw := taskRequest(g, a.Token, "tasks/cancel", id, fmt.Sprintf(`"taskId":%q`, id), false); raw.Status != http.StatusOK {
				t.Errorf("cancel: %d %s", raw.Status, raw.Body)
			}
			if r := g.Post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"x","_meta":{`+
				`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
				"Content-Type", "application/json", "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tasks/get",
				"Mcp-Name", "x"); r.Status != http.StatusUnauthorized {
				t.Errorf("without a PAT: %d %s", r.Status, r.Body)
			}
			close(release)
			var end taskMessage
			for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if end, raw = get(a.Token, false); end.Result.Status != "working" {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("after 30 s: %s", raw.Body)
				}
			}
			charge, _ := end.Result.Result.Meta["UIM-Charge"].(string)
			if end.Result.Status != "completed" || end.Result.Result.IsError != c.isError || !strings.Contains(charge, c.charge) {
				t.Errorf("at the end: %s", raw.Body)
			}
			if !c.isError && end.Result.Result.Structured["order"] != 7.0 {
				t.Errorf("the result is %s", raw.Body)
			}
		})
	}
}

// A short call of a client that takes tasks has its result at once, and a client that does not take them never receives one.
func TestTasksAreOnlyForLongCallsOfClientsThatTakeThem(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	for _, plain := range []bool{false, true} {
		got, raw := taskRequest(g, a.Token, "tools/call", "search_v1", `"name":"search_v1","arguments":{"query":"lamp"}`, plain)
		if got.Result.ResultType != "complete" || got.Result.Structured["ok"] != true {
			t.Errorf("plain %v: %s", plain, raw.Body)
		}
	}
	if got, raw := taskRequest(g, a.Token, "tasks/get", "none", `"taskId":"none"`, false); got.Error.Code != -32602 {
		t.Errorf("an unknown task: %s", raw.Body)
	}
}

// The events of a stream are the messages of progress notifications.
func TestEventsOfAStreamAreProgress(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, "", func(g *gatetest.Gate) {
		g.Write("agents.json", strings.Replace(gatetest.AgentsFile, `"intent_name": "Search",`, `"intent_name": "Search", "stream": true,`, 1))
	})
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: {\"lamp\":1}\n\ndata: {\"lamp\":2}\n\n")
	}
	r := g.Post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_v1","arguments":{"query":"lamp"},`+
		`"_meta":{"progressToken":"p"}}}`, "Content-Type", "application/json", "Accept", "application/json, text/event-stream",
		"MCP-Protocol-Version", "2025-11-25", "Authorization", "Bearer "+g.Agreed("agent-1").Token)
	for _, want := range []string{`"message":"{\"lamp\":1}"`, `"message":"{\"lamp\":2}"`, `"structuredContent":{"events":[{"lamp":1},{"lamp":2}],"complete":true}`} {
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("the answer lacks %s: %s", want, r.Body)
		}
	}
}
