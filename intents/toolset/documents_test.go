package toolset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/intents/toolset"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// imported returns the catalog of all operations of an OpenAPI document.
func imported(t *testing.T, path string) *intents.Catalog {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	found, err := openapi.Convert(t.Context(), data, openapi.Options{Namespace: "shop.example", All: true, Name: path})
	if err != nil {
		t.Fatal(err)
	}
	list := []any{}
	for _, in := range found.Intents {
		list = append(list, in.Tree)
	}
	text, err := json.Marshal(map[string]any{"intents": list})
	if err != nil {
		t.Fatal(err)
	}
	c, problems := intents.Parse(text, intents.Options{})
	if c == nil || len(c.Intents()) == 0 {
		t.Fatalf("%s has no intents: %v", path, problems)
	}
	return c
}

// tokens estimates the tokens of a text in an answer of JSON.
func tokens(t *testing.T, text string) int {
	t.Helper()
	quoted, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return (len(quoted) + 3) / 4
}

// TestDocumentsFitModels bounds what the catalogs of OpenAPI documents cost a model. UIMGATE_OPENAPI names a directory with more documents.
// With -v, it prints the figures of each document.
func TestDocumentsFitModels(t *testing.T) {
	t.Parallel()
	var paths []string
	for _, dir := range []string{"../openapi/testdata", os.Getenv("UIMGATE_OPENAPI")} {
		for _, pattern := range []string{"*.yaml", "*.json"} {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			if dir != "" {
				paths = append(paths, found...)
			}
		}
	}
	if len(paths) < 4 {
		t.Fatalf("%d documents", len(paths))
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			c := catalogue{imported(t, path)}
			size := 0
			for _, tool := range toolset.Tools("shop.example", len(c.Intents())) {
				size += len(tool)
			}
			list, search, describe := (size+3)/4, 0, 0
			for _, in := range c.Intents() {
				for _, query := range []string{"", in.Name, in.Description[:min(len(in.Description), 60)]} {
					found, err := toolset.Find(c, strictjson.Object{"query": query, "limit": json.Number("20")})
					if err != nil {
						t.Fatal(err)
					}
					search = max(search, tokens(t, string(found)))
				}
				signatures, err := toolset.Signatures(c, strictjson.Object{"uids": []any{in.UID.String()}})
				if err != nil || len(signatures) != 1 {
					t.Fatal(err)
				}
				describe = max(describe, tokens(t, signatures[0]))
			}
			t.Logf("%d intents: list %d, search at most %d, describe at most %d tokens", len(c.Intents()), list, search, describe)
			if list > 1500 || search > 1000 || describe > 400 {
				t.Error("want at most 1,500, 1,000 and 400 tokens")
			}
		})
	}
}
