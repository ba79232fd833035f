package agent_test

import (
	"context"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent/verify"
)

// verify works with a server of the official MCP SDK, with and without sessions, and finds what it lacks: the server does not check
// Origin, and its errors do not state the same reason as over HTTP.
func TestOfficialMCPServer(t *testing.T) {
	t.Parallel()
	g := startGate(t, 100_000, passing)
	const all = "2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"
	for name, tt := range map[string]struct {
		options mcp.StreamableHTTPOptions
		speaks  string
	}{
		"every request alone":         {mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true}, all},
		"alone, with streams":         {mcp.StreamableHTTPOptions{Stateless: true}, all},
		"sessions, after a handshake": {mcp.StreamableHTTPOptions{}, "2025-11-25"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := mcp.NewServer(&mcp.Implementation{Name: "theirs", Version: "1"}, nil)
			for tool, properties := range map[string]map[string]any{
				"search-products_v1": {"query": map[string]any{"type": "string", "minLength": 2}, "page": map[string]any{"type": "integer"}},
				"report_v1":          {}, "place-order_v1": {"product_id": map[string]any{"type": "string"}},
			} {
				schema := map[string]any{"type": "object", "properties": properties}
				server.AddTool(&mcp.Tool{Name: tool, InputSchema: schema}, lamps)
			}
			handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &tt.options)
			r := g.found(t, instead(func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == mcpPath {
					handler.ServeHTTP(w, r)
				}
				return r.URL.Path == mcpPath
			}), []string{"mcp-origin", "mcp-refused"})
			if c := find(t, r, "mcp-discover"); c.Detail != tt.speaks {
				t.Errorf("got %+v, want Detail %v", c, tt.speaks)
			}
			for _, id := range []string{"mcp-endpoint", "mcp-tools", "mcp-tool-schemas", "mcp-intents", "mcp-call", "mcp-unknown-tool"} {
				if c := find(t, r, id); c.Outcome != verify.Holds {
					t.Errorf("got %+v, want Outcome %v", c, verify.Holds)
				}
			}
		})
	}
}

// lamps is a tool that returns no products, and an error for every query other than "lamp".
func lamps(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if string(r.Params.Arguments) != `{"query":"lamp"}` {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "No."}}}, nil
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: `{"products": [], "total": 0}`}}}, nil
}

// verify works with an agent of the official A2A SDK, and finds what it lacks: the agent does not check the version, and rejects a task
// without the reason that HTTP states.
func TestOfficialA2AServer(t *testing.T) {
	t.Parallel()
	g := startGate(t, 100_000, passing)
	agent := a2asrv.NewHandler(lampAgent{})
	rpc, rest := a2asrv.NewJSONRPCHandler(agent), http.StripPrefix(a2aPath+"/v1", a2asrv.NewRESTHandler(agent))
	r := g.found(t, instead(func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == a2aPath:
			rpc.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, a2aPath+"/v1/"):
			rest.ServeHTTP(w, r)
		default:
			return false
		}
		return true
	}), []string{"a2a-refused", "a2a-version"})
	for _, id := range []string{"a2a-task-unknown", "a2a-call", "a2a-http"} {
		if c := find(t, r, id); c.Outcome != verify.Holds {
			t.Errorf("got %+v, want Outcome %v", c, verify.Holds)
		}
	}
}

// lampAgent finds a lamp and rejects every other query.
type lampAgent struct{}

func (lampAgent) Execute(_ context.Context, c *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		call, _ := c.Message.Parts[0].Data().(map[string]any)
		parameters, _ := call["parameters"].(map[string]any)
		if !yield(a2a.NewSubmittedTask(c, c.Message), nil) {
			return
		}
		if len(parameters) != 1 || parameters["query"] != "lamp" {
			yield(a2a.NewStatusUpdateEvent(c, a2a.TaskStateRejected, nil), nil)
			return
		}
		if yield(a2a.NewArtifactEvent(c, a2a.NewDataPart(map[string]any{"products": []any{"lamp"}, "total": 1})), nil) {
			yield(a2a.NewStatusUpdateEvent(c, a2a.TaskStateCompleted, nil), nil)
		}
	}
}

func (lampAgent) Cancel(context.Context, *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(func(a2a.Event, error) bool) {}
}
