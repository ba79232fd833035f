package bindings_test

import (
	"encoding/json"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	fronttest "github.com/uimgate/uimgate/internal/test/front"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// newGateAt returns a gate whose public_url is a proxy that clients in other languages can reach, and the URL of the proxy. A request
// below /test/ runs the function in does for its path.
func newGateAt(t *testing.T, does map[string]func(*gate)) (*gate, string) {
	t.Helper()
	public, serve := fronttest.Public(t)
	g := newGate(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, "+
		"public_url: "+public+", "+gatetest.Unproved+"}\n")
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(g.Parse(""))
		r.Out.Host = r.In.Host
	}}
	serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if do := does[strings.TrimPrefix(r.URL.Path, "/test/")]; do != nil {
			do(g)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	return g, public
}

// TestOfficialClientsByConsent goes from the 401 to a tool call with the official clients, before and after the protocol became stateless
// and with both kinds of client ids. Then a token expires and the policy changes.
func TestOfficialClientsByConsent(t *testing.T) {
	t.Parallel()
	dir := bindtest.Node(t)
	type way struct {
		era       string
		registers bool
	}
	var ways []way
	var gates []*gate
	args := []string{"oauth.mjs"}
	for _, era := range []string{"2025", "2026"} {
		for _, registers := range []bool{false, true} {
			g, url := newGateAt(t, map[string]func(*gate){
				"expire": func(g *gate) { g.Later(time.Hour + time.Minute) },
				"policy": func(g *gate) { g.changePolicy() },
			})
			document := g.client.ID()
			if registers {
				document = ""
			}
			ways, gates, args = append(ways, way{era, registers}), append(gates, g), append(args, url+"/mcp", era, document)
		}
	}
	out := bindtest.Run(t, dir, args...)
	var seen []clientLog
	if err := json.Unmarshal(out, &seen); err != nil || len(seen) != len(ways) {
		t.Fatalf("%v in %s", err, out)
	}
	for i, w := range ways {
		t.Run(w.era+map[bool]string{true: " registered", false: " document"}[w.registers], func(t *testing.T) {
			t.Parallel()
			seen[i].check(t, gates[i].client.ID(), w.registers)
		})
	}
}

// A clientLog is what one client of oauth.mjs saw.
type clientLog struct {
	ClientID, Scope, Changed                   string
	Asked, AskedAfterRefresh, AskedAfterChange int
	AskedAfterCharging                         int
	Tools                                      []string
	Done, Refreshed, Again, After, Charging    oauthToolResult
	Rotated                                    bool
}

type oauthToolResult struct {
	Structured map[string]any `json:"structuredContent"`
	Content    []struct{ Text string }
	IsError    bool
}

// check checks the log of a client that registers, or has the metadata document at a URL.
func (l clientLog) check(t *testing.T, document string, registers bool) {
	t.Helper()
	if registers != (l.ClientID != document) || l.Scope != gatetest.Searching+":execute" || l.Asked != 1 ||
		!slices.Contains(l.Tools, "search_v1") {
		t.Errorf("the first consent: %+v", l)
	}
	for name, done := range map[string]oauthToolResult{"first": l.Done, "refreshed": l.Refreshed, "again": l.Again, "after": l.After} {
		if done.Structured["ok"] != true {
			t.Errorf("the call %s: %+v", name, done)
		}
	}
	if !l.Rotated || l.AskedAfterRefresh != 1 {
		t.Errorf("after an hour: %+v", l)
	}
	if l.Changed != "unauthorized" || l.AskedAfterChange != 2 {
		t.Errorf("after the policy changed: %+v", l)
	}
	if c := l.Charging; !c.IsError || len(c.Content) == 0 || !strings.Contains(c.Content[0].Text, "signs with its own key") ||
		l.AskedAfterCharging != 0 {
		t.Errorf("a consent that charges: %+v", l)
	}
}

// TestAuthorizationConformance runs both scenarios of the official conformance suite for authorization servers, the metadata and the code
// grant, with a client of each kind. Every check must succeed.
func TestAuthorizationConformance(t *testing.T) {
	t.Parallel()
	dir := bindtest.Node(t)
	g, url := newGateAt(t, nil)
	const callback = "http://127.0.0.1/callback"
	g.client.says(func(document map[string]any) { document["redirect_uris"] = []string{callback} })
	registered := g.oauth(g.Call("/oauth/register", "", map[string]any{"redirect_uris": []string{callback}})).ClientID
	for name, client := range map[string]string{"document": g.client.ID(), "registered": registered} {
		results := t.TempDir()
		out := bindtest.Try(t, dir, "authorization.mjs", url, client, url+"/mcp", results)
		files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
		if err != nil || len(files) != 2 {
			t.Fatalf("%s: %d scenarios, %v: %s", name, len(files), err, out)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			g.Must(err)
			var checks []struct{ ID, Status, ErrorMessage string }
			g.Must(json.Unmarshal(text, &checks))
			for _, c := range checks {
				if c.Status != "SUCCESS" {
					t.Errorf("%s: got %+v; want Status %q", name, c, "SUCCESS")
				}
			}
		}
	}
}
