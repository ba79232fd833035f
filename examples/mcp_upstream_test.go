package examples_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// TestTermsInFrontOfAnMCPServer runs the example mcp-upstream: its tools have the limit and the price of its policy, and report progress.
func TestTermsInFrontOfAnMCPServer(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		if os.Getenv("UIMGATE_REQUIRE_LANGUAGES") == "1" {
			t.Fatal("install Node.js")
		}
		t.Skip("NOT TESTED: Node.js is not installed")
	}
	server, err := filepath.Abs("mcp-upstream/server.mjs")
	if err != nil {
		t.Fatal(err)
	}
	settings := read(t, "uimgate.yaml")
	_, services, found := strings.Cut(settings, "\nservices:\n")
	if !found {
		t.Fatal("uimgate.yaml has no services")
	}
	services = strings.Replace(services, "${TEMPERATURES:-examples/mcp-upstream/server.mjs}", server, 1)
	g := gatetest.New(t, "services:\n"+strings.Replace(services, "agents_file",
		`intents: {"temperatures.example:table:v1": {proof: optional}}`+"\n    agents_file", 1), func(g *gatetest.Gate) {
		g.Write("agents.json", read(t, "agents.json"))
		g.Write("policy.json", read(t, "policy.json"))
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		g.Directory.End(ctx)
	})
	upstream := g.Directory.Current().Services()[0].Upstream
	upstream.CheckTools(t.Context())
	if r, _ := upstream.ToolsReport(); r.Tools != 2 || len(r.Misfits) != 0 || r.Unread != "" {
		t.Errorf("the tools do not match the intents: %+v", r)
	}
	a := g.Agreed("agent-1")
	call := func(uid string, parameters map[string]any) gatetest.Answer {
		return g.Call("/api/intents/execute", a.Token, map[string]any{"intent_uid": "temperatures.example:" + uid, "parameters": parameters})
	}
	for range 5 {
		if answer := call("convert:v1", map[string]any{"celsius": 21.5}); strings.TrimSpace(string(answer.Body)) != `{"fahrenheit":70.7}` {
			t.Fatalf("got %d %s", answer.Status, answer.Body)
		}
	}
	g.Refuses(call("convert:v1", map[string]any{"celsius": 0}), 429, "RATE_LIMIT_EXCEEDED")
	g.Refuses(call("table:v1", map[string]any{"from": 0, "rows": 101}), 400, "PARAMETER_OUT_OF_RANGE")

	body, err := json.Marshal(map[string]any{
		"intent_uid": "temperatures.example:table:v1", "parameters": map[string]any{"from": 99, "rows": 2},
	})
	g.Must(err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/api/intents/execute", strings.NewReader(string(body)))
	g.Must(err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Authorization", "Bearer "+a.Token)
	resp, err := http.DefaultTransport.RoundTrip(r)
	g.Must(err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	g.Must(err)
	for _, want := range []string{
		`{"message":"Row 1 of 2","progress":1,"total":2}`, `{"message":"Row 2 of 2","progress":2,"total":2}`,
		`{"table":[[99,210.2],[100,212]]}`, `"UIM-Charge":"0.02 EUR;`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing from\n%s", want, text)
		}
	}
}

// read returns the text of a file of the example.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("mcp-upstream", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
