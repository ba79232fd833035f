package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/demo"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/examples/shop/shopapi"
	"github.com/uimgate/uimgate/internal/daemon"
)

// The tools of the example shop.
const (
	searchTool = "search-products_v1"
	orderTool  = "place-order_v1"
)

// An openShop is the example shop behind a real gateway.
type openShop struct {
	*testing.T
	url, dir string
	orders   atomic.Int64       // orders that reached the shop
	hold     func(func()) error // called with the function that responds to an order; nil: respond at once
}

// newShop starts the shop and the gateway in this process.
func newShop(t *testing.T) *openShop {
	t.Helper()
	s := &openShop{T: t, dir: t.TempDir()}
	shop, err := shopapi.New(shopapi.Config{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func() { shop.ServeHTTP(w, r) }
		if r.Method == http.MethodPost {
			s.orders.Add(1)
			if s.hold != nil {
				if err := s.hold(answer); err != nil {
					t.Error(err)
				}
				return
			}
		}
		answer()
	}))
	t.Cleanup(upstream.Close)
	load := func() (*config.Config, config.Problems) {
		return config.Load(filepath.Join(s.dir, "uimgate.yaml"), config.Overrides{
			Blocks: bindings.Blocks(),
			Listen: "127.0.0.1:0", AdminListen: "127.0.0.1:0", Data: filepath.Join(s.dir, "data"),
			Env: func(name string) (string, bool) {
				return map[string]string{"SHOP_URL": upstream.URL}[name], name == "SHOP_URL"
			},
		})
	}
	cfg, err := demo.Config(s.dir, upstream.URL, false)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ready, ended := make(chan daemon.Addresses, 1), make(chan error, 1)
	go func() {
		ended <- daemon.Run(ctx, daemon.Options{
			Config: cfg, Load: load, Log: zap.NewNop(), Now: time.Now, Ready: func(a daemon.Addresses) { ready <- a },
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the gateway ended with %v", err)
		}
	})
	select {
	case a := <-ready:
		s.url = a.Listen
	case err := <-ended:
		ended <- err
		t.Fatal(err)
	}
	return s
}

// digest returns the digest of the offered policy.
func (s *openShop) digest() string {
	s.Helper()
	resp, err := http.Get(s.url + "/api/policy")
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		s.Fatalf("the policy: %v, %d; want nil, %v", err, resp.StatusCode, http.StatusOK)
	}
	return strings.Trim(strings.TrimPrefix(resp.Header.Get("ETag"), "W/"), `"`)
}

// offer replaces the policy and waits until the gateway has loaded it.
func (s *openShop) offer(change func(string) string) {
	s.Helper()
	before, path := s.digest(), filepath.Join(s.dir, "policy.json")
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path+".new", []byte(change(string(text))), 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		s.Fatal(err)
	}
	for poll := time.NewTicker(50 * time.Millisecond); s.digest() == before; { // well below the limit per address
		select {
		case <-poll.C:
		case <-s.Context().Done():
			s.Fatal("the gateway does not take the policy")
		}
	}
}

// An assistant is an MCP client of a bridge in a separate process.
type assistant struct {
	*mcp.ClientSession
	t       *testing.T
	command *exec.Cmd
	stderr  *bytes.Buffer
}

// assist starts the bridge with the command args and its state in dir. An empty revision means the newest.
func assist(t *testing.T, dir, revision string, args ...string) *assistant {
	t.Helper()
	a := &assistant{t: t, command: exec.Command(args[0], args[1:]...), stderr: &bytes.Buffer{}}
	a.command.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir+"/config", "XDG_STATE_HOME="+dir+"/state")
	a.command.Stderr = a.stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(),
		&mcp.CommandTransport{Command: a.command}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		t.Fatalf("%v\n%s", err, a.stderr)
	}
	a.ClientSession = session
	t.Cleanup(func() { _ = session.Close() })
	return a
}

func (a *assistant) call(name string, arguments map[string]any) *mcp.CallToolResult {
	a.t.Helper()
	result, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%v\n%s", err, a.stderr)
	}
	return result
}

// block returns the nth text of a result.
func block(r *mcp.CallToolResult, n int) string {
	if n < len(r.Content) {
		if text, ok := r.Content[n].(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return ""
}

// refused makes a call that must be refused for this reason, and returns the text for the model.
func (a *assistant) refused(name string, arguments map[string]any, reason string) string {
	a.t.Helper()
	result := a.call(name, arguments)
	var envelope struct {
		Error struct{ Details struct{ Reason string } }
	}
	err := json.Unmarshal([]byte(block(result, 1)), &envelope)
	if err != nil || !result.IsError || result.StructuredContent != nil || envelope.Error.Details.Reason != reason {
		a.t.Fatalf("%s: %v, want %s:\n%s\n%s", name, err, reason, block(result, 0), block(result, 1))
	}
	return block(result, 0)
}

var toOrder = map[string]any{"product_id": "desk-lamp"}

// The test follows the steps of a user, in both revisions of MCP: print the settings, start the assistant, read the terms, run the command
// to agree, and call a tool.
func TestMCPWithPrintedSettings(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			printed, err := exec.Command("uimgate", "mcp", shop.url, "--data", filepath.Join(home, "my data"), "--print-config", "claude").Output()
			var settings struct {
				Servers map[string]struct {
					Command string
					Args    []string
				} `json:"mcpServers"`
			}
			if err == nil {
				err = json.Unmarshal(printed, &settings)
			}
			if err != nil || len(settings.Servers) != 1 {
				t.Fatalf("%v: %s", err, printed)
			}
			for _, server := range settings.Servers {
				a := assist(t, home, revision, append([]string{server.Command}, server.Args...)...)
				a.knowsItsTools(revision)
				a.agreesAndCalls(shop)
			}
		})
	}
	if shop.orders.Load() != 0 {
		t.Errorf("got %d orders without a budget, want 0", shop.orders.Load())
	}
}

