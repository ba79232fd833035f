package bindings_test

import (
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// TestTrailingSlash checks that a slash at the end of the path does not change the endpoint of a door.
func TestTrailingSlash(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, doors: {uagents: {}}}\n")
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"lamps":1}`)) }
	a := g.AgreedInEnvelope(seed)
	all := map[string]way{"uAgents": inEnvelope(g)}
	for name, w := range ways {
		if !strings.HasPrefix(name, "HTTP") {
			all[name] = w
		}
	}
	number := int64(0)
	for name, w := range all {
		w.path += "/"
		number++
		if answer := string(w.send(g, http.DefaultClient, a.Token, number)); !strings.Contains(answer, w.done) {
			t.Errorf("%s: %s, want a text that contains %q", name, answer, w.done)
		}
	}
	for _, path := range []string{
		"/.well-known/agent-card.json", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp", "/mcp/server-card",
	} {
		if answer := g.Get(path + "/"); answer.Status != http.StatusOK || string(answer.Body) != string(g.Get(path).Body) {
			t.Errorf("%s: %d %.200s", path, answer.Status, answer.Body)
		}
	}
	for _, path := range []string{"/mcp//", "//", "/no/such/path/"} {
		if answer := g.Get(path); answer.Status != http.StatusNotFound {
			t.Errorf("%s: got %d %.200s; want %v", path, answer.Status, answer.Body, http.StatusNotFound)
		}
	}
}
