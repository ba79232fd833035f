package agent_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
)

// Each of these services is our gateway with one fault in a protocol other than UIM.
func TestDoorFaults(t *testing.T) {
	t.Parallel()
	g := startGate(t, 100_000, passing)
	t.Cleanup(func() {
		if n := g.other.Load(); n != 0 {
			t.Errorf("%d calls to intents that are not safe reached the upstream", n)
		}
	})
	const resource, server = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"
	const aiCatalog, apiCatalog, serverCard = "/.well-known/ai-catalog.json", "/.well-known/api-catalog", "/.well-known/mcp/server-card.json"
	for name, tt := range map[string]struct {
		between func(string) http.Handler
		want    []string
	}{
		"MCP at another address": {
			onBoth(func(m map[string]any) { m["uim-mcp"] = "https://other.example/mcp" }),
			[]string{"mcp-url", "server-card"},
		},
		"MCP is not a text": {onBoth(func(m map[string]any) { m["uim-mcp"] = 7 }), []string{"mcp-url"}},
		"MCP not found":     {absent(mcpPath), []string{"mcp-endpoint"}},
		"MCP redirects": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == mcpPath {
				http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			}
			return r.URL.Path == mcpPath
		}), []string{"mcp-endpoint"}},
		"MCP responds with a page": {instead(func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == mcpPath {
				_, _ = w.Write([]byte("<html>"))
			}
			return r.URL.Path == mcpPath
		}), []string{"mcp-endpoint"}},
		"a challenge without metadata": {onPath(mcpPath, header("WWW-Authenticate", `Bearer realm="x"`)), []string{"mcp-challenge"}},
		"metadata at another address": {
			onPath(mcpPath, header("WWW-Authenticate", `Bearer realm="x", resource_metadata="https://other.example/x"`)),
			[]string{"mcp-resource"},
		},
		"metadata of another resource": {
			document(resource+mcpPath, func(m map[string]any) { m["resource"] = "https://other.example/mcp" }),
			[]string{"mcp-resource"},
		},
		"no authorization server": {
			document(resource+mcpPath, func(m map[string]any) { m["authorization_servers"] = []any{} }),
			[]string{"mcp-resource"},
		},
		"metadata at the root of another resource": {
			document(resource, func(m map[string]any) { m["resource"] = "https://other.example/mcp" }),
			[]string{"mcp-resource-paths"},
		},
		"no server metadata": {absent(server), []string{"mcp-authorization"}},
		"metadata of another issuer": {
			document(server, func(m map[string]any) { m["issuer"] = "https://other.example" }),
			[]string{"mcp-authorization"},
		},
		"tokens over http": {
			document(server, func(m map[string]any) { m["token_endpoint"] = "http://other.example/token" }),
			[]string{"mcp-authorization"},
		},
		"no PKCE": {
			document(server, func(m map[string]any) { delete(m, "code_challenge_methods_supported") }),
			[]string{"mcp-pkce"},
		},
		"plain PKCE": {
			document(server, func(m map[string]any) { m["code_challenge_methods_supported"] = []any{"plain"} }),
			[]string{"mcp-pkce"},
		},
		"MCP rejects the PAT": {func(gateway string) http.Handler {
			next := passing(gateway)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == mcpPath {
					r.Header.Del("Authorization")
				}
				next.ServeHTTP(w, r)
			})
		}, []string{"mcp-call", "mcp-refused", "mcp-unknown-tool", "mcp-revoked"}},
		"no revisions": {
			results(mcpPath, "server/discover", func(m map[string]any) { m["supportedVersions"] = []any{} }),
			[]string{"mcp-discover"},
		},
		"no tools announced": {
			results(mcpPath, "server/discover", func(m map[string]any) { m["capabilities"] = map[string]any{} }),
			[]string{"mcp-discover"},
		},
		"another id": {
			onMessage(mcpPath, "tools/list", members(func(m map[string]any) { m["id"] = "mine" })),
			[]string{"mcp-tools"},
		},
		"foreign origins": {func(gateway string) http.Handler {
			next := passing(gateway)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r.Header.Del("Origin")
				next.ServeHTTP(w, r)
			})
		}, []string{"mcp-origin"}},
		"an endless list": {func(gateway string) http.Handler {
			next := results(mcpPath, "tools/list", func(m map[string]any) {
				m["nextCursor"], m["tools"] = "again", []any{}
			})(gateway)
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if body := readAll(t, r); strings.Contains(body, `"again"`) {
					changed := strings.Replace(body, `"cursor":"again",`, "", 1)
					changed = strings.Replace(changed, `,"cursor":"again"`, "", 1)
					r.Body, r.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
				}
				next.ServeHTTP(w, r)
			})
		}, []string{"mcp-tools"}},
		"duplicate tool": {
			results(mcpPath, "tools/list", func(m map[string]any) { m["tools"] = append(m["tools"].([]any), aTool(m)) }),
			[]string{"mcp-tools"},
		},
		"a name with spaces": {
			results(mcpPath, "tools/list", func(m map[string]any) { aTool(m)["name"] = "a report" }),
			[]string{"mcp-tool-names"},
		},
		"a schema with a remote reference": {
			results(mcpPath, "tools/list", func(m map[string]any) {
				aTool(m)["inputSchema"].(map[string]any)["$ref"] = "https://other.example/schema"
			}),
			[]string{"mcp-tool-schemas"},
		},
		"a schema of a list": {
			results(mcpPath, "tools/list", func(m map[string]any) { aTool(m)["inputSchema"].(map[string]any)["type"] = "array" }),
			[]string{"mcp-tool-schemas"},
		},
		"a tool of other parameters": {
			results(mcpPath, "tools/list", func(m map[string]any) {
				aTool(m)["inputSchema"].(map[string]any)["properties"] = map[string]any{"x": map[string]any{}}
			}),
			[]string{"mcp-intents"},
		},
		"an intent that is not a tool": {
			results(mcpPath, "tools/list", func(m map[string]any) {
				m["tools"] = slices.DeleteFunc(m["tools"].([]any), func(v any) bool { return v.(map[string]any)["name"] == "report_v1" })
			}),
			[]string{"mcp-intents"},
		},
		"a tool that is not an intent": {
			results(mcpPath, "tools/list", func(m map[string]any) {
				m["tools"] = append(m["tools"].([]any), map[string]any{"name": "other", "inputSchema": map[string]any{"type": "object"}})
			}),
			[]string{"mcp-intents"},
		},
		"a tool without its output": {
			results(mcpPath, "tools/call", func(m map[string]any) {
				if m["isError"] == nil {
					m["structuredContent"] = map[string]any{}
				}
			}),
			[]string{"mcp-call"},
		},
		"a tool that fails": {
			results(mcpPath, "tools/call", func(m map[string]any) { m["isError"] = true }),
			[]string{"mcp-call"},
		},
		"separate MCP limit": {onMessage(mcpPath, "tools/call", uncounted), []string{"mcp-limits"}},
		"a refusal that looks like success": {
			results(mcpPath, "tools/call", func(m map[string]any) { delete(m, "isError") }),
			[]string{"mcp-refused"},
		},
		"a refusal for another reason": {
			results(mcpPath, "tools/call", func(m map[string]any) {
				for _, item := range m["content"].([]any) {
					block := item.(map[string]any)
					block["text"] = reasonMember.ReplaceAllString(block["text"].(string), `"reason":"POLICY_VIOLATION"`)
				}
			}),
			[]string{"mcp-refused"},
		},
		"another error for an unknown tool": {
			failed(mcpPath, "tools/call", func(m map[string]any) { m["code"] = -32603 }),
			[]string{"mcp-unknown-tool"},
		},

		"A2A at another address": {
			onBoth(func(m map[string]any) { m["uim-a2a"] = "https://other.example/a2a" }),
			[]string{"a2a-url", "ai-catalog"},
		},
		"no agent card":             {absent(cardPath), []string{"a2a-card", "ai-catalog", "api-catalog"}},
		"a card without skills":     {document(cardPath, func(m map[string]any) { m["skills"] = []any{} }), []string{"a2a-card"}},
		"a card without signatures": {document(cardPath, func(m map[string]any) { delete(m, "signatures") }), []string{"a2a-signed"}},
		"a changed card":            {document(cardPath, func(m map[string]any) { m["description"] = "Ours." }), []string{"a2a-signatures"}},
		"a card of unknown keys": {
			document("/.well-known/jwks.json", func(m map[string]any) { m["keys"] = []any{} }),
			[]string{"jwks", "a2a-signatures"},
		},
		"a card of another endpoint": {
			document(cardPath, func(m map[string]any) {
				m["supportedInterfaces"].([]any)[0].(map[string]any)["url"] = "https://other.example/a2a"
			}),
			[]string{"a2a-interfaces", "a2a-signatures"},
		},
		"a skill that is not an intent": {
			document(cardPath, func(m map[string]any) { m["skills"].([]any)[0].(map[string]any)["id"] = "shop.example:other:v1" }),
			[]string{"a2a-skills", "a2a-signatures"},
		},
		"A2A without a challenge": {onPath(a2aPath, header("WWW-Authenticate", "")), []string{"a2a-challenge"}},
		"another error for an unknown task": {
			failed(a2aPath, "GetTask", func(m map[string]any) {
				if fmt.Sprint(m["code"]) == "-32001" {
					m["code"] = -32603
				}
			}),
			[]string{"a2a-task-unknown"},
		},
		"invented task": {
			onMessage(a2aPath, "GetTask", only(http.StatusOK, members(func(m map[string]any) {
				delete(m, "error")
				m["result"] = map[string]any{"id": "x", "status": map[string]any{"state": "TASK_STATE_COMPLETED"}}
			}))),
			[]string{"a2a-task-unknown"},
		},
		"every version is accepted": {
			failed(a2aPath, "GetTask", func(m map[string]any) {
				if fmt.Sprint(m["code"]) == "-32009" {
					m["code"] = -32001
				}
			}),
			[]string{"a2a-version"},
		},
		"a task that fails": {
			results(a2aPath, "SendMessage", func(m map[string]any) {
				m["task"].(map[string]any)["status"].(map[string]any)["state"] = "TASK_STATE_FAILED"
			}),
			[]string{"a2a-call"},
		},
		"a task without its output": {
			results(a2aPath, "SendMessage", func(m map[string]any) { m["task"].(map[string]any)["artifacts"] = []any{} }),
			[]string{"a2a-call"},
		},
		"separate A2A limit": {onMessage(a2aPath, "SendMessage", uncounted), []string{"a2a-limits"}},
		"an error without a reason": {
			failed(a2aPath, "SendMessage", func(m map[string]any) { delete(m, "data") }),
			[]string{"a2a-refused"},
		},
		"wrong parameter is accepted": {
			onMessage(a2aPath, "SendMessage", members(func(m map[string]any) {
				if m["error"] != nil {
					delete(m, "error")
					m["result"] = map[string]any{"task": map[string]any{"id": "x", "status": map[string]any{"state": "TASK_STATE_COMPLETED"}}}
				}
			})),
			[]string{"a2a-refused"},
		},

		"invalid address": {
			onBoth(func(m map[string]any) { m["uim-uagents"] = "fetch1w508d6qejxtdg4y5r3zarvary0c5xw7kfq77d0" }),
			[]string{"uagents-url"},
		},
		"envelopes at another address": {
			onBoth(func(m map[string]any) { m["uim-uagents-endpoint"] = "https://other.example/submit" }),
			[]string{"uagents-url"},
		},
		"an agent that is never ready": {onPath(envelopePath, header("X-Uagents-Status", "not-ready")), []string{"uagents-here"}},
		"envelopes without replies":    {absent(envelopePath), []string{"uagents-here", "uagents-answers"}},
		"changed replies": {
			onPath(envelopePath, posted(func(m map[string]any) {
				if m["session"] != nil {
					m["session"] = "6b0c1b3e-7d5a-4c6e-9f10-2a3b4c5d6e7f"
				}
			})),
			[]string{"uagents-answers"},
		},
		"unsigned replies": {
			onPath(envelopePath, posted(func(m map[string]any) {
				if m["signature"] != nil {
					m["signature"] = nil
				}
			})),
			[]string{"uagents-answers"},
		},
		"address of another agent": {
			onBoth(func(m map[string]any) {
				m["uim-uagents"] = "agent1qvjjle8dlf22ff7zsh6wr3gl8tdepzygftdxpc2vn8539ngt962a709c90s"
			}),
			[]string{"uagents-here", "uagents-answers"},
		},
		"forged envelope is accepted": {
			onPath(envelopePath, only(http.StatusBadRequest, func(r *http.Response) error {
				r.StatusCode = http.StatusOK
				return nil
			})),
			[]string{"uagents-forged"},
		},
		"an expired envelope is answered": {
			onPath(envelopePath, posted(func(m map[string]any) {
				if m["schema_digest"] == string(protocol.Standard("ErrorMessage").Digest) {
					m["schema_digest"] = string(protocol.Standard("UIMPolicy").Digest)
				}
			})),
			[]string{"uagents-expired"},
		},

		"another error over HTTP+JSON": {
			onPath("/a2a/v1/tasks/00000000-0000-7000-8000-000000000000", members(func(m map[string]any) {
				m["error"].(map[string]any)["details"] = []any{}
			})),
			[]string{"a2a-http"},
		},
		"HTTP+JSON not served":     {absent("/a2a/v1/tasks/00000000-0000-7000-8000-000000000000"), []string{"a2a-http"}},
		"MCP accepts expired PATs": {afterwards(mcpPath), []string{"mcp-revoked"}},
		"A2A accepts expired PATs": {afterwards(a2aPath), []string{"a2a-revoked"}},

		"an AI catalog of another agent": {
			document(aiCatalog, func(m map[string]any) {
				for _, item := range m["entries"].([]any) {
					if e := item.(map[string]any); e["type"] == "application/a2a-agent-card+json" {
						e["url"] = g.url + "/agents.json"
					}
				}
			}),
			[]string{"ai-catalog"},
		},
		"an AI catalog of both kinds": {
			document(aiCatalog, func(m map[string]any) { m["entries"].([]any)[0].(map[string]any)["data"] = map[string]any{} }),
			[]string{"ai-catalog"},
		},
		"an AI catalog that leads nowhere": {
			document(aiCatalog, func(m map[string]any) { m["entries"].([]any)[0].(map[string]any)["url"] = g.url + "/no-such-card" }),
			[]string{"ai-catalog"},
		},
		"an API catalog that leads nowhere": {
			document(apiCatalog, func(m map[string]any) {
				m["linkset"].([]any)[0].(map[string]any)["service-doc"] = []any{map[string]any{"href": "/no-such-page"}}
			}),
			[]string{"api-catalog"},
		},
		"an API catalog with text for links": {
			document(apiCatalog, func(m map[string]any) { m["linkset"].([]any)[0].(map[string]any)["service-doc"] = "docs" }),
			[]string{"api-catalog"},
		},
		"invalid API catalog": {onPath(apiCatalog, html200), []string{"api-catalog"}},
		"a long server card": {
			document(serverCard, func(m map[string]any) { m["description"] = strings.Repeat("é", 101) }),
			[]string{"server-card"},
		},
		"a server card of another endpoint": {
			document(serverCard, func(m map[string]any) {
				m["remotes"].([]any)[0].(map[string]any)["url"] = "https://other.example/mcp"
			}),
			[]string{"server-card"},
		},

		"door reveals internals": {
			failed(mcpPath, "tools/list", func(m map[string]any) { m["message"] = stack }),
			[]string{"error-internals"},
		},
		"a door that fails": {
			onMessage(a2aPath, "GetTask", func(r *http.Response) error {
				r.StatusCode = http.StatusInternalServerError
				replaced(r, []byte(`{"error": "sorry"}`))
				return nil
			}),
			[]string{"error-failures"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g.found(t, tt.between, tt.want)
		})
	}
}
