package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/agent/verify"
)

// A service may differ from ours within the specification. verify reports no fault.
func TestDoorVariants(t *testing.T) {
	t.Parallel()
	g := startGate(t, 100_000, passing)
	for name, tt := range map[string]struct {
		between func(string) http.Handler
		check   string
		outcome verify.Outcome
		detail  string
	}{
		"no doors": {func(gateway string) http.Handler {
			next := onBoth(func(m map[string]any) { delete(m, "uim-mcp"); delete(m, "uim-a2a") })(gateway)
			gone := absent("/.well-known/ai-catalog.json", "/.well-known/api-catalog", "/.well-known/mcp/server-card.json")(gateway)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/.well-known/a") && !strings.HasSuffix(r.URL.Path, "/agents.json") ||
					strings.HasPrefix(r.URL.Path, "/.well-known/mcp/") {
					gone.ServeHTTP(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
		}, "mcp-url", verify.Skipped, "not offered: agents.json names no uim-mcp"},
		"an open MCP server": {func(gateway string) http.Handler {
			next := passing(gateway)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == mcpPath && r.Header.Get("Authorization") == "" {
					body := readAll(t, r)
					w.Header().Set("Content-Type", "application/json")
					id := idMember.FindString(body)
					_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", %s, "result": {"tools": []}}`, id)
					return
				}
				next.ServeHTTP(w, r)
			})
		}, "mcp-endpoint", verify.Holds, "it accepts messages without a token"},
		"an MCP server with a handshake": {
			onMessage(mcpPath, "server/discover", members(func(m map[string]any) {
				delete(m, "result")
				m["error"] = map[string]any{"code": -32601, "message": "Method not found"}
			})),
			"mcp-discover", verify.Holds, "2025-11-25",
		},
		"an MCP server that streams": {onMessage(mcpPath, "tools/list", only(http.StatusOK, func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			r.Header.Set("Content-Type", "text/event-stream")
			const before = "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\r\n\r\n"
			replaced(r, []byte(before+"data: "+string(body)+"\r\n\r\n"))
			return err
		})), "mcp-tools", verify.Holds, "3"},
		"tools by uid": {
			results(mcpPath, "tools/list", func(m map[string]any) {
				aTool(m)["name"] = "r"
			}),
			"mcp-intents", verify.Holds, "",
		},
		"a wrong parameter is a rejected task": {
			onMessage(a2aPath, "SendMessage", members(func(m map[string]any) {
				inner, ok := m["error"].(map[string]any)
				if !ok {
					return
				}
				info := inner["data"].([]any)[0].(map[string]any)
				delete(m, "error")
				refusal := map[string]any{"error": map[string]any{"code": "X", "details": map[string]any{"reason": info["metadata"].(map[string]any)["reason"]}}}
				m["result"] = map[string]any{"task": map[string]any{"id": "x", "status": map[string]any{
					"state":   "TASK_STATE_REJECTED",
					"message": map[string]any{"parts": []any{map[string]any{"text": "No."}, map[string]any{"data": refusal}}},
				}}}
			})),
			"a2a-refused", verify.Holds, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := g.found(t, tt.between, nil)
			if c := find(t, r, tt.check); c.Outcome != tt.outcome || c.Detail != tt.detail {
				t.Errorf("got %+v; want Outcome %v and Detail %v", c, tt.outcome, tt.detail)
			}
		})
	}
}

var idMember = regexp.MustCompile(`"id":"[^"]*"`)
