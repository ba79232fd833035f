package openapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/intents/openapi"
	"github.com/uimgate/uimgate/intents/openapi/read"
)

// The intents of a document accept and reject calls according to the constraints in the document.
func TestDocumentConstraintsApplyToCalls(t *testing.T) {
	for _, tt := range []struct{ document, uid, good, bad, keyword, pointer string }{
		{"library.yaml", "list-books:v2.1", `{"q":"go"}`, `{}`, "required", "/q"},
		{"library.yaml", "list-books:v2.1", `{"q":"go","year":null}`, `{"q":"go","year":1400}`, "exclusiveMinimum", "/year"},
		{"library.yaml", "list-books:v2.1", `{"q":"go","language":["de"]}`, `{"q":"go","language":["es"]}`, "enum", "/language/0"},
		{"library.yaml", "list-books:v2.1", `{"q":"go","isbn":"anything"}`, `{"q":"x"}`, "minLength", "/q"},
		{"library.yaml", "list-books:v2.1", `{"q":"go","page":3}`, `{"q":"go","page":0}`, "minimum", "/page"},
		{"library.yaml", "get-book:v2.1", `{"book_id":"c56a4180-65aa-42ec-a945-5fd21dec0538"}`, `{"book_id":"12"}`, "format", "/book_id"},
		{
			"library.yaml", "replace-book:v2.1", `{"book_id":1,"title":"T","price":0.05,"shelf_mark":"any"}`,
			`{"book_id":1,"title":"T","price":0.005}`, "multipleOf", "/price",
		},
		{
			"library.yaml", "replace-book:v2.1", `{"book_id":1,"title":"T","subtitle":null}`, `{"book_id":1,"title":"T","id":"x"}`,
			"additionalProperties", "/id",
		},
		{
			"library.yaml", "post-shelves:v2.1", `{"root":{"name":"A","inner":[{"name":"B","parent":{"name":"C"}}]}}`,
			`{"root":{"name":"A","inner":[{"name":"B","inner":[{"name":"b"}]}]}}`, "pattern", "/root/inner/0/inner/0/name",
		},
		{
			"legacy.json", "parcels-controller-find-all:v1", `{"depot":"HAM","state":"sent,lost","carrier":["a","b"]}`, `{"depot":"ham"}`, "pattern",
			"/depot",
		},
		{
			"legacy.json", "parcels-controller-create:v1", `{"depot":"HAM","weight":1,"to":{"city":"Kiel"}}`,
			`{"depot":"HAM","weight":0,"to":{"city":"Kiel"}}`, "exclusiveMinimum", "/weight",
		},
		{
			"legacy.json", "parcels-controller-create:v1", `{"depot":"HAM","weight":1,"to":{"city":"Kiel"},"serial":9223372036854775807}`,
			`{"depot":"HAM","weight":1,"to":{"city":"Kiel"},"serial":9223372036854775808}`, "format", "/serial",
		},
		{
			"legacy.json", "post-parcels-by-number-complaint:v1", `{"number":"1","reason":"late","amount":2.5}`, `{"number":"1","reason":"else"}`,
			"enum", "/reason",
		},
		{
			"zoo.yaml", "add-animal:v3", `{"name":"Leo","born":null,"friends":[{"name":"Mia","born":"2020-01-01"}]}`, `{"name":"Leo"}`, "required",
			"/born",
		},
		{
			"zoo.yaml", "add-animal:v3", `{"name":"Leo","born":"2020-01-01"}`, `{"name":"` + strings.Repeat("x", 51) + `","born":null}`, "maxLength",
			"/name",
		},
		{"zoo.yaml", "change-animal:v3", `{"id":1,"reason":"r","kind":"move","cage":4}`, `{"id":1,"reason":"r","kind":"sell"}`, "enum", "/kind"},
		{
			"zoo.yaml", "plan-feeding:v3", `{"animal":{"species":"tiger"},"food":null,"note":null,"amount":null}`,
			`{"animal":{"species":"fish"},"food":null}`, "", "",
		},
		{
			"zoo.yaml", "plan-feeding:v3", `{"animal":{"species":"Dog"},"food":{"kind":"a","mixed_with":[{"kind":"b"}]}}`,
			`{"animal":{"species":"Dog"},"food":{"mixed_with":[{"mixed_with":[{"kind":5}]}]}}`, "", "",
		},
		{
			"payments.yaml", "post-charges:v1", `{"amount":1,"currency":"EUR","card[number]":"1","expand":["a"]}`,
			`{"amount":0,"currency":"EUR"}`, "minimum", "/amount",
		},
		{"payments.yaml", "search-charges:v1", `{"expand[]":["a"],"created[gt]":5}`, `{"created[gt]":"x"}`, "type", "/created[gt]"},
	} {
		t.Run(tt.uid+" "+tt.keyword, func(t *testing.T) {
			in := lookup(t, catalog(t, convert(t, document(t, tt.document), openapi.Options{})), tt.uid)
			if _, violations := in.Validate(tree(t, tt.good)); len(violations) > 0 {
				t.Errorf("%s is refused: %v", tt.good, violations)
			}
			_, violations := in.Validate(tree(t, tt.bad))
			if len(violations) == 0 || tt.keyword != "" && (violations[0].Keyword != tt.keyword || violations[0].Pointer != tt.pointer) {
				t.Errorf("%s: %v, want %s at %s", tt.bad, violations, tt.keyword, tt.pointer)
			}
		})
	}
}

