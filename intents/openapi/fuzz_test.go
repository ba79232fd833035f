package openapi_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/intents/openapi/read"
)

// FuzzConvert checks that a document is either rejected with an error of this package, or that the strict parser accepts the result, an
// update does not change it, and it is complete.
func FuzzConvert(f *testing.F) {
	for _, seed := range []string{ // short ones, because the engine minimizes each new input
		"openapi: 3.1.0\npaths: {/a: {get: {parameters: [{name: q, in: query, schema: {type: [integer, 'null'], exclusiveMinimum: 1}}], " +
			"responses: {'200': {content: {application/json: {schema: {type: object, required: [a], properties: {a: {type: string}}}}}}}}}}",
		"openapi: 3.0.0\npaths: {/a/{b}: {put: {parameters: [{name: b, in: path}], requestBody: {content: {application/json: {schema: {$ref: " +
			"'#/s'}}}}}}}\ns: {allOf: [{properties: {n: {$ref: '#/s'}, p: {nullable: true, pattern: '(?=a)'}}}, {oneOf: [{$ref: '#/s'}]}]}",
		"openapi: 3.0.0\nservers: [{url: 'https://{r}.x/v1', variables: {r: {default: eu}}}]\npaths: {'/a?b=c#d': {post: {requestBody: " +
			"{content: {application/x-www-form-urlencoded: {encoding: {a: {style: deepObject}}, schema: {properties: {a: {type: object, " +
			"properties: {b: {}}}}}}}}}}}",
		"swagger: 2.0\nparameters: {a: {in: {}, name: []}}\npaths: {/x: {get: {parameters: [{$ref: '#/parameters/a'}, {in: query, name: l, " +
			"type: array, items: {type: string}}]}, post: {parameters: [{in: formData, name: f, type: string}]}}}",
		`{"openapi":"3.1.0","paths":{"/a{b}":{"post":{"parameters":[{"in":"path","name":"b","schema":{"$ref":"#/paths"}}],` +
			`"requestBody":{"content":{"*/*":{"schema":{"oneOf":[{},true]}}}}}}}}`,
		`{"openapi":"3.0.1","paths":{"/a":{"get":{"parameters":[{"in":"query","name":"o","style":"deepObject","schema":{"type":"object",` +
			`"properties":{"p":{"type":"integer","default":"x"}}}}]}}},"components":{"securitySchemes":{"k":{"type":"apiKey","in":"header",` +
			`"name":"K"}}}}`,
		"openapi: 3.1.0\npaths: {/a: {post: {requestBody: {content: {multipart/form-data: {encoding: {f: {contentType: 'image/*, a'}}, schema: " +
			"{properties: {f: {items: {}}, g: {type: string, contentMediaType: a/b}}}}, 'a/b+json': {}}}, responses: {'200': {content: {a/b: {}}}}}}}",
		"openapi: &v 3.0.0\nx: &x {get: {operationId: a, tags: [t]}}\npaths: {/a: *x, /b: {<<: *x, post: {deprecated: true}}}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		found, err := openapi.Convert(ctx, data, openapi.Options{Namespace: namespace})
		if err != nil {
			// The text of a recovered panic.
			if found != nil || !errors.Is(err, read.ErrDocument) || strings.HasSuffix(err.Error(), ": it cannot be read") {
				t.Fatalf("got %v, %v", found, err)
			}
			return
		}
		result, err := found.Update(nil, false)
		if err != nil {
			if !errors.Is(err, read.ErrDocument) || len(found.Intents) > 0 {
				t.Fatal(err)
			}
			return
		}
		c, problems := intents.Parse(result.Write[openapi.AgentsFile], intents.Options{Strict: true})
		if problems.Failed() {
			t.Fatalf("refused: %v\n%s", problems, result.Write[openapi.AgentsFile])
		}
		if len(c.Intents()) != len(found.Intents) {
			t.Fatalf("%d intents of %d", len(c.Intents()), len(found.Intents))
		}
		for _, in := range c.Intents() {
			if !in.UID.Canonical() || in.Endpoint == nil {
				t.Fatalf("got %s", in.JSON())
			}
		}
		curated, err := openapi.Curate(result.Write, false)
		if err != nil {
			t.Fatal(err)
		}
		again, err := openapi.Convert(ctx, data, openapi.Options{Namespace: namespace, Curation: curated})
		if err != nil {
			t.Fatal(err)
		}
		next, err := again.Update(result.Write, false)
		if err != nil || next.Added+next.Changed+next.Retired != 0 ||
			string(next.Write[openapi.AgentsFile]) != string(result.Write[openapi.AgentsFile]) {
			t.Fatalf("running again: %v, %+v", err, next)
		}
	})
}
