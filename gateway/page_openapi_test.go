package gateway_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func TestOpenAPI(t *testing.T) {
	g := pageGate(t, repositoryFile(t, "examples/shop/agents.json"), repositoryFile(t, "examples/shop/policy.json"), "")
	a := g.Get("/openapi.json")
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("got %d %s", a.Status, a.Header)
	}
	golden(t, "shop.openapi.json", indented(t, a.Body))
	if again := g.Get("/openapi.json", "If-None-Match", a.Header.Get("ETag")); again.Status != http.StatusNotModified {
		t.Errorf("got %d with the ETag, want %v", again.Status, http.StatusNotModified)
	}
	openAPIShape(t, a.Body)
	request := requestSchema(t, a.Body)
	for body, fits := range map[string]bool{
		`{"intent_uid": "shop.example:search-products:v1", "parameters": {"query": "lamp"}}`:                         true,
		`{"intent_uid": "shop.example:search-products:v1", "parameters": {"query": "lamp", "limit": 51}}`:            false,
		`{"intent_uid": "shop.example:search-products:v1", "parameters": {"query": ""}}`:                             false,
		`{"intent_uid": "shop.example:search-products:v1"}`:                                                          false,
		`{"intent_uid": "shop.example:place-order:v1", "parameters": {"product_id": "desk-lamp"}, "proof": "a.b.c"}`: true,
		`{"intent_uid": "shop.example:place-order:v1", "parameters": {"query": "lamp"}}`:                             false,
		`{"intent_uid": "shop.example:place-order:v2", "parameters": {"product_id": "desk-lamp"}}`:                   false,
		`{"intent_uid": "shop.example:place-order:v1", "parameters": {"product_id": "desk-lamp"}, "other": 1}`:       false,
	} {
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		if err := request.Validate(v); (err == nil) != fits {
			t.Errorf("%s: %v, want fits: %v", body, err, fits)
		}
	}
}

// References in the schema of a parameter must be valid in the OpenAPI document. A value in an enum that looks like a reference is data.
func TestOpenAPIReferences(t *testing.T) {
	agents := strings.Replace(gatetest.AgentsFile, `{"name": "query", "type": "string", "required": true}`,
		`{"name": "a/b", "required": true, "type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}, "enum": {"enum": [{"$ref": "#/data"}]}}, "additionalProperties": false}}}`, 1)
	g := pageGate(t, agents, gatetest.PolicyFile, "")
	a := g.Get("/openapi.json")
	openAPIShape(t, a.Body)
	request := requestSchema(t, a.Body)
	for body, fits := range map[string]bool{
		`{"intent_uid": "shop.example:search:v1", "parameters": {"a/b": [{"next": {"next": {}}}]}}`:               true,
		`{"intent_uid": "shop.example:search:v1", "parameters": {"a/b": [{"next": {"last": {}}}]}}`:               false,
		`{"intent_uid": "shop.example:search:v1", "parameters": {"a/b": [{"enum": {"$ref": "#/data"}}]}}`:         true,
		`{"intent_uid": "shop.example:search:v1", "parameters": {"a/b": [{"enum": {"$ref": "#/components/x"}}]}}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		if err := request.Validate(v); (err == nil) != fits {
			t.Errorf("%s: %v, want fits: %v", body, err, fits)
		}
	}
}

func indented(t *testing.T, body []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out) + "\n"
}

// requestSchema compiles the schema of the request body of the execute operation in an OpenAPI document.
func requestSchema(t *testing.T, doc []byte) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("https://test.example/openapi.json", strings.NewReader(string(doc))); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://test.example/openapi.json#/paths/~1api~1intents~1execute/post/requestBody/content/application~1json/schema")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var componentName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

// openAPIShape checks that the objects of a document have the form that OpenAPI 3.1 requires.
func openAPIShape(t *testing.T, body []byte) {
	t.Helper()
	shape := jsonschema.MustCompileString("https://test.example/shape.json",
		repositoryFile(t, "gateway/testdata/page/openapi-shape.schema.json"))
	var v map[string]any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Fatal(err)
	}
	if err := shape.Validate(v); err != nil {
		t.Errorf("got %#v", err)
	}
	components, _ := v["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	for name := range schemas {
		if !componentName.MatchString(name) {
			t.Errorf("the component name %q is not allowed", name)
		}
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("https://test.example/openapi.json", bytes.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	for _, pointer := range schemasOf(v, "") {
		if _, err := c.Compile("https://test.example/openapi.json#" + pointer); err != nil {
			t.Errorf("%s: %#v", pointer, err)
		}
	}
	for _, m := range regexp.MustCompile(`"\$ref":"#/components/schemas/([^"/]+)"`).FindAllSubmatch(body, -1) {
		if schemas[string(m[1])] == nil {
			t.Errorf("%s is referenced but not defined", m[1])
		}
	}
}

// schemasOf returns the JSON pointers of the schemas in a part of an OpenAPI document.
func schemasOf(v any, at string) (pointers []string) {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			below := at + "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name))
			if name == "schema" || at == "/components/schemas" {
				pointers = append(pointers, below)
			} else {
				pointers = append(pointers, schemasOf(member, below)...)
			}
		}
	case []any:
		for i, item := range v {
			pointers = append(pointers, schemasOf(item, fmt.Sprintf("%s/%d", at, i))...)
		}
	}
	return pointers
}