func TestParameterLocations(t *testing.T) {
	for _, tt := range []struct{ document, uid, method, address, media string }{
		{"library.yaml", "list-books:v2.1", "GET", "https://api.example.com/api/v2/books", ""},
		{"library.yaml", "get-book:v2.1", "GET", "https://api.example.com/api/v2/books/{book_id}", ""},
		{
			"legacy.json", "parcels-controller-create:v1", "POST", "https://api.example.com/rest/v1/depots/{depot}/parcels?notify={notify}",
			"application/json",
		},
		{
			"legacy.json", "post-parcels-by-number-complaint:v1", "POST", "https://api.example.com/rest/v1/parcels/{number}/complaint",
			"application/x-www-form-urlencoded",
		},
		{"zoo.yaml", "change-animal:v3", "PATCH", "https://api.example.com/animals/{id}?reason={reason}", "application/json"},
		{"shop.yaml", "amend-order:v1", "PATCH", "https://api.example.com/v1/orders/{id_in_path}", "application/json"},
		{"shop.yaml", "place-order:v1", "POST", "https://api.example.com/v1/orders?dry-run={dry-run}", "application/json"},
	} {
		in := lookup(t, catalog(t, convert(t, document(t, tt.document), openapi.Options{})), tt.uid)
		e := in.Endpoint
		if e.Method != tt.method || e.URL != tt.address || tt.media != "" && e.ContentType != tt.media {
			t.Errorf("%s: %s %s %s", tt.uid, e.Method, e.URL, e.ContentType)
		}
	}
}

// shaped returns the output of a strict Fit.
func shaped(i *intents.Intent, body any) (any, error) {
	fitted, err := i.Fit(body, false)
	return fitted.Output, err
}

