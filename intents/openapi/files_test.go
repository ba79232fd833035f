package openapi_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/intents/openapi/read"
)

// severalFiles is a document in several files, like large published ones: each operation has its own file, and other files contain shared
// parts.
var severalFiles = map[string]string{
	"spec/api.yaml": `
openapi: 3.0.0
info: {title: Clouds, version: '2.0', description: {$ref: 'texts.yml#/introduction'}}
servers: [{url: 'https://clouds.example'}]
paths:
  /v2/drops:
    get: {$ref: 'resources/drops/list.yml'}
    post: {$ref: ./resources/drops/create.yml, operationId: drops_make}
  /v2/drops/{drop_id}: {$ref: 'resources/drops/one.yml#/item'}
  /v2/keys: {get: {$ref: 'resources/keys%20here/list.yml'}}
components:
  schemas: {$ref: models/index.yml}
  securitySchemes: {bearer: {$ref: 'parts/bearer.yml'}}
`,
	"spec/texts.yml": "introduction: Drops in the cloud.\n",
	"spec/resources/drops/list.yml": `
operationId: drops_list
summary: List all drops
tags: [Drops]
x-codeSamples: [{$ref: 'examples/never_there.yml'}]
parameters:
- {$ref: '../../parts/parameters.yml#/per_page'}
- {$ref: '../../parts/parameters.yml#/page'}
responses:
  '200': {$ref: 'answers.yml#/all'}
`,
	"spec/resources/drops/create.yml": `
operationId: drops_create
summary: Create a drop
requestBody: {required: true, content: {application/json: {schema: {allOf: [{$ref: 'models/drop.yml'}, {required: [name, region]}]}}}}
responses: {$ref: 'answers.yml#/made'}
`,
	"spec/resources/drops/one.yml": `
item:
  parameters: [{$ref: '#/id'}]
  get: {operationId: drops_get, responses: {'200': {$ref: 'answers.yml#/made/202'}}}
  delete: {operationId: drops_destroy, responses: {'204': {description: gone}}}
id: {name: drop_id, in: path, required: true, schema: {type: integer, minimum: 1}}
`,
	"spec/resources/drops/answers.yml": `
all: {content: {application/json: {schema: {type: object, required: [drops], properties: {drops: {type: array, items: {$ref: models/drop.yml}}}}}}}
made: {'202': {content: {application/json: {schema: {type: object, properties: {drop: {$ref: './models/drop.yml'}}}}}}}
`,
	"spec/resources/drops/models/drop.yml": `
type: object
properties:
  name: {type: string, pattern: '^[a-z]+$', example: {$ref: never.yml}}
  region: {$ref: '../../../models/region.json#/definitions/slug'}
  parent: {$ref: '#'}
  size: {$ref: '../../../api.yaml#/components/schemas/size'}
  back: {oneOf: [{$ref: back.yml}, {$ref: 'never.yaml#/never'}], discriminator: {propertyName: kind, mapping: {weekly: './back.yml'}}}
`,
	"spec/resources/drops/models/back.yml":   "{type: object, properties: {kind: {type: string}, day: {type: integer}}}\n",
	"spec/resources/drops/models/never.yaml": "never: {type: object, properties: {kind: {type: string}}}\n",
	"spec/models/region.json":                `{"definitions": {"slug": {"type": "string", "enum": ["ams", "fra"]}}}`,
	"spec/models/index.yml":                  "size: {type: string, maxLength: 5}\n",
	"spec/parts/parameters.yml": `
page: {name: page, in: query, schema: {type: integer, minimum: 1}}
per_page: {name: per_page, in: query, schema: {type: integer, maximum: 200}}
`,
	"spec/parts/bearer.yml":                "{type: http, scheme: bearer}\n",
	"spec/resources/keys here/list.yml":    "{operationId: keys_list, responses: {'200': {description: ok}}}\n",
	"spec/resources/drops/models/later.md": "no model",
}

