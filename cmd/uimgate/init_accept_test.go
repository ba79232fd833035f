package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents/openapi"
)

// manyOperations returns a document of n resources with five operations each, like those that generators write for large APIs, and of plain
// additional operations that only read.
func manyOperations(n, plain int) string {
	var b strings.Builder
	b.WriteString("openapi: 3.0.1\ninfo: {title: Large, version: 7.2.0}\nservers: [{url: 'https://large.example/api'}]\npaths:\n")
	for i := range n {
		body := fmt.Sprintf("requestBody: {required: true, content: {application/json: {schema: {$ref: '#/components/schemas/R%d'}}}}", i)
		ok := fmt.Sprintf("responses: {'200': {description: ok, content: {application/json: {schema: {$ref: '#/components/schemas/R%d'}}}}}", i)
		fmt.Fprintf(&b, "  /r%d:\n    get: {operationId: listR%d, parameters: [{name: page, in: query, schema: {type: integer, minimum: 1}}], %s}\n    post: {operationId: createR%d, %s, %s}\n",
			i, i, ok, i, body, ok)
		fmt.Fprintf(&b, "  /r%d/{id}:\n    parameters: [{name: id, in: path, required: true, schema: {type: string, format: uuid}}]\n    get: {operationId: getR%d, %s}\n    put: {operationId: putR%d, %s, %s}\n    delete: {operationId: deleteR%d, responses: {'204': {description: ok}}}\n",
			i, i, ok, i, body, ok, i)
	}
	for i := range plain {
		fmt.Fprintf(&b, "  /p%d: {get: {operationId: getP%d, responses: {'200': {description: ok}}}}\n", i, i)
	}
	b.WriteString("components:\n  schemas:\n")
	for i := range n {
		fmt.Fprintf(&b, "    R%d: {type: object, required: [name], properties: {name: {type: string, maxLength: %d}, next: {$ref: '#/components/schemas/R%d'}, at: {type: string, format: date-time}}}\n", i, i+1, (i+1)%n)
	}
	return b.String()
}

// made writes a configuration of all operations and loads it as serve does. It fails the test for problems and warnings.
func made(t *testing.T, data []byte) (dir string, found *openapi.Import) {
	t.Helper()
	found, err := openapi.Convert(t.Context(), data, openapi.Options{Namespace: "api.example.com", All: true})
	if err != nil {
		t.Fatal(err)
	}
	result, err := found.Update(nil, false)
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, text := range result.Write {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, problems := config.Load(filepath.Join(dir, openapi.ConfigFile),
		config.Overrides{Blocks: bindings.Blocks(), Env: func(string) (string, bool) { return "", false }})
	if cfg == nil || len(problems) > 0 {
		t.Fatalf("the configuration: %v", problems)
	}
	if loaded, problems := service.Load(t.Context(), cfg, time.Now); loaded == nil || len(problems) > 0 {
		t.Fatalf("the gateway: %v", problems)
	}
	return dir, found
}

func TestInitConfigurationsAreValid(t *testing.T) {
	t.Parallel()
	documents := map[string][]byte{"many operations": []byte(manyOperations(60, 800)), "a collective policy": []byte(manyOperations(50, 2000))}
	least := map[string]int{
		"many operations": 1100, "a collective policy": 2250, "library.yaml": 4, "legacy.json": 4, "zoo.yaml": 3,
		"payments.yaml": 2, "secured.json": 1, "awkward.yaml": 1, "shop.yaml": 6,
	}
	paths, err := filepath.Glob("../../intents/openapi/testdata/*.*")
	if err != nil || len(paths) < 7 {
		t.Fatalf("got %v, %v; want a length of at least 7, nil", paths, err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		documents[filepath.Base(path)] = data
	}
	for name, data := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, found := made(t, data); len(found.Intents) != least[name] {
				t.Errorf("%d intents, want %d; not offered: %v", len(found.Intents), least[name], found.Unmapped)
			}
		})
	}
}
