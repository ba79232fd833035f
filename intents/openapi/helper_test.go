package openapi_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const namespace = "api.example.com"

func document(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// convert also offers operations that write, because most tests are about offered operations.
func convert(t *testing.T, data []byte, o openapi.Options) *openapi.Import {
	t.Helper()
	o.Namespace, o.All = namespace, o.Pick == nil
	found, err := openapi.Convert(t.Context(), data, o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func update(t *testing.T, found *openapi.Import, existing map[string][]byte) *openapi.Result {
	t.Helper()
	result, err := found.Update(existing, false)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// catalog parses the result as the gateway does.
func catalog(t *testing.T, found *openapi.Import) *intents.Catalog {
	t.Helper()
	c, problems := intents.Parse(update(t, found, nil).Write[openapi.AgentsFile], intents.Options{Strict: true})
	if c == nil || len(problems) > 0 {
		t.Fatalf("refused: %v", problems)
	}
	return c
}

func lookup(t *testing.T, c *intents.Catalog, uid string) *intents.Intent {
	t.Helper()
	parsed, err := intents.ParseUID(namespace + ":" + uid)
	if err != nil {
		t.Fatal(err)
	}
	in, ok := c.Lookup(parsed)
	if !ok {
		t.Fatalf("no intent %s among %v", uid, c.Intents())
	}
	return in
}

func tree(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := strictjson.DecodeObject([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func foundText(findings []openapi.Finding, parts ...string) bool {
	for _, f := range findings {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(f.String(), p)
		}
		if all {
			return true
		}
	}
	return false
}