func (a *assistant) knowsItsTools(revision string) {
	a.t.Helper()
	if r := a.InitializeResult(); r.ProtocolVersion != revision || !strings.Contains(r.Instructions, "not agreed") {
		a.t.Errorf("got %+v; want ProtocolVersion %v and Instructions containing %q", r, revision, "not agreed")
	}
	list, err := a.ListTools(a.t.Context(), nil)
	if err != nil || len(list.Tools) != 3 || list.Tools[0].Name != orderTool || list.Tools[2].Name != searchTool {
		a.t.Fatalf("got %+v, %v; want no error, Tools of length 3, Tools[0].Name %v and Tools[2].Name %v", list, err, orderTool, searchTool)
	}
	for n, want := range []string{
		"UID: shop.example:place-order:v1\nCosts 0.05 EUR a call. At most 60 calls an hour.",
		"UID: shop.example:product-details:v1\nFree of charge. At most 1000 calls an hour.", "Free of charge. At most 30 calls a minute.",
	} {
		if !strings.Contains(list.Tools[n].Description, want) {
			a.t.Errorf("%q lacks %q", list.Tools[n].Description, want)
		}
	}
}

// agreesAndCalls runs the command that the bridge prints to agree, and makes calls.
func (a *assistant) agreesAndCalls(shop *openShop) {
	a.t.Helper()
	text := a.refused(searchTool, map[string]any{"query": "lamp"}, "POLICY_REQUIRES_AGREEMENT")
	command := regexp.MustCompile(`(?m)agree by running: (.*)$`).FindStringSubmatch(text)
	if command == nil || !strings.Contains(text, shop.digest()) || !strings.Contains(text, "What is permitted") {
		a.t.Fatal(text)
	}
	run := exec.Command("sh", "-c", command[1])
	run.Env = a.command.Env
	if out, err := run.CombinedOutput(); err != nil {
		a.t.Fatalf("%s: %v\n%s", command[1], err, out)
	}
	found := a.call(searchTool, map[string]any{"query": "lamp"})
	output, _ := found.StructuredContent.(map[string]any)
	if found.IsError || output["total_results"] == nil || !strings.Contains(block(found, 0), "desk-lamp") || len(found.Content) != 1 {
		a.t.Fatalf("got %+v %s", found, block(found, 0))
	}
	text = a.refused(searchTool, map[string]any{"query": "lamp", "pages": 1}, "UNKNOWN_PARAMETER")
	if !strings.Contains(text, "/parameters/pages") {
		a.t.Errorf("got %q, want a text that contains %q", text, "/parameters/pages")
	}
	_, err := a.CallTool(a.t.Context(), &mcp.CallToolParams{Name: "search-product_v1"})
	if wire, ok := errors.AsType[*jsonrpc.Error](err); !ok || wire.Code != jsonrpc.CodeInvalidParams ||
		!strings.Contains(wire.Message, "did you mean "+searchTool) {
		a.t.Errorf("an unknown tool: %v", err)
	}
	a.refused(orderTool, toOrder, "NO_BUDGET")
}

// bridgeTo returns the command of a bridge to the shop with a budget.
func (s *openShop) bridgeTo(dir, budget string) []string {
	return []string{"uimgate", "mcp", s.url, "--data", dir, "--agree", s.digest(), "--budget", budget}
}

// Stdout has only JSON-RPC, whatever the input is. A call in progress gets a response after stdin has ended, but not if the host cancels
// it.
func TestMCPRawLines(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	home := t.TempDir()
	args := append(shop.bridgeTo(home, "1 EUR/month"), "http://127.0.0.1:1")
	c := exec.Command(args[0], args[1:]...)
	c.Env = append(os.Environ(), "HOME="+home)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	// With two services, names start with the host, even if one service cannot be reached.
	name := "127-0-0-1-" + shop.url[strings.LastIndex(shop.url, ":")+1:] + "_" + searchTool
	c.Stdin = strings.NewReader(strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"server/what"}`, `}{`,
		`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":3,"method":"resources/what"}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"` + name + `","arguments":{"query":"lamp"}}}`, "",
	}, "\n"))
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	answers := map[string]string{}
	for line := range strings.Lines(string(out)) {
		var answer struct{ ID, Result, Error json.RawMessage }
		if err := json.Unmarshal([]byte(line), &answer); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		answers[string(answer.ID)] = string(answer.Result) + string(answer.Error)
	}
	for id, want := range map[string]string{"1": "server/what", "null": "-32700", "2": "2025-11-25", "3": "-32601", "4": "desk-lamp"} {
		if !strings.Contains(answers[id], want) {
			t.Errorf("answer %s lacks %q: %s", id, want, answers[id])
		}
	}
	if !strings.Contains(stderr.String(), "127.0.0.1:1") {
		t.Errorf("the unreachable service is not logged: %s, want a text that contains %q", stderr.String(), "127.0.0.1:1")
	}
}
