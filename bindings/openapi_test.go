package bindings_test

import (
	"encoding/json"
	"os"
	"testing"

	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// Ajv, the validator that most JavaScript clients use, compiles each schema of openapi.json.
func TestSchemasOfOpenAPIInAjv(t *testing.T) {
	dir := bindtest.Node(t)
	g := gatetest.New(t, "services:\n- {agents_file: agents.json, policy_file: policy.json, upstream: {url: UPSTREAM}}\n", func(g *gatetest.Gate) {
		for _, name := range []string{"agents.json", "policy.json"} {
			text, err := os.ReadFile("../examples/shop/" + name)
			g.Must(err)
			g.Write(name, string(text))
		}
	})
	paths := []string{"/openapi.json", "/openapi.json?per-intent"}
	var all []struct {
		Schemas, Examples int
		Faults            []string
	}
	g.Must(json.Unmarshal(bindtest.Run(t, dir, "openapi.mjs", g.URL+paths[0], g.URL+paths[1]), &all))
	if len(all) != len(paths) {
		t.Fatalf("got %+v", all)
	}
	for i, found := range all {
		if found.Schemas < 10 || len(found.Faults) > 0 {
			t.Errorf("%s: %d schemas, %d examples, faults %q; want at least 10 schemas and no fault",
				paths[i], found.Schemas, found.Examples, found.Faults)
		}
		t.Logf("%s: %d schemas, %d examples", paths[i], found.Schemas, found.Examples)
	}
}
