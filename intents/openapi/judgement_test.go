package openapi_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/intents/openapi"
)

const operated = `
openapi: 3.0.3
info: {title: T, version: 1.0.0}
servers: [{url: 'https://s.example'}]
paths:
  /things: {get: {operationId: listThings, responses: {'200': {description: ok}}}}
  /admin/users: {get: {operationId: listUsers, responses: {'200': {description: ok}}}}
  /admin-api/users: {post: {operationId: addUser, responses: {'200': {description: ok}}}}
  /actuator/health: {get: {operationId: getHealth, responses: {'200': {description: ok}}}}
  /teams/{id}/stats: {get: {operationId: getStats, parameters: [{name: id, in: path, required: true, schema: {type: string}}], responses: {'200': {description: ok}}}}
  /health-plans: {get: {operationId: listPlans, responses: {'200': {description: ok}}}}
  /administrators: {get: {operationId: listAdministrators, responses: {'200': {description: ok}}}}
  /jobs: {get: {operationId: listJobs, tags: [Internal API], responses: {'200': {description: ok}}}}
`

// Operations for the operator are listed and hidden, also with All, unless a person selects them.
func TestOperationsForTheOperatorAreHidden(t *testing.T) {
	dir, _ := again(t, nil, operated, openapi.Options{})
	wantNames(t, dir, "list-administrators:v1", "list-plans:v1", "list-things:v1")
	for _, want := range []string{
		"listUsers: {hidden: true, uid: api.example.com:list-users:v1} # GET /admin/users, reads, for the operator",
		"listJobs: {hidden: true,", "getStats: {hidden: true,", "getHealth: {hidden: true,",
	} {
		if !strings.Contains(string(dir[openapi.CurationFile]), want) {
			t.Errorf("%q is missing: %s", want, dir[openapi.CurationFile])
		}
	}
	all, _ := again(t, nil, operated, openapi.Options{All: true})
	wantNames(t, all, "list-administrators:v1", "list-plans:v1", "list-things:v1")
	selected, _ := again(t, nil, operated, openapi.Options{Tags: []string{"Internal API"}})
	wantNames(t, selected, "list-jobs:v1")
	named, _ := again(t, nil, operated, openapi.Options{Include: []string{"/admin/*"}})
	wantNames(t, named, "list-users:v1")
	edit(t, dir, openapi.CurationFile, "getStats: {hidden: true", "getStats: {hidden: false")
	dir, _ = again(t, dir, operated, openapi.Options{})
	wantNames(t, dir, "get-stats:v1", "list-administrators:v1", "list-plans:v1", "list-things:v1")
}

// An example of a response with status 200 that reports an error becomes a proposal for its intent.
func TestRefusalsInExamplesAreProposed(t *testing.T) {
	const start = `{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "servers": [{"url": "https://s.example"}],
		"components": {"examples": {"Bad": {"value": {"success": false}}}, "schemas": {"Ok": {"type": "boolean", "example": false}}}, "paths": {`
	operation := func(id, media string) string {
		return `"/` + id + `": {"get": {"operationId": "` + id + `", "responses": {"200": {"description": "ok", "content": {"application/json": ` +
			media + `}}}}}`
	}
	document := start + strings.Join([]string{
		operation("one", `{"example": {"ok": false, "error": "none left"}}`),
		operation("two", `{"examples": {"good": {"value": {"success": true}}, "bad": {"$ref": "#/components/examples/Bad"}}}`),
		operation("three", `{"schema": {"type": "object", "properties": {"n": {"type": "integer"}}, "examples": [{"status": "Error"}]}}`),
		operation("four", `{"schema": {"type": "object", "properties": {"ok": {"$ref": "#/components/schemas/Ok"}}}}`),
		operation("five", `{"example": {"ok": true, "status": "done", "error": "none"}}`),
		operation("six", `{"example": {"data": {"ok": false}}}`),
	}, ", ") + `}}`
	dir, _ := rerun(t, nil, document, openapi.Options{})
	text := string(dir[openapi.ConfigFile])
	for _, want := range []string{
		"  # intents:\n", `  #   "api.example.com:one:v1": {error_when: {pointer: /ok, equals: false}}` + "\n",
		`  #   "api.example.com:two:v1": {error_when: {pointer: /success, equals: false}}` + "\n",
		`  #   "api.example.com:three:v1": {error_when: {pointer: /status, equals: "Error"}}` + "\n",
		`  #   "api.example.com:four:v1": {error_when: {pointer: /ok, equals: false}}` + "\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	for _, unwanted := range []string{"five", "six"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("%s has a proposal:\n%s", unwanted, text)
		}
	}
	edit(t, dir, openapi.CurationFile, "one: {hidden: false,", "one: {hidden: false, agreement: fresh, price: 0.10 EUR,")
	dir, _ = rerun(t, dir, document, openapi.Options{})
	for _, want := range []string{
		`  intents:` + "\n" + `    "api.example.com:one:v1": {agreement: fresh} # add error_when: {pointer: /ok, equals: false}, because`,
		`  #   "api.example.com:two:v1": {error_when`, "agent that you have not approved may owe at most a tenth of it, 2 calls",
	} {
		if !strings.Contains(string(dir[openapi.ConfigFile]), want) {
			t.Errorf("%q is missing:\n%s", want, dir[openapi.ConfigFile])
		}
	}
}

func TestRefusalsInExamplesOfSwagger(t *testing.T) {
	dir, _ := rerun(t, nil, `{"swagger": "2.0", "info": {"title": "T", "version": "1"}, "host": "s.example", "schemes": ["https"],
		"produces": ["application/json"], "paths": {"/a": {"get": {"operationId": "a", "responses": {"200": {"description": "ok",
		"schema": {"type": "object"}, "examples": {"application/json": {"ok": false}}}}}}}}`, openapi.Options{})
	if want := `"api.example.com:a:v1": {error_when: {pointer: /ok, equals: false}}`; !strings.Contains(string(dir[openapi.ConfigFile]), want) {
		t.Errorf("%q is missing:\n%s", want, dir[openapi.ConfigFile])
	}
}

// If every operation returns ok, error_when is proposed for the whole service, even if there are few.
func TestErrorWhenOfFewOperations(t *testing.T) {
	const text = `
openapi: 3.0.3
info: {title: T, version: 1.0.0}
servers: [{url: 'https://s.example'}]
paths:
  /a: {get: {operationId: a, responses: {'200': {description: ok, content: {application/json: {schema: {type: object, properties: {ok: {type: boolean}}}}}}}}}
  /b: {get: {operationId: b, responses: {'200': {description: ok, content: {application/json: {schema: {type: object, properties: {OK}}}}}}}}
`
	for second, want := range map[string]bool{"ok: {type: boolean}": true, "n: {type: integer}": false} {
		dir, _ := rerun(t, nil, strings.Replace(text, "OK", second, 1), openapi.Options{})
		if got := strings.Contains(string(dir[openapi.ConfigFile]), "\n  # error_when: {pointer: /ok, equals: false}"); got != want {
			t.Errorf("%s: proposed for the service: %t, want %t", second, got, want)
		}
	}
}
