package bindings_test

import (
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	fronttest "github.com/uimgate/uimgate/internal/test/front"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// TestOfficialJavaScriptClient uses @a2a-js/sdk from the card to the task, with both bindings.
func TestOfficialJavaScriptClient(t *testing.T) {
	t.Parallel()
	dir := bindtest.Node(t)
	for _, binding := range []string{"JSONRPC", "HTTP+JSON"} {
		t.Run(binding, func(t *testing.T) {
			t.Parallel()
			url, serve := fronttest.Public(t)
			g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}, public_url: "+
				url+", "+gatetest.Unproved+"}\n")
			g.Upstream = a2aEchoing
			serve(&httputil.ReverseProxy{
				FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(g.Parse("")) },
			})
			out := bindtest.Run(t, dir, "a2a.mjs", url, binding, g.Agreed("agent-1").Token)
			seen, err := strictjson.DecodeObject(out)
			g.Must(err)
			text := func(name string) string {
				out, err := strictjson.Append(nil, seen[name])
				g.Must(err)
				return string(out)
			}
			for name, wants := range map[string][]string{
				"card":   {"shop.example:order:v1", url + "/a2a/v1", `"signatures"`},
				"paid":   {`"product":"lamp"`, `"contextId":"talk"`},
				"task":   {`"product":"lamp"`, `"contextId":"talk"`},
				"stream": {"lämp", "artifact", "status"},
				"wrong":  {"are not valid for this intent", `"reason":"MISSING_PARAMETER"`, `"uim_code":"UIM-VAL-001"`, `"suggestion"`},
				"none":   {"TaskNotFoundError"},
			} {
				for _, want := range wants {
					if !strings.Contains(text(name), want) {
						t.Errorf("%s has no %s: %s", name, want, text(name))
					}
				}
			}
		})
	}
}