func filesOf(texts map[string]string) fs.FS {
	out := fstest.MapFS{}
	for name, text := range texts {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestDocumentOfSeveralFiles(t *testing.T) {
	found := convert(t, []byte(severalFiles["spec/api.yaml"]), openapi.Options{Files: filesOf(severalFiles), Name: "spec/api.yaml"})
	if len(found.Intents) != 5 || len(found.Unmapped)+len(found.Notes) > 0 {
		t.Fatalf("%d intents, %v, %v", len(found.Intents), found.Unmapped, found.Notes)
	}
	if found.Description != "Drops in the cloud." || len(found.Credentials) != 1 || found.Credentials[0].Setting == "" {
		t.Errorf("got %q, %v", found.Description, found.Credentials)
	}
	c := catalog(t, found)
	for _, tt := range []struct{ uid, good, bad, keyword, pointer string }{
		{"drops-list:v2", `{"page":1,"per_page":200}`, `{"per_page":201}`, "maximum", "/per_page"},
		{"drops-get:v2", `{"drop_id":1}`, `{"drop_id":0}`, "minimum", "/drop_id"},
		{"drops-destroy:v2", `{"drop_id":1}`, `{}`, "required", "/drop_id"},
		{"drops-make:v2", `{"name":"a","region":"ams"}`, `{"name":"a"}`, "required", "/region"},
		{"drops-make:v2", `{"name":"a","region":"fra","size":"small"}`, `{"name":"a","region":"nyc"}`, "enum", "/region"},
		{"drops-make:v2", `{"name":"a","region":"fra","size":"small"}`, `{"name":"a","region":"fra","size":"larger"}`, "maxLength", "/size"},
		{
			"drops-make:v2", `{"name":"a","region":"ams","parent":{"parent":{"name":"a"}}}`,
			`{"name":"a","region":"ams","parent":{"parent":{"name":"A"}}}`, "pattern", "/parent/parent/name",
		},
		{
			"drops-make:v2", `{"name":"a","region":"ams","back":{"kind":"weekly","day":1}}`,
			`{"name":"a","region":"ams","back":{"kind":"weekly","day":"x"}}`, "", "",
		},
		{"drops-make:v2", `{"name":"a","region":"ams","back":{"kind":"never"}}`, `{"name":"a","region":"ams","back":{"kind":"daily"}}`, "", ""},
	} {
		in := lookup(t, c, tt.uid)
		if _, violations := in.Validate(tree(t, tt.good)); len(violations) > 0 {
			t.Errorf("%s: %s is refused: %v", tt.uid, tt.good, violations)
		}
		_, violations := in.Validate(tree(t, tt.bad))
		if len(violations) == 0 || tt.keyword != "" && (violations[0].Keyword != tt.keyword || violations[0].Pointer != tt.pointer) {
			t.Errorf("%s: %s: %v, want %s at %s", tt.uid, tt.bad, violations, tt.keyword, tt.pointer)
		}
	}
	list := lookup(t, c, "drops-list:v2")
	if list.Description != "List all drops" || !strings.Contains(string(list.JSON()), `"Drops"`) {
		t.Errorf("got %s", list.JSON())
	}
	if got, err := shaped(list, tree(t, `{"drops":[{"name":"a","secret":1}],"more":1}`)); err != nil || strings.Contains(asJSON(t, got), "more") {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestSwaggerOfSeveralFiles(t *testing.T) {
	files := map[string]string{
		"api.yaml": `
swagger: '2.0'
info: {title: T, version: '1'}
host: s.example
paths:
  /parcels: {post: {$ref: 'parcels/send.yaml'}}
  /depots: {$ref: 'depots.yaml'}
definitions: {City: {type: string, minLength: 2}}
`,
		"depots.yaml": "get: {operationId: depots, parameters: [{$ref: 'shared.yaml#/zone'}], responses: {'200': {description: ok}}}\n",
		"shared.yaml": "zone: {name: zone, in: query, type: string, enum: [a, b]}\n",
		"parcels/send.yaml": `
operationId: send
parameters: [{name: body, in: body, required: true, schema: {$ref: parcel.yaml}}]
responses: {'200': {description: ok}}
`,
		"parcels/parcel.yaml": "{type: object, required: [to], properties: {to: {$ref: '../api.yaml#/definitions/City'}}}\n",
	}
	found := convert(t, []byte(files["api.yaml"]), openapi.Options{Files: filesOf(files), Name: "api.yaml"})
	c := catalog(t, found)
	for uid, parameters := range map[string][2]string{
		"send:v1": {`{"to":"Kiel"}`, `{"to":"K"}`}, "depots:v1": {`{"zone":"a"}`, `{"zone":"c"}`},
	} {
		in := lookup(t, c, uid)
		if _, violations := in.Validate(tree(t, parameters[0])); len(violations) > 0 {
			t.Errorf("%s: %v, want none", uid, violations)
		}
		if _, violations := in.Validate(tree(t, parameters[1])); len(violations) == 0 {
			t.Errorf("%s takes %s", uid, parameters[1])
		}
	}
}

// If a reference is not allowed or cannot be read, only the operations that need it are rejected, and the reason names the reference.
func TestRejectedReferences(t *testing.T) {
	files := map[string]string{
		"spec/good.yaml": "{operationId: good, parameters: [{name: q, in: query, schema: {$ref: 'more.yaml#/q'}}]}", "spec/more.yaml": "q: {type: string}",
		"spec/broken.yaml": "a: [", "spec/list.yaml": "[1]", "spec/text.txt": "a: 1", "spec/.hidden/a.yaml": "a: 1", "spec/.env.yaml": "a: 1",
		"above.yaml": "a: 1", "spec/large.json": `{"a": "` + strings.Repeat("x", read.MaxDocument) + `"}`, "spec/dir.yaml/x": "",
		"spec/circle.yaml": "a: {$ref: 'circle.yaml#/b'}\nb: {$ref: '#/a'}", "spec/remote.yaml": "{parameters: [{$ref: 'https://evil.example/p.yaml'}]}",
		"spec/up.yaml": "{responses: {'200': {content: {application/json: {schema: {$ref: ../../../etc/passwd.json}}}}}}",
	}
	text, wants := "openapi: 3.1.0\ninfo: {version: '1'}\nservers: [{url: 'https://s.example'}]\npaths:\n", map[string][2]string{}
	for i, tt := range [][2]string{
		{"missing.yaml", "the file does not exist"},
		{"broken.yaml", "not valid YAML"},
		{"list.yaml", "not an object"},
		{"text.txt", "yaml, .yml or .json"},
		{".hidden/a.yaml", "hidden"},
		{".env.yaml", "hidden"},
		{"../../above.yaml", "outside the directory"},
		{"more.yaml", "no operation is described"},
		{"/etc/passwd.yaml", "outside the directory"},
		{"large.json", "bytes"},
		{"dir.yaml", "not a file"},
		{"https://evil.example/p.yaml", "never fetched"},
		{"//evil.example/p.yaml", "never fetched"},
		{"file:///etc/passwd.yaml", "never fetched"},
		{"good.yaml#/nowhere", "not in"},
		{"circle.yaml#/a", "itself"},
		{"remote.yaml", "https://evil.example/p.yaml"},
		{"up.yaml", "etc/passwd.json"},
		{"good.yaml#anchor", "cannot be followed"},
		{"good.yaml?x=1", "cannot be followed"},
	} {
		text += fmt.Sprintf("  /p%d: {get: {$ref: %q}}\n", i, tt[0])
		wants[fmt.Sprintf("/p%d: ", i)] = tt
	}
	found := convert(t, []byte(text+"  /good: {get: {$ref: good.yaml}}\n"), openapi.Options{Files: filesOf(files), Name: "spec/api.yaml"})
	if len(found.Intents) != 1 || found.Intents[0].UID.Name != "good" {
		t.Errorf("offered: %v; want length 1 and [0].UID.Name %q", found.Intents, "good")
	}
	for operation, tt := range wants {
		name := strings.TrimPrefix(tt[0], "../")
		if strings.Contains(tt[1], "/") || tt[1] == "itself" { // the name in the reason is not that of the operation
			name = ""
		}
		if !foundText(found.Unmapped, "GET "+operation, name, tt[1]) {
			t.Errorf("%s%q: the reason is not %q: %v", operation, tt[0], tt[1], found.Unmapped)
		}
	}
	found = convert(t, []byte(text), openapi.Options{})
	if len(found.Intents) != 0 || !foundText(found.Unmapped, "GET /p0: ", "missing.yaml") {
		t.Errorf("without files: %v, %v", found.Intents, found.Unmapped)
	}
}

func TestReferencedFilesAreBounded(t *testing.T) {
	var paths strings.Builder
	files := map[string]string{}
	for i := range read.MaxFiles + 2 {
		fmt.Fprintf(&paths, "  /p%d: {get: {$ref: f%d.yaml}}\n", i, i)
		files[fmt.Sprintf("f%d.yaml", i)] = "{tags: [a], summary: A}"
	}
	files["f1.yaml"], files["f2.yaml"] = "{tags: [b], summary: B}", "{tags: [b], summary: B}"
	text := "openapi: 3.0.0\nservers: [{url: 'https://s.example'}]\npaths:\n" + paths.String()
	found := convert(t, []byte(text), openapi.Options{Files: filesOf(files), Name: "api.yaml", Tags: []string{"b"}})
	if len(found.Intents) != 2 || !foundText(found.Unmapped, fmt.Sprintf("more than %d files", read.MaxFiles)) || len(found.Unmapped) != 2 {
		t.Errorf("%d offered; %v", len(found.Intents), found.Unmapped)
	}
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 6 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 8), ","))
	}
	files, paths = map[string]string{}, strings.Builder{}
	for i := range 8 {
		fmt.Fprintf(&paths, "  /p%d: {get: {$ref: f%d.yaml}}\n", i, i)
		files[fmt.Sprintf("f%d.yaml", i)] = bomb
	}
	text = "openapi: 3.0.0\nservers: [{url: 'https://s.example'}]\npaths:\n" + paths.String()
	found = convert(t, []byte(text), openapi.Options{Files: filesOf(files), Name: "api.yaml"})
	if len(found.Unmapped) == 0 || !foundText(found.Unmapped, "values") {
		t.Errorf("too many values in all files together: %d offered; %v", len(found.Intents), found.Unmapped)
	}
}
