package bindings_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func TestDocuments(t *testing.T) {
	g := gatetest.New(t, "")
	for path, row := range map[string]struct {
		kind string
		says []string
	}{
		"/.well-known/ai-catalog.json": {"application/ai-catalog+json", []string{
			`"specVersion":"1.0"`, `"urn:air:shop.example:mcp:default"`, `"type":"application/mcp-server-card+json"`, `/mcp/server-card"`, `"tags":["uim"]`,
		}},
		"/.well-known/api-catalog": {`application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"`, []string{
			`"linkset":[{"anchor":"http://127.0.0.1:8080/api/intents/execute"`, `"service-desc":[{"href":"http://127.0.0.1:8080/openapi.json"`,
		}},
		"/mcp/server-card": {"application/mcp-server-card+json", []string{
			`"name":"example.shop/default"`, `"remotes":[{"type":"streamable-http","url":"http://127.0.0.1:8080/mcp"`, `"description":"A shop"`,
		}},
		"/.well-known/mcp/server-card.json": {"application/mcp-server-card+json", []string{`"name":"example.shop/default"`}},
	} {
		got := g.Get(path, "Host", "evil.example")
		if got.Status != http.StatusOK || got.Header.Get("Content-Type") != row.kind || !json.Valid(got.Body) {
			t.Errorf("%s: %d %s %s", path, got.Status, got.Header.Get("Content-Type"), got.Body)
		}
		for _, want := range row.says {
			if !strings.Contains(string(got.Body), want) {
				t.Errorf("%s: %s lacks %s", path, got.Body, want)
			}
		}
		if strings.Contains(string(got.Body), "evil") {
			t.Errorf("%s: %s", path, got.Body)
		}
		if again := g.Get(path, "If-None-Match", got.Header.Get("ETag")); again.Status != http.StatusNotModified {
			t.Errorf("%s again: %d, want %d", path, again.Status, http.StatusNotModified)
		}
		g.Refuses(g.Call(path, "", map[string]any{}), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, g.URL+"/.well-known/api-catalog", nil)
	g.Must(err)
	if got := g.Send(r); got.Status != http.StatusOK || !strings.Contains(got.Header.Get("Link"), `rel="api-catalog"`) || len(got.Body) > 0 {
		t.Errorf("HEAD: %d %v", got.Status, got.Header)
	}
	if got := g.Get("/"); !strings.Contains(strings.Join(got.Header.Values("Link"), ","), `</.well-known/ai-catalog.json>; rel="ai-catalog"`) {
		t.Errorf("/ links to %v", got.Header.Values("Link"))
	}
}

// TestClosedDoorsAreNotAnnounced checks that the documents omit closed doors.
func TestClosedDoorsAreNotAnnounced(t *testing.T) {
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+
		"doors: {mcp: {enabled: false}, a2a: {enabled: false}}}\n")
	for _, path := range []string{"/.well-known/ai-catalog.json", "/.well-known/api-catalog"} {
		if got := g.Get(path); strings.Contains(string(got.Body), "mcp") || strings.Contains(string(got.Body), "agent-card") {
			t.Errorf("%s: %s", path, got.Body)
		}
	}
	for _, path := range []string{"/mcp/server-card", "/.well-known/mcp/server-card.json", "/server-card"} {
		g.Refuses(g.Get(path), http.StatusNotFound, "NO_SUCH_PATH")
	}
}
