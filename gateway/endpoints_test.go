package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// agents.json contains the URL of each endpoint that agents need, and the endpoint responds there.
func TestAgentsJSONNamesEachEndpoint(t *testing.T) {
	g := pageGate(t, gatetest.AgentsFile, gatetest.PolicyFile, "")
	var file map[string]any
	g.Must(json.Unmarshal(g.Get("/agents.json").Body, &file))
	for member, method := range map[string]string{
		"uim-policy-file": http.MethodGet, "uim-api-discovery": http.MethodGet, "uim-api-execute": http.MethodPost,
		"uim-pat-issue": http.MethodPost, "uim-pat-renew": http.MethodPost, "uim-pat-revoke": http.MethodPost,
		"uim-pat-introspect": http.MethodPost, "uim-jwks": http.MethodGet, "uim-openapi": http.MethodGet, "uim-errors": http.MethodGet,
	} {
		address, _ := file[member].(string)
		path, ok := strings.CutPrefix(address, "https://agents.shop.example")
		if !ok {
			t.Errorf("%s is %q", member, address)
			continue
		}
		got := g.Get(path)
		if method == http.MethodPost {
			got = g.Call(path, "", map[string]any{})
		}
		if got.Status == http.StatusNotFound || got.Status == http.StatusMethodNotAllowed {
			t.Errorf("%s, %s %s: %d %s", member, method, path, got.Status, got.Body)
		}
	}
}