func TestResponseOutputs(t *testing.T) {
	c := catalog(t, convert(t, document(t, "library.yaml"), openapi.Options{}))
	got, err := shaped(lookup(t, c, "list-books:v2.1"),
		tree(t, `{"items":[{"id":"not a uuid","title":"","secret_note":"s"}],"total":-1,"next":null,"more":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"items":[{"id":"not a uuid","secret_note":"s","title":""}],"next":null,"total":-1}`; asJSON(t, got) != want {
		t.Errorf("got %s, want %s", asJSON(t, got), want)
	}
	if _, err := shaped(lookup(t, c, "list-books:v2.1"), tree(t, `{"items":[]}`)); err == nil {
		t.Error("a missing required output of a read is accepted")
	}
	if _, err := shaped(lookup(t, c, "post-shelves:v2.1"), tree(t, `{}`)); err != nil {
		t.Errorf("a missing output of a write rejects the response: %v", err)
	}
	list := lookup(t, catalog(t, convert(t, document(t, "legacy.json"), openapi.Options{})), "parcels-controller-find-all:v1")
	if got, err := shaped(list, []any{}); err != nil || asJSON(t, got) != `{"result":[]}` {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestUnmappedOperationsHaveReasons(t *testing.T) {
	found := convert(t, document(t, "awkward.yaml"), openapi.Options{})
	if len(found.Intents) != 1 || found.Intents[0].UID.String() != namespace+":good:v1" {
		t.Errorf("offered: %v", found.Intents)
	}
	for operation, why := range map[string]string{
		"GET /header": `header "If-Match"`, "GET /cookie": `cookie "sid"`, "POST /multipart": "multipart/form-data", "POST /list": "type array",
		"POST /free": "not an object with named members", "GET /picture": "text/html", "GET /away": "redirect",
		"GET /remote": "https://evil.example/p.yaml#/P", "POST /file": "./schemas.yaml", "GET /dangling": "not in the document",
		"/circle": "refers to itself", "GET /elsewhere": "https://other.example/x", "GET /missing/{id}": `needs "id"`, "GET /../up": "segment",
		"GET /number": "not an object", "OPTIONS /options": "does not send OPTIONS", "DELETE /deletebody": "body",
		"GET /parameters": "not an object",
	} {
		if !foundText(found.Unmapped, operation+": ", why) {
			t.Errorf("%s: the reasons lack %q: %v", operation, why, found.Unmapped)
		}
	}
	if !found.UpstreamGuessed || found.Upstream != "http://127.0.0.1:9000/base" {
		t.Errorf("upstream %s", found.Upstream)
	}
}

func TestOmissionsAreNoted(t *testing.T) {
	for name, wants := range map[string][][]string{
		"library.yaml": {
			{"GET /books", `"isbn"`, "pattern", "look-around"},
			{"POST /shelves", "deprecated"},
			{"PUT /books/{book_id}", "shelf-mark"},
		},
		"legacy.json": {{"GET /depots", `"X-Trace"`}, {"GET /depots", `"zone"`, "tsv"}},
		"payments.yaml": {
			{"POST /v1/charges", "card[cvc]", "pattern"},
			{"SearchCharges", ""},
			{"GET /v1/charges/search", `"filter"`},
			{"2 servers"},
		},
	} {
		found := convert(t, document(t, name), openapi.Options{})
		for _, want := range wants {
			if want[0] != "SearchCharges" && !foundText(found.Notes, want...) {
				t.Errorf("%s: the notes lack %q: %v", name, want, found.Notes)
			}
		}
	}
}

func TestServersAndCredentials(t *testing.T) {
	library := convert(t, document(t, "library.yaml"), openapi.Options{})
	if library.Upstream != "https://eu.library.example/api/v2" {
		t.Errorf("upstream %s, want %q", library.Upstream, "https://eu.library.example/api/v2")
	}
	if legacy := convert(t, document(t, "legacy.json"), openapi.Options{}); legacy.Upstream != "https://parcels.example/rest/v1" {
		t.Errorf("upstream %s, want %q", legacy.Upstream, "https://parcels.example/rest/v1")
	}
	source, _ := url.Parse("https://docs.example:8443/specs/openapi.yaml")
	if found := convert(t, document(t, "awkward.yaml"), openapi.Options{Source: source}); found.Upstream != "https://docs.example:8443/base" {
		t.Errorf("upstream %s, want %q", found.Upstream, "https://docs.example:8443/base")
	}
	secured := convert(t, document(t, "secured.json"), openapi.Options{})
	if len(secured.Intents) != 1 || len(secured.Intents[0].Tree["input_parameters"].([]any)) != 0 {
		t.Errorf("the header of the credential is a parameter: %v, %v", secured.Intents, secured.Unmapped)
	}
	text := string(update(t, secured, nil).Write[openapi.ConfigFile])
	for _, want := range []string{
		`# auth: {header: "X-Api-Key: ${API_KEY}"}`, `# auth: {basic: "${BASIC_USER}:${BASIC_PASSWORD}"}`,
		`# auth: {header: "Authorization: Bearer ${TOKEN}"}`,
		"# 9lives: it belongs in the query: set it under fixed", `  #   "query:key": "${KEY}" # used by 1 operation`, "# mtls: ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Contains(line, "evil") && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			t.Errorf("a text of the document is in the configuration: %s", line)
		}
	}
	for flow, want := range map[string]string{
		"flows: {clientCredentials: {tokenUrl: 'https://l.example/token', scopes: {read: r, 'or:w': w}}}": `# auth: {oauth2: {token_url: "https://l.example/token", ` +
			`scopes: ["or:w", "read"], client_id: "${LOGIN_CLIENT_ID}", client_secret: "${LOGIN_CLIENT_SECRET}"}}`,
		"flows: {authorizationCode: {tokenUrl: 'https://l.example/token'}}":  `Bearer ${LOGIN}`,
		"flows: {clientCredentials: {tokenUrl: 'https://l.example/${KEY}'}}": `Bearer ${LOGIN}`,
		"flows: {clientCredentials: {tokenUrl: 'http://l.example/token'}}":   `Bearer ${LOGIN}`,
	} {
		found := convert(t, []byte("openapi: 3.0.3\npaths: {/a: {get: {responses: {'200': {description: ok}}}}}\ncomponents: {securitySchemes: {login: {type: oauth2, "+
			flow+"}}}"), openapi.Options{})
		if text := string(update(t, found, nil).Write[openapi.ConfigFile]); !strings.Contains(text, want) || strings.Contains(text, "${KEY}") {
			t.Errorf("%s: no %s in\n%s", flow, want, text)
		}
	}
	payments := convert(t, document(t, "payments.yaml"), openapi.Options{})
	if payments.IdempotencyHeader != "Idempotency-Key" {
		t.Errorf("idempotency header %q, want %q", payments.IdempotencyHeader, "Idempotency-Key")
	}
}

func TestSelection(t *testing.T) {
	all := document(t, "shop.yaml")
	for _, tt := range []struct {
		name string
		o    openapi.Options
		want []string
	}{
		{"by operationId", openapi.Options{Include: []string{"*Product*"}}, []string{"search-products", "get-product"}},
		{"by path", openapi.Options{Include: []string{"/orders/*"}}, []string{"amend-order", "cancel-order"}},
		{"exclude takes precedence", openapi.Options{Include: []string{"/orders*"}, Exclude: []string{"cancel*"}}, []string{"place-order", "amend-order"}},
		{"by tag", openapi.Options{Tags: []string{"catalogue"}}, []string{"search-products", "get-product"}},
	} {
		found := convert(t, all, tt.o)
		var got []string
		for _, in := range found.Intents {
			got = append(got, in.UID.Name)
		}
		if diff := cmp.Diff(sorted(tt.want), sorted(got)); diff != "" || found.Hidden != 6-len(tt.want) {
			t.Errorf("%s: %s, %d hidden", tt.name, diff, found.Hidden)
		}
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

func TestInvalidDocuments(t *testing.T) {
	deep := "openapi: 3.0.0\npaths:\n  /a: " + strings.Repeat("[", 100) + strings.Repeat("]", 100)
	bomb := "openapi: 3.0.0\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 9 {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i), 10), ","))
	}
	many := strings.Builder{}
	many.WriteString("openapi: 3.0.0\npaths:\n")
	for i := range openapi.MaxOperations + 1 {
		fmt.Fprintf(&many, "  /p%d: {get: {}}\n", i)
	}
	for name, tt := range map[string][2]string{
		"nothing": {"", "empty"}, "no version": {"a: 1", "neither openapi nor swagger"}, "old": {"swagger: '1.2'", `version is "1.2"`},
		"list": {"[1]", "not an object"}, "broken JSON": {`{"openapi": "3.0.0", "a": }`, "line 1 column"},
		"twice":    {"openapi: 3.0.0\nopenapi: 3.0.0", ""},
		"no paths": {"openapi: 3.0.0", "no paths"}, "deep": {deep, "nested deeper"}, "bomb": {bomb, ""},
		"operations": {many.String(), "more than 20000 operations"},
		"binary":     {"openapi: 3.0.0\nx: \xff\xfe", ""}, "html": {"<!DOCTYPE html><p>login</p>", ""},
		"YAML bomb": {"openapi: [" + strings.Repeat("{},", 5_000_000) + "]", "more YAML"},
	} {
		found, err := openapi.Convert(t.Context(), []byte(tt[0]), openapi.Options{Namespace: namespace})
		if !errors.Is(err, read.ErrDocument) || !strings.Contains(err.Error(), tt[1]) || found != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []openapi.Options{{}, {Namespace: "Not A Name"}, {Namespace: namespace, Include: []string{""}}} {
		if _, err := openapi.Convert(t.Context(), document(t, "shop.yaml"), o); !errors.Is(err, openapi.ErrOptions) {
			t.Errorf("%+v: %v, want %v", o, err, openapi.ErrOptions)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := openapi.Convert(ctx, document(t, "shop.yaml"), openapi.Options{Namespace: namespace}); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want %v", err, context.Canceled)
	}
}

func TestNames(t *testing.T) {
	one := func(id string) string {
		return `{"openapi":"3.0.0","info":{"version":"0"},"paths":{"/users/{id}/HTTPKeys":{"get":{"operationId":` + id +
			`,"parameters":[{"in":"path","name":"id","required":true}]}}}}`
	}
	for id, want := range map[string]string{
		`"listHTTPServers"`: "list-http-servers", `"list_http_servers"`: "list-http-servers", `"List HTTP servers!"`: "list-http-servers",
		`"users/get-v2"`: "users-get-v2", `"getV2Users"`: "get-v2-users", `null`: "get-users-by-id-http-keys",
		`"обновить"`: "get-users-by-id-http-keys", `"--"`: "get-users-by-id-http-keys",
	} {
		if got := convert(t, []byte(one(id)), openapi.Options{}).Intents[0].UID; got.Name != want || got.Version != "v0" || !got.Canonical() {
			t.Errorf("%s: %s", id, got)
		}
	}
	for version, want := range map[string]string{
		"2020-09-14_1.345.1": "v1", "2024.0": "v1", "20240501": "v1", "2024-05": "v1", "v2.1.4": "v2.1", "1.0.0": "v1", "30": "v30", "latest": "v1",
	} {
		text := strings.Replace(one("null"), `"version":"0"`, `"version":"`+version+`"`, 1)
		if got := convert(t, []byte(text), openapi.Options{}).Intents[0].UID.Version; got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
	text := strings.Replace(one("null"), `"version":"0"`, `"version":"2025-01-01"`, 1)
	earlier := map[string][]byte{ // with a name by an earlier version
		openapi.RecordFile: []byte(`{"version": 1, "operations": {"GET /users/{id}/HTTPKeys": "` + namespace + `:keys:v2024.5"}, "intents": {"` +
			namespace + `:keys:v2024.5": {}}}`),
		openapi.AgentsFile: []byte(`{"intents": [{"intent_uid": "` + namespace + `:keys:v2024.5"}]}`),
	}
	known, err := openapi.Curate(earlier, false)
	if err != nil {
		t.Fatal(err)
	}
	if got := convert(t, []byte(text), openapi.Options{Curation: known}).Intents[0].UID.String(); got != namespace+":keys:v2024.5" {
		t.Errorf("an existing intent was renamed to %s, want %s", got, namespace+":keys:v2024.5")
	}
	long := convert(t, []byte(one(`"`+strings.Repeat("veryLong", 40)+`"`)), openapi.Options{}).Intents[0].UID
	if len(long.Name) > 100 {
		t.Errorf("got %s, want Name a length of at most 100", long)
	}
	same := convert(t, []byte(`{"openapi":"3.1.0","info":{},"paths":{"/a":{"get":{"operationId":"doIt"},"post":{"operationId":"do_it"}},`+
		`"/b":{"get":{"operationId":"do-it"}}}}`), openapi.Options{})
	seen := map[string]bool{}
	for _, in := range same.Intents {
		seen[in.UID.String()] = true
	}
	if len(seen) != 3 {
		t.Errorf("names: %v, want length 3", seen)
	}
}

func TestTypesOfBodiesAreNamed(t *testing.T) {
	t.Parallel()
	found := convert(t, []byte(`{"openapi": "3.1.0", "info": {"title": "A", "version": "1"}, "paths": {"/a": {"post": {"operationId": "a",
		"requestBody": {"content": {"application/json": {"schema": {"type": ["string", "null"]}}}}, "responses": {"200": {"description": "b"}}}}}}`),
		openapi.Options{Namespace: "shop.example"})
	if !foundText(found.Unmapped, "its body has the type string or null; the gateway sends only objects") {
		t.Errorf("got %+v", found.Unmapped)
	}
}
