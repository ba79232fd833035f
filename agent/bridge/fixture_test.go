package bridge

import (
	"context"
	"crypto"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/money"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
	"github.com/uimgate/uimgate/pat/keys"
)

// The tools of agenttest's service.
const (
	searchTool = "search_v1"
	orderTool  = "order_v1"
)

var testKey = sync.OnceValues(func() (crypto.Signer, error) { return agent.NewKey(keys.EdDSA) })

// optionsFor returns the options of a bridge with a budget, whose owner has accepted the policies of the services. Its sleeps return
// at once.
func optionsFor(t *testing.T, services ...*agenttest.Service) Options {
	t.Helper()
	key, err := testKey()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o := Options{
		Agent:      agent.Options{Key: key, Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() }},
		Agreements: dir, Outbox: filepath.Join(dir, "calls"), ReadTerms: readTerms,
		AgreeCommand: func(service, digest, issuer string) string {
			return "uimgate agent agree " + service + " --digest " + digest + issuer
		},
	}
	for _, s := range services {
		s.Clock.SetNow()
		o.Services, o.Accept, o.Agent.Now = append(o.Services, s.URL), append(o.Accept, s.Digest()), s.Clock.Now
	}
	return withBudget(t, o, "1 USD/day")
}

func withBudget(t *testing.T, o Options, limits ...string) Options {
	t.Helper()
	var list []budget.Limit
	for _, text := range limits {
		l, err := budget.ParseLimit(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	o.Budget = budget.New(filepath.Join(o.Agreements, "spent"), list, o.Agent.Now)
	return o
}

// readTerms returns the terms of agenttest's policy.
func readTerms(context.Context, agent.Policy, *intents.Catalog) Terms {
	return Terms{Words: "Searching is free.\nAn order costs 0.01 USD.", Intents: map[string]CallTerm{
		agenttest.Search: {Words: "Free of charge."},
		agenttest.Order:  {Most: money.Amount{Nano: money.Unit / 100, Currency: "USD"}, Words: "Costs 0.01 USD a call."},
	}}
}

// A host is an MCP client that is connected to a bridge.
type host struct {
	*mcp.ClientSession
	t      *testing.T
	closed func() // closes the host's end of the pipe and waits for the bridge to end
}

// start opens a bridge and connects to it.
func start(t *testing.T, o Options) *host {
	t.Helper()
	return startAs(t, o, nil, nil)
}

// startAs is start for a client and a session with options.
func startAs(t *testing.T, o Options, of *mcp.ClientOptions, session *mcp.ClientSessionOptions) *host {
	t.Helper()
	b, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	toBridge, fromHost := io.Pipe()
	toHost, fromBridge := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := b.Serve(context.WithoutCancel(t.Context()), toBridge, fromBridge)
		_ = fromBridge.Close()
		ended <- err
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, of)
	connected, err := client.Connect(t.Context(), &mcp.IOTransport{Reader: toHost, Writer: fromHost}, session)
	if err != nil {
		t.Fatal(err)
	}
	closing := sync.OnceFunc(func() {
		_ = fromHost.Close()
		if err := <-ended; err != nil {
			t.Errorf("the bridge ended with %v", err)
		}
	})
	t.Cleanup(closing)
	return &host{connected, t, closing}
}

// call calls a tool. Only a protocol error ends the test.
func (h *host) call(name string, arguments any) *mcp.CallToolResult {
	h.t.Helper()
	result, err := h.CallTool(h.t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

// ok calls a tool and ends the test unless the call succeeds.
func (h *host) ok(name string, arguments any) *mcp.CallToolResult {
	h.t.Helper()
	result := h.call(name, arguments)
	if result.IsError {
		h.t.Fatalf("%s: %s", name, text(result, 0))
	}
	return result
}

// refused calls a tool, ends the test unless the error has the given reason, and returns its sentence and details.
func (h *host) refused(name string, arguments any, reason string) (string, map[string]any) {
	h.t.Helper()
	result := h.call(name, arguments)
	if !result.IsError || result.StructuredContent != nil || len(result.Content) != 2 {
		h.t.Fatalf("%s: %+v; want an error of two blocks", name, result)
	}
	var envelope struct {
		Error struct{ Details map[string]any }
	}
	if err := json.Unmarshal([]byte(text(result, 1)), &envelope); err != nil {
		h.t.Fatalf("%v: %s", err, text(result, 1))
	}
	if got := envelope.Error.Details["reason"]; got != reason {
		h.t.Fatalf("%s: reason %v, want %s: %s", name, got, reason, text(result, 0))
	}
	return text(result, 0), envelope.Error.Details
}

func text(r *mcp.CallToolResult, n int) string {
	if n >= len(r.Content) {
		return ""
	}
	content, _ := r.Content[n].(*mcp.TextContent)
	if content == nil {
		return ""
	}
	return content.Text
}

// has fails the test for each part that is missing from a text.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing from:\n%s", part, text)
		}
	}
}
