package gateway_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents/openapi"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

type operation struct {
	ID string `json:"operationId"`
}

// operations returns the operations of an OpenAPI document, by "METHOD path".
func operations(g *gatetest.Gate, doc []byte) map[string]operation {
	g.Helper()
	var read struct {
		Paths map[string]map[string]operation `json:"paths"`
	}
	g.Must(json.Unmarshal(doc, &read))
	list := map[string]operation{}
	for path, methods := range read.Paths {
		for method, o := range methods {
			list[strings.ToUpper(method)+" "+path] = o
		}
	}
	return list
}

func TestOpenAPINamesEachEndpoint(t *testing.T) {
	g := gatetest.New(t, "")
	for _, path := range []string{"/openapi.json", "/openapi.json?per-intent"} {
		doc := g.Get(path).Body
		openAPIShape(t, doc)
		got := operations(g, doc)
		for _, want := range []string{
			"GET /agents.json", "GET /api/policy", "GET /api/intents/search", "GET /api/intents/{intent_uid}", "GET /.well-known/jwks.json",
			"POST /api/pat/issue", "POST /api/pat/renew", "POST /api/pat/revoke", "POST /api/pat/introspect",
		} {
			if _, ok := got[want]; !ok {
				t.Errorf("%s lacks %s", path, want)
			}
		}
	}
}

func TestOpenAPIPerIntent(t *testing.T) {
	g := gatetest.New(t, "")
	doc := g.Get("/openapi.json?per-intent").Body
	ids := map[string]bool{}
	for at, o := range operations(g, doc) {
		if ids[o.ID] || !regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`).MatchString(o.ID) {
			t.Errorf("%s: the operationId %q is used twice, or is not a name", at, o.ID)
		}
		ids[o.ID] = true
	}
	if !ids["search_v1"] || !ids["order_v1"] || ids["execute"] {
		t.Errorf("got %v", ids)
	}
	found, err := openapi.Convert(t.Context(), doc, openapi.Options{Namespace: "client.example", All: true})
	if err != nil {
		t.Fatal(err)
	}
	imported := map[string]bool{}
	for _, in := range found.Intents {
		imported[in.Operation] = true
	}
	for _, uid := range []string{gatetest.Searching, gatetest.Ordering} {
		if !imported["POST /api/intents/execute/"+uid] {
			t.Errorf("%s is not imported: %v", uid, imported)
		}
	}
	for _, f := range found.Unmapped {
		t.Errorf("the importer cannot offer %+v", f)
	}
}

func TestExecuteByPathOfIntent(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	path := "/api/intents/execute/" + gatetest.Ordering
	lamp := map[string]any{"product": "lamp"}
	if got := g.Call(path, a.Token, map[string]any{"parameters": lamp}); got.Status != http.StatusOK || got.Header.Get("UIM-Charge") == "" {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
	escaped := strings.ReplaceAll(path, ":", "%3A")
	same := map[string]any{"intent_uid": gatetest.Ordering, "parameters": lamp}
	if got := g.Call(escaped, a.Token, same, "Idempotency-Key", "k"); got.Status != http.StatusOK {
		t.Errorf("got %d %s; want %v", got.Status, got.Body, http.StatusOK)
	}
	again := g.Call("/api/intents/execute", a.Token, same, "Idempotency-Key", "k")
	if again.Status != http.StatusOK || again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same call on the other path: %d %s", again.Status, again.Body)
	}
	g.Refuses(g.Call(path, a.Token, map[string]any{"intent_uid": gatetest.Searching, "parameters": lamp}), 400, "MALFORMED_REQUEST")
	g.Refuses(g.Call(path, a.Token, map[string]any{"product": "lamp"}), 400, "UNKNOWN_PARAMETER")
	g.Refuses(g.Call("/api/intents/execute/shop.example:none:v1", a.Token, map[string]any{}), 404, "INTENT_NOT_FOUND")
	g.Refuses(g.Call(path, "", map[string]any{"parameters": lamp}), 401, "MISSING_TOKEN")
	g.Refuses(g.Get(path), 405, "METHOD_NOT_ALLOWED")
}
