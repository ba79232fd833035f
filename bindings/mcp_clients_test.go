package bindings_test

import (
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	fronttest "github.com/uimgate/uimgate/internal/test/front"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// TestOfficialClients lists and calls tools with the official clients, before and after the protocol became stateless.
func TestOfficialClients(t *testing.T) {
	t.Parallel()
	dir := bindtest.Node(t)
	for era, version := range map[string]string{"2025": "2025-11-25", "2026": "2026-07-28"} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			g := gatetest.New(t, "")
			g.Upstream = echoing
			out := bindtest.Run(t, dir, "mcp.mjs", g.URL+"/mcp", era, g.Agreed("agent-1").Token)
			var seen struct {
				Version        string
				Tools          []string
				Done, Paid     toolResult
				Wrong, Unknown struct {
					Result  toolResult
					Code    int
					Message string
				}
			}
			if err := json.Unmarshal(out, &seen); err != nil {
				t.Fatalf("%v in %s", err, out)
			}
			if seen.Version != version || !slices.Equal(seen.Tools, []string{"order_v1", "search_v1"}) {
				t.Errorf("version %s, tools %q", seen.Version, seen.Tools)
			}
			if seen.Done.IsError || seen.Done.Structured["query"] != "lämp" {
				t.Errorf("done: %+v", seen.Done)
			}
			charge, _ := seen.Paid.Meta["UIM-Charge"].(string)
			if !strings.HasPrefix(charge, "0.25 EUR; ") || !strings.HasSuffix(charge, "state=captured") {
				t.Errorf("paid: %+v", seen.Paid)
			}
			if !seen.Wrong.Result.IsError || !strings.Contains(seen.Wrong.Result.Content[0].Text, "/arguments/query") {
				t.Errorf("wrong: %+v", seen.Wrong)
			}
			if seen.Unknown.Code != -32602 || !strings.Contains(seen.Unknown.Message, "search_v1") {
				t.Errorf("unknown: %+v; want Code %v and Message containing %q", seen.Unknown, -32602, "search_v1")
			}
		})
	}
}

type toolResult struct {
	Content    []struct{ Text string }
	Structured map[string]any `json:"structuredContent"`
	IsError    bool           `json:"isError"`
	Meta       map[string]any `json:"_meta"`
}

// bearerProxy starts a gateway behind a proxy that adds a PAT to each request, for clients that cannot. It returns the proxy's URL.
func bearerProxy(t *testing.T) string {
	t.Helper()
	url, serve := fronttest.Public(t)
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, public_url: "+url+"}\n")
	token := g.Agreed("agent-1").Token
	serve(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(g.Parse(""))
		r.Out.Host = r.In.Host // the suite tests the host
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}})
	return url
}

// TestConformance runs the server checks of the official conformance suite. testdata/mcp/conformance.txt lists the checks that do not
// apply, with the reason. Each of those must fail, and no other may.
func TestConformance(t *testing.T) {
	t.Parallel()
	dir := bindtest.Node(t)
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			results := t.TempDir()
			_ = bindtest.Try(t, dir, "--import", "./node20.mjs", "node_modules/@modelcontextprotocol/conformance/dist/index.js", "server",
				"--url", bearerProxy(t)+"/mcp", "--requirements", revision, "--output-dir", results)
			now := failedChecks(t, results)
			if diff := cmp.Diff(mcpNotApplicable(t, revision), now); diff != "" {
				t.Logf("%s", strings.Join(now, "\n"))
				t.Errorf("checks that fail (-listed +now):\n%s", diff)
			}
		})
	}
}

// failedChecks lists the checks that failed, as "scenario check".
func failedChecks(t *testing.T, results string) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d scenarios: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status string }
		if err := json.Unmarshal(text, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		scenario := timeOfRun.ReplaceAllString(strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "server-"), "")
		for _, c := range checks {
			if c.Status == "FAILURE" {
				list = append(list, scenario+" "+c.ID)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

var timeOfRun = regexp.MustCompile(`-\d{4}-\d\d-\d\dT.*$`)

// mcpNotApplicable reads the checks listed for a revision below headings "# revision: reason".
func mcpNotApplicable(t *testing.T, revision string) (list []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/mcp/conformance.txt")
	if err != nil {
		t.Fatal(err)
	}
	applies := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if heading, is := strings.CutPrefix(line, "# "); is {
			applies = strings.HasPrefix(heading, revision) || strings.HasPrefix(heading, "both")
		} else if applies && line != "" {
			list = append(list, line)
		}
	}
	slices.Sort(list)
	return list
}

// TestInspector lists and calls tools from the command line of the official inspector.
func TestInspector(t *testing.T) {
	t.Parallel()
	dir := bindtest.Node(t)
	g := gatetest.New(t, "")
	g.Upstream = echoing
	token := g.Agreed("agent-1").Token
	inspect := func(args ...string) string {
		head := []string{
			"node_modules/.bin/mcp-inspector", "--cli", g.URL + "/mcp", "--transport", "http", "--header", "Authorization: Bearer " + token,
		}
		return string(bindtest.Run(t, dir, append(head, args...)...))
	}
	if out := inspect("--method", "tools/list"); !strings.Contains(out, `"search_v1"`) {
		t.Errorf("tools/list: %s, want a text that contains %q", out, `"search_v1"`)
	}
	if out := inspect("--method", "tools/call", "--tool-name", "search_v1", "--tool-arg", "query=lamp"); !strings.Contains(out, `"query": "lamp"`) {
		t.Errorf("tools/call: %s, want a text that contains %q", out, `"query": "lamp"`)
	}
}

// TestGoClient uses the client of the Go SDK, which tries the newest revision first.
func TestGoClient(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, "")
	g.Upstream = echoing
	token := g.Agreed("agent-1").Token
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: g.URL + "/mcp", HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true,
	}, nil)
	g.Must(err)
	var names []string
	for tool, err := range session.Tools(t.Context(), nil) {
		g.Must(err)
		names = append(names, tool.Name)
	}
	if !slices.Equal(names, []string{"order_v1", "search_v1"}) {
		t.Errorf("got %q, want %+v", names, []string{"order_v1", "search_v1"})
	}
	done, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_v1", Arguments: map[string]any{"query": "lamp"}})
	g.Must(err)
	if output, _ := done.StructuredContent.(map[string]any); done.IsError || output["query"] != "lamp" {
		t.Errorf("got %+v", done)
	}
	wrong, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_v1", Arguments: map[string]any{}})
	g.Must(err)
	if !wrong.IsError {
		t.Errorf("got %+v", wrong)
	}
	_, err = session.CallTool(t.Context(), &mcp.CallToolParams{Name: "serch_v1"})
	if err == nil || !strings.Contains(err.Error(), "search_v1") {
		t.Errorf("unknown tool: %v, want an error that contains %q", err, "search_v1")
	}
	g.Must(session.Close())
}

// A bearer sends a PAT with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
