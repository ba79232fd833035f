package openapi_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi"
)

// aFile is the schema of a file parameter without its description.
const aFile = `{"contentEncoding":"base64","maxLength":1000000,"type":"string"}`

// Bodies and responses with files or texts: the endpoint, the inputs and the outputs, without descriptions.
func TestFileSchemas(t *testing.T) {
	t.Parallel()
	multi := func(properties string) string {
		return "requestBody: {content: {multipart/form-data: {schema: {type: object, properties: " + properties + "}}}}"
	}
	answers := func(content string) string { return "responses: {'200': {content: " + content + "}}" }
	bytes := "{schema: {type: string, format: binary}}"
	for name, tt := range map[string]struct {
		version, method, operation string
		endpoint                   string // content_type and accept
		inputs, outputs            []string
		note                       string
	}{
		"a file and a text": {
			"3.0.3", "post", multi("{f: {type: string, format: binary, maxLength: 10}, n: {type: string}}"),
			"multipart/form-data ",
			[]string{`f {"contentEncoding":"base64","maxLength":16,"type":"string"}`, `n {"type":"string"}`},
			nil, "",
		},
		"files with media types": {
			"3.0.3", "post",
			"requestBody: {content: {multipart/form-data: {encoding: {f: {contentType: 'image/png, image/jpeg', headers: {X: {}}}}, schema: " +
				"{type: object, properties: {f: {type: array, maxItems: 2, items: {type: string, format: binary}}}}}}}",
			"multipart/form-data ",
			[]string{`f {"items":{"contentEncoding":"base64","contentMediaType":"image/png, image/jpeg","maxLength":1000000,"type":"string"},` +
				`"maxItems":2,"type":"array"}`},
			nil, `the headers of the part "f" are not sent`,
		},
		"invalid media types": {
			"3.1.0", "post", "requestBody: {content: {multipart/form-data: {encoding: {f: {contentType: 'image, x'}, n: {contentType: 'a b'}}, schema: " +
				"{type: object, properties: {f: {type: string, contentMediaType: foo}, n: {type: string}, o: {type: string, contentMediaType: text/csv}}}}}}",
			"multipart/form-data ",
			[]string{"f " + aFile, `n {"type":"string"}`, `o {"contentMediaType":"text/csv","type":"string"}`},
			nil, "",
		},
		"base64 for the service": {
			"3.0.3", "post", multi("{f: {type: string, format: byte}}"), "multipart/form-data ", []string{`f {"format":"byte","type":"string"}`}, nil, "",
		},
		"since 3.1": {
			"3.1.0", "post", multi("{a: {}, b: {type: string, contentMediaType: image/png}, c: {type: string, contentMediaType: application/json}, " +
				"d: {type: string, contentEncoding: base64}, e: {type: [string, 'null'], format: binary}}"),
			"multipart/form-data ",
			[]string{
				"a " + aFile, `b {"contentEncoding":"base64","contentMediaType":"image/png","maxLength":1000000,"type":"string"}`,
				`c {"contentMediaType":"application/json","type":"string"}`, `d {"format":"byte","type":"string"}`, "e " + aFile,
			},
			nil, "",
		},
		"a file that may be null": {
			"3.0.3", "post", multi("{f: {nullable: true, allOf: [{type: string, format: binary}]}}"), "multipart/form-data ", []string{"f " + aFile}, nil, "",
		},
		"a file beside JSON": {
			"3.0.3", "post", "requestBody: {content: {application/json: {schema: &s {type: object, properties: {f: {type: string, format: binary}}}}, " +
				"multipart/form-data: {schema: *s}, application/x-www-form-urlencoded: {schema: *s}}}",
			"multipart/form-data ",
			[]string{"f " + aFile},
			nil, "",
		},
		"no file beside JSON": {
			"3.0.3", "post", "requestBody: {content: {application/json: {schema: &s {type: object, properties: {f: {type: string}}}}, " +
				"multipart/form-data: {schema: *s}}}",
			"application/json ",
			[]string{`f {"type":"string"}`},
			nil, "",
		},
		"the whole body": {
			"3.0.3", "put", "requestBody: {required: true, content: {application/octet-stream: " + bytes + "}}",
			"application/octet-stream ",
			[]string{"content! " + aFile},
			nil, "",
		},
		"an image": {
			"3.1.0", "put", "requestBody: {content: {image/png: {}, image/jpeg: {}}}", "application/octet-stream ",
			[]string{`content {"contentEncoding":"base64","contentMediaType":"image/jpeg, image/png","maxLength":1000000,"type":"string"}`},
			nil, "",
		},
		"a whole text": {
			"3.0.3", "put", "requestBody: {content: {text/csv: {schema: {type: string, maxLength: 9}}}}",
			"application/octet-stream ",
			[]string{`content {"contentMediaType":"text/csv","maxLength":9,"type":"string"}`},
			nil, "",
		},
		"vendor JSON": {
			"3.0.3", "patch", "requestBody: {content: {application/merge-patch+json: {schema: {type: object, properties: {n: {type: string}}}}}}",
			"application/merge-patch+json ",
			[]string{`n {"type":"string"}`},
			nil, "",
		},
		"JSON beside vendor JSON": {
			"3.0.3", "patch", "requestBody: {content: {application/json: {schema: &s {type: object, properties: {n: {type: string}}}}, " +
				"application/vnd.api+json: {schema: *s}, 'application/a%b+json': {schema: *s}}}",
			"application/json ",
			[]string{`n {"type":"string"}`},
			nil, "",
		},
		"a file in a response": {
			"3.0.3", "get", answers("{application/pdf: " + bytes + ", text/html: {}}"), " application/pdf", nil,
			[]string{`content! {"contentEncoding":"base64","contentMediaType":"application/pdf","type":"string"}`, `content_type! {"type":"string"}`, `content_encoding {"type":"string"}`},
			"",
		},
		"a text in a response": {
			"3.0.3", "get", answers("{text/csv; charset=utf-8: {schema: {type: string}}}"), " text/csv", nil,
			[]string{`content! {"contentMediaType":"text/csv","type":"string"}`, `content_type! {"type":"string"}`, `content_encoding {"type":"string"}`},
			"",
		},
		"a file declared as JSON": {
			"3.0.3", "get", answers("{application/json: " + bytes + "}"), " */*", nil,
			[]string{`content! {"contentEncoding":"base64","type":"string"}`, `content_type! {"type":"string"}`, `content_encoding {"type":"string"}`},
			"",
		},
		"JSON beside a file": {
			"3.0.3", "get", answers("{application/pdf: " + bytes + ", application/json: {schema: {type: object, properties: {a: {type: string}}}}}"),
			" ", nil,
			[]string{`a {"type":"string"}`},
			"",
		},
		"Swagger 2": {
			"", "post", "consumes: [multipart/form-data], produces: [image/*], parameters: [{in: formData, name: f, type: file, required: true, " +
				"description: It.}, {in: formData, name: n, type: integer}], responses: {'200': {schema: {type: file}}}",
			"multipart/form-data image/*",
			[]string{"f! " + aFile, `n {"type":"integer"}`},
			[]string{`content! {"contentEncoding":"base64","type":"string"}`, `content_type! {"type":"string"}`, `content_encoding {"type":"string"}`},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			head := "openapi: " + tt.version
			if tt.version == "" {
				head = "swagger: '2.0'"
			}
			found := convert(t, []byte(head+"\npaths: {/x: {"+tt.method+": {operationId: doIt, "+tt.operation+"}}}"), openapi.Options{})
			if len(found.Intents) != 1 {
				t.Fatalf("got %v", found.Unmapped)
			}
			in := catalog(t, found).Intents()[0]
			media := ""
			if in.Endpoint.HasBody() {
				media = in.Endpoint.ContentType
			}
			if got := media + " " + in.Endpoint.Accept; got != tt.endpoint {
				t.Errorf("endpoint %q, want %q", got, tt.endpoint)
			}
			if diff := cmp.Diff(tt.inputs, schemas(t, in.Inputs)); diff != "" {
				t.Error("inputs", diff)
			}
			if diff := cmp.Diff(tt.outputs, schemas(t, in.Outputs)); diff != "" {
				t.Error("outputs", diff)
			}
			if tt.note != "" && !foundText(found.Notes, tt.note) {
				t.Errorf("got %v", found.Notes)
			}
		})
	}
}

func schemas(t *testing.T, all []intents.Parameter) []string {
	t.Helper()
	var out []string
	for _, p := range all {
		if p.Description == "" && strings.Contains(asJSON(t, p.Schema), "base64") && p.Type == "string" {
			t.Errorf("the description of %s does not mention a file", p.Name)
		}
		delete(p.Schema, "description")
		if items, ok := p.Schema["items"].(map[string]any); ok {
			delete(items, "description")
		}
		name := p.Name
		if p.Required {
			name += "!"
		}
		out = append(out, name+" "+asJSON(t, p.Schema))
	}
	return out
}
