package verify

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/uimgate/uimgate/agent/verify/internal/point"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxOpenAPI        = 16 << 20 // the maximum size of the document, in bytes
	maxOpenAPISchemas = 4000
)

// openAPI checks the OpenAPI document at uim-openapi: its required members, its references, and its schemas.
func (v *verification) openAPI(ctx context.Context) finding {
	address, _ := v.Named["uim-openapi"].(string)
	if address == "" {
		return missing("uim-openapi is missing")
	}
	a, err := v.get(ctx, address, maxOpenAPI)
	switch {
	case err != nil:
		return point.Failed(err)
	case a.Status >= http.StatusInternalServerError:
		return point.ServerError(a)
	case a.Status != http.StatusOK:
		return wrong("it responds with %d", a.Status)
	}
	tree, err := strictjson.DecodeObject(a.Body)
	if err != nil {
		return wrong("%v", err)
	}
	version, _ := tree["openapi"].(string)
	if !strings.HasPrefix(version, "3.0.") && !strings.HasPrefix(version, "3.1.") {
		return wrong("openapi must be a version 3.0 or 3.1, not %s", printable(version))
	}
	if text := openAPIFault(tree); text != "" {
		return wrong("%s", text)
	}
	if strings.HasPrefix(version, "3.0.") { // its schemas are not JSON Schema, so they are not checked
		return holds("version %s; its schemas were not checked", printable(version))
	}
	n, text := openAPISchemas(a.Body, tree)
	if text != "" {
		return wrong("%s", text)
	}
	return holds("version %s, %d schemas", printable(version), n)
}

// openAPIFault returns what is wrong in the document apart from its schemas, or "".
func openAPIFault(tree strictjson.Object) string {
	info, _ := strictjson.AsObject(tree["info"])
	for _, name := range []string{"title", "version"} {
		if info.Text(name) == "" {
			return "/info/" + name + " is missing"
		}
	}
	paths, ok := strictjson.AsObject(tree["paths"])
	if !ok {
		return "/paths is missing"
	}
	for name := range paths {
		if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "x-") {
			return "a path does not begin with a slash: " + printable(name)
		}
	}
	return openAPIWalk(tree, tree, "")
}

// dataMembers are the members whose values may be any JSON.
var dataMembers = []string{"default", "example", "examples", "const", "enum", "mapping", "variables"}

// nameMembers are the members whose own members do not have fixed names: the service chooses the names or, in responses, they are statuses
// and default.
var nameMembers = []string{"properties", "patternProperties", "$defs", "schemas", "responses", "headers", "paths", "content", "callbacks"}

// openAPIWalk returns the first null or unresolved reference below v, or "".
func openAPIWalk(root strictjson.Object, v any, at string) string {
	if list, ok := v.([]any); ok {
		for _, item := range list {
			if text := openAPIWalk(root, item, at+"/…"); text != "" {
				return text
			}
		}
		return ""
	}
	m, ok := strictjson.AsObject(v)
	if !ok {
		return ""
	}
	for name, value := range m {
		here := at + "/" + strictjson.Escape(name)
		inside := slices.Contains(nameMembers, at[strings.LastIndexByte(at, '/')+1:])
		switch to, isText := value.(string); {
		case !inside && (slices.Contains(dataMembers, name) || strings.HasPrefix(name, "x-")):
			continue
		case value == nil:
			return printable(here) + " is null"
		case name == "$ref" && !inside && isText && strings.HasPrefix(to, "#/") && !resolves(root, to[1:]):
			return printable(here) + " refers to " + printable(to) + ", which does not exist"
		}
		if text := openAPIWalk(root, value, here); text != "" {
			return text
		}
	}
	return ""
}

// resolves reports whether a JSON pointer names a value of the document.
func resolves(root strictjson.Object, pointer string) bool {
	_, ok := strictjson.Lookup(root, pointer)
	return ok
}

// openAPISchemas compiles the schemas of the components. It returns their number, and what is wrong with one of them, or "".
func openAPISchemas(body []byte, tree strictjson.Object) (n int, fault string) {
	components, _ := strictjson.AsObject(tree["components"])
	schemas, _ := strictjson.AsObject(components["schemas"])
	if len(schemas) > maxOpenAPISchemas {
		return 0, "there are more schemas than the check reads"
	}
	const base = "https://openapi.invalid/openapi.json"
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = nothingElse
	if err := c.AddResource(base, bytes.NewReader(body)); err != nil {
		return 0, "its JSON cannot be read"
	}
	for name := range schemas {
		if _, err := c.Compile(base + "#/components/schemas/" + strictjson.Escape(name)); err != nil {
			return 0, "the schema " + printable(name) + " is not a JSON Schema: " + printable(firstLine(err))
		}
		n++
	}
	return n, ""
}

func firstLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// nothingElse refuses to load other documents: a schema of the service must not make this program read files or send requests.
func nothingElse(string) (io.ReadCloser, error) {
	return nil, errors.New("it refers to another document")
}
