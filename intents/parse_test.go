package intents_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const shop = `{
  "service-info": {"name": "Example Shop", "description": "A shop", "service_url": "https://api.example.com"},
  "intents": [
    {
      "intent_uid": "example.com:search-products:v1", "intent_name": "SearchProducts", "description": "Search for laptops and other goods",
      "input_parameters": [
        {"name": "query", "type": "string", "required": true, "description": "words", "minLength": 2, "maxLength": 40},
        {"name": "category", "type": "string", "enum": ["books", "electronics"]},
        {"name": "limit", "type": "integer", "default": 10, "constraints": {"minimum": 1, "maximum": 100}}
      ],
      "output_parameters": [
        {"name": "products", "type": "array", "from": "/data/items", "items": {"type": "object"}},
        {"name": "total_results", "type": "integer", "required": true, "from": "/data/n"}
      ],
      "endpoint": {"url": "https://api.example.com/products/search", "method": "POST", "content_type": "application/json"},
      "tags": ["e-commerce", "search"], "category": "e-commerce", "version": "v1", "rate_limit": "1000/hour", "price": "0.01 USD"
    },
    {
      "intent_uid": "example.com:get-product:v2", "intent_name": "GetProduct", "description": "One product",
      "input_parameters": [{"name": "id", "type": "string", "required": true}],
      "endpoint": {"url": "https://api.example.com/products/{id}?full={full}", "method": "get"},
      "tags": ["e-commerce"]
    }
  ],
  "uim-policy-file": "https://example.com/policy.json",
  "uim-compliance": {"standards": ["GDPR"], "regional-compliance": {"EU": "GDPR"}, "notes": "n"},
  "uim-license": null
}`

func strict(tb testing.TB, doc string) *intents.Catalog {
	tb.Helper()
	c, list := intents.Parse([]byte(doc), intents.Options{Strict: true})
	if c == nil {
		tb.Fatalf("got %v", list)
	}
	return c
}

// one returns a catalogue of one intent with these members in addition to uid, name and description.
func one(members string) string {
	return `{"service-info": {"name": "S"}, "intents": [{"intent_uid": "example.com:it:v1", "intent_name": "It", "description": "d", ` +
		members + `}]}`
}

func tree(t *testing.T, s string) any {
	t.Helper()
	v, err := strictjson.Decode([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestCoreDialect(t *testing.T) {
	c := strict(t, strings.Replace(shop, "?full={full}", "", 1))
	if c.Dialect != intents.Core || c.Service.Name != "Example Shop" || c.Service.URL != "https://api.example.com" ||
		c.PolicyFile != "https://example.com/policy.json" || c.Compliance.Regional["EU"] != "GDPR" || c.License != "" {
		t.Errorf("got %+v", c)
	}
	i, ok := c.Lookup(intents.UID{Namespace: "example.com", Name: "search-products", Version: "v1"})
	if !ok {
		t.Fatal("not found")
	}
	want := intents.Endpoint{URL: "https://api.example.com/products/search", Method: "POST", ContentType: "application/json"}
	if *i.Endpoint != want {
		t.Errorf("endpoint %+v", i.Endpoint)
	}
	if i.Name != "SearchProducts" || i.Price != "0.01 USD" || i.RateLimit != "1000/hour" || i.Category != "e-commerce" || i.Safe || i.Retired {
		t.Errorf("got %+v", i)
	}
	if p := i.Inputs[2]; p.Name != "limit" || p.Type != "integer" || p.Required || !p.HasDefault || p.Default != json.Number("10") ||
		p.Schema["maximum"] != json.Number("100") {
		t.Errorf("got %+v", p)
	}
	if p := i.Outputs[1]; p.From != "/data/n" || !p.HasFrom || !p.Required {
		t.Errorf("got %+v", p)
	}
	get, _ := c.Lookup(intents.UID{Namespace: "example.com", Name: "get-product", Version: "v2"})
	if get.Endpoint.Method != http.MethodGet || !get.Safe {
		t.Errorf("GET is not safe: %+v", get)
	}
	if got := c.Namespaces(); !cmp.Equal(got, []string{"example.com"}) {
		t.Error(got)
	}
	if got := c.ByTitle("GetProduct"); len(got) != 1 || got[0] != get {
		t.Errorf("got %+v; want length 1 and [0] %v", got, get)
	}
}

func TestReferenceServiceDialect(t *testing.T) {
	c := strict(t, `{"service-info": {"name": "homes.example", "description": "…", "service_url": "http://127.0.0.1:4000"},
 "intents": [{"intent_uid": "homes.example:findHome:v1", "intent_name": "FindHome", "description": "…",
   "input_parameters": {"city": {"title": "City", "type": "string"}, "max_rent": {"default": null, "title": "Max Rent", "type": "integer"},
     "area": {"anyOf": [{"type": "string", "maxLength": 5}, {"type": "null"}], "default": null, "title": "Area"}, "sort": {"type": `+
		`"string", "default": "rent"}},
   "output_parameters": {"homes": {"items": {}, "title": "Homes", "type": "array"}, "total": {"title": "Total", "type": "integer"}},
   "tags": ["real estate"], "rate_limit": "1000/hour", "price": "0.01 USD"}],
 "uim-public-key": "TUlJ", "uim-policy-file": "http://127.0.0.1:4000/uim-policy.json",
 "uim-api-discovery": "http://127.0.0.1:4000/uim/intents/search", "uim-api-execute": "http://127.0.0.1:4000/uim/execute",
 "uim-compliance": {"standards": ["GDPR"], "regional-compliance": {"EU": "GDPR"}, "notes": "…"}, "uim-license": null}`)
	i := c.Intents()[0]
	if i.Endpoint != nil || c.Execute != "http://127.0.0.1:4000/uim/execute" {
		t.Errorf("got %+v", i)
	}
	var names []string
	for _, p := range i.Inputs {
		names = append(names, p.Name)
	}
	if !cmp.Equal(names, []string{"city", "max_rent", "area", "sort"}) {
		t.Errorf("the order of the map changed: %v", names)
	}
	filled, violations := i.Validate(map[string]any{"city": "Ulm", "max_rent": nil})
	if len(violations) > 0 || !cmp.Equal(filled, strictjson.Object{"city": "Ulm", "area": nil, "sort": "rent"}) {
		t.Errorf("got %v, %v", filled, violations)
	}
	if _, violations = i.Validate(map[string]any{}); len(violations) != 1 || violations[0].Reason != reason.MissingParameter ||
		violations[0].Pointer != "/city" {
		t.Errorf("got %+v; want length 1, [0].Reason %v and [0].Pointer %q", violations, reason.MissingParameter, "/city")
	}
	if _, violations = i.Validate(map[string]any{"city": "Ulm", "area": "centre"}); len(violations) != 1 ||
		violations[0].Keyword != "maxLength" {
		t.Errorf("got %+v; want length 1 and [0].Keyword %q", violations, "maxLength")
	}
	if out, err := shaped(i, map[string]any{"homes": []any{}}); err != nil || !cmp.Equal(out, map[string]any{"homes": []any{}}) {
		t.Errorf("a missing output from a map: %v, %v", out, err)
	}
}

func TestOtherDialects(t *testing.T) {
	draft := strict(t, `{"service": {"name": "D", "version": "1", "urls": {"service": "https://d.example", "terms": "https://d.example/t"}},
	  "intents": [{"uid": "d.example:do-it:v1", "name": "DoIt", "description": "d", "endpoint": {"url": "https://d.example/x", "method": `+
		`"POST"}}],
	  "security": {"public_key": "PEM", "policy_url": "https://d.example/p.json", "supported_auth_methods": ["pat"]},
	  "compliance": {"standards": ["GDPR"], "certifications": ["ISO27001"]}}`)
	if draft.Dialect != intents.Draft || draft.Service.TermsURL != "https://d.example/t" || draft.PublicKey != "PEM" ||
		draft.PolicyFile != "https://d.example/p.json" || draft.Compliance.Certifications[0] != "ISO27001" || draft.Intents()[0].Name != "DoIt" {
		t.Errorf("got %+v", draft)
	}
	crawler := strict(t, `{"service_info": {"name": "C"}, "intents": []}`)
	if crawler.Dialect != intents.Crawler || crawler.Service.Name != "C" {
		t.Errorf("got %+v; want Dialect %v and Service.Name %q", crawler, intents.Crawler, "C")
	}
	for _, doc := range []string{
		`{"agentsJson": "0.1.0", "info": {}, "sources": [], "flows": []}`,
		`{"info": {}, "sources": [], "flows": []}`,
	} {
		for _, opts := range []intents.Options{{}, {Strict: true}} {
			c, list := intents.Parse([]byte(doc), opts)
			if c != nil || len(list) != 1 || list[0].Code != "foreign" || !strings.Contains(list[0].Message, "agents-json") {
				t.Errorf("got %v", list)
			}
		}
	}
	bare := strict(t, one(`"endpoint": "https://example.com/x"`)).Intents()[0]
	if *bare.Endpoint != (intents.Endpoint{URL: "https://example.com/x", Method: "POST", ContentType: "application/json"}) {
		t.Errorf("got %+v", bare.Endpoint)
	}
}

// An error in the operator's document has its pointer and the nearest valid name.
func TestStrictErrors(t *testing.T) {
	in := func(p string) string { return one(`"input_parameters": [{"name": "a", ` + p + `}]`) }
	for _, tt := range []struct{ name, doc, pointer, message string }{
		{"wrong case", `{"service-info": {"name": "S"}, "Intents": []}`, "/Intents", "did you mean intents?"},
		{"wrong case in an intent", one(`"Tags": []`), "/intents/0/Tags", "did you mean tags?"},
		{"mistyped member", one(`"tags": "a"`), "/intents/0/tags", "must be a list"},
		{"no intents", `{"service-info": {"name": "S"}}`, "/intents", "missing"},
		{"intents is not a list", `{"service-info": {"name": "S"}, "intents": {}}`, "/intents", "list"},
		{"bad uid", strings.Replace(one(`"tags": []`), ":v1", ":1", 1), "/intents/0/intent_uid", "version"},
		{"truncated", shop[:900], "/intents/0/endpoint/url", "ends too early"},
		{"empty", "", "", "ends too early"},
		{"not an object", "[]", "", "want a JSON object"},
		{"trailing bytes", `{"intents": []} x`, "", "more bytes"},
		{"duplicate key at the top", `{"intents": [], "intents": []}`, "/intents", "occurs twice"},
		{"duplicate key below", one(`"tags": [], "tags": []`), "/intents/0/tags", "occurs twice"},
		{
			"deep nesting", one(`"x-a": ` + strings.Repeat("[", 100) + strings.Repeat("]", 100)), "/intents/0/x-a" + strings.Repeat("/0", 61),
			"deeper",
		},
		{
			"very deep nesting", one(`"x-a": ` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)),
			"/intents/0/x-a" + strings.Repeat("/0", 61), "deeper",
		},
		{"NUL", one(`"category": "a\u0000"`), "/intents/0/category", "U+0000"},
		{"invalid UTF-8", one("\"category\": \"\xff\""), "/intents/0/category", "UTF-8"},
		{"invalid UTF-8 in a name", "{\"\xff\": 1, \"intents\": []}", "", "UTF-8"},
		{"unknown type", in(`"type": "strng"`), "/intents/0/input_parameters/0/type", "did you mean string?"},
		{"unknown keyword", in(`"type": "string", "maxlenght": 3`), "/intents/0/input_parameters/0/maxlenght", "did you mean maxLength?"},
		{"unknown format", in(`"type": "string", "format": "e-mail"`), "/intents/0/input_parameters/0/format", "did you mean email?"},
		{"keyword of wrong type", in(`"type": "string", "maxLength": "3"`), "/intents/0/input_parameters/0/maxLength", "whole number"},
		{"keyword twice", in(`"minimum": 1, "constraints": {"minimum": 2}`), "/intents/0/input_parameters/0/constraints/minimum", "both"},
		{
			"lookahead", in(`"type": "string", "pattern": "^(?=a)b"`), "/intents/0/input_parameters/0/pattern",
			"intent example.com:it:v1: the pattern",
		},
		{"back-reference", in(`"type": "string", "pattern": "(a)\\1"`), "/intents/0/input_parameters/0/pattern", "RE2"},
		{"bad pattern below", in(`"type": "array", "items": {"pattern": "("}`), "/intents/0/input_parameters/0/items/pattern", "missing closing"},
		{
			"bad patternProperties", in(`"type": "object", "patternProperties": {"(?!x)": {}}`),
			"/intents/0/input_parameters/0/patternProperties/(?!x)", "RE2",
		},
		{"default against type", in(`"type": "integer", "default": "1"`), "/intents/0/input_parameters/0/default", "of type"},
		{
			"default against maximum", in(`"type": "integer", "maximum": 9007199254740992, "default": 9007199254740993`),
			"/intents/0/input_parameters/0/default", "at most 9007199254740992",
		},
		{
			"default of a required one", in(`"type": "integer", "required": true, "default": 1`), "/intents/0/input_parameters/0/default",
			"required",
		},
		{"remote ref", in(`"$ref": "https://evil.example/s.json"`), "/intents/0/input_parameters/0/$ref", "never loaded"},
		{"file ref", in(`"anyOf": [{"$ref": "file:///etc/passwd"}]`), "/intents/0/input_parameters/0/anyOf/0/$ref", "never loaded"},
		{"relative ref", in(`"$ref": "other.json#/a"`), "/intents/0/input_parameters/0/$ref", "never loaded"},
		{"ref without target", in(`"$ref": "#/$defs/b"`), "/intents/0/input_parameters/0/$ref", "no schema"},
		{"ref to data", in(`"$ref": "#/enum/0", "enum": [{}]`), "/intents/0/input_parameters/0/$ref", "no schema"},
		{"ref to itself", in(`"$ref": "#"`), "/intents/0/input_parameters/0", "leads back"},
		{
			"ref cycle", in(`"$ref": "#/$defs/b", "$defs": {"b": {"allOf": [{"$ref": "#/$defs/c"}]}, "c": {"$ref": "#/$defs/b"}}`),
			"/intents/0/input_parameters/0", "leads back",
		},
		{"base changed", in(`"$id": "https://evil.example/"`), "/intents/0/input_parameters/0/$id", "not allowed"},
		{"dynamic ref", in(`"items": {"$dynamicRef": "#x"}`), "/intents/0/input_parameters/0/items/$dynamicRef", "not allowed"},
		{"exponential refs", in(bomb(20)), "/intents/0/input_parameters/0", "too much work"},
		{"exponential depth", in(`"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}`), "/intents/0/input_parameters/0", "too much work"},
		{
			"deep schema", in(`"items": ` + strings.Repeat(`{"items": `, 40) + "{}" + strings.Repeat("}", 40)),
			"/intents/0/input_parameters/0/items" + strings.Repeat("/items", 32), "nested deeper",
		},
		{
			"parameter twice", one(`"input_parameters": [{"name": "a", "type": "any"}, {"name": "a", "type": "any"}]`),
			"/intents/0/input_parameters", "twice",
		},
		{"parameter without name", one(`"input_parameters": [{"type": "any"}]`), "/intents/0/input_parameters/0/name", "name"},
		{"schema for parameters", one(`"input_parameters": {"type": "object", "properties": {}}`), "/intents/0/input_parameters", "JSON Schema"},
		{"from on an input", in(`"type": "any", "from": "/a"`), "/intents/0/input_parameters/0/from", "output"},
		{
			"bad from", one(`"output_parameters": [{"name": "a", "type": "any", "from": "a"}]`), "/intents/0/output_parameters/0/from",
			"JSON pointer",
		},
		{
			"endpoint accept", one(`"endpoint": {"url": "https://example.com/", "accept": "application/pdf, pdf;q=1"}`), "/intents/0/endpoint/accept",
			"pdf;q=1",
		},
		{
			"endpoint whole body", one(`"endpoint": {"url": "https://example.com/", "content_type": "application/octet-stream"}`),
			"/intents/0/endpoint/content_type", "one parameter",
		},
		{"relative endpoint", one(`"endpoint": "/a"`), "/intents/0/endpoint", "absolute"},
		{"endpoint scheme", one(`"endpoint": {"url": "file:///etc/passwd"}`), "/intents/0/endpoint/url", "absolute"},
		{"endpoint password", one(`"endpoint": {"url": "https://u:canary@example.com/"}`), "/intents/0/endpoint/url", "user name"},
		{"endpoint method", one(`"endpoint": {"url": "https://example.com/", "method": "TRACE"}`), "/intents/0/endpoint/method", "TRACE"},
		{
			"endpoint body", one(`"endpoint": {"url": "https://example.com/", "content_type": "text/xml"}`), "/intents/0/endpoint/content_type",
			"application/json",
		},
		{"placeholder in host", one(`"endpoint": "https://{a}.example.com/"`), "/intents/0/endpoint", "placeholder"},
		{"placeholder unknown", one(`"endpoint": "https://example.com/{a}"`), "/intents/0/endpoint", "{a}"},
		{"placeholder in query name", one(`"endpoint": "https://example.com/?{a}=1"`), "/intents/0/endpoint", "placeholder"},
		{
			"policy url", `{"service-info": {"name": "S"}, "intents": [], "uim-policy-file": "javascript:alert(1)"}`, "/uim-policy-file",
			"absolute",
		},
		{"two services", `{"service-info": {"name": "S"}, "service": {"name": "T"}, "intents": []}`, "/service", "both"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, list := intents.Parse([]byte(tt.doc), intents.Options{Strict: true})
			if c != nil || !list.Failed() {
				t.Fatalf("accepted: %v", list)
			}
			for _, p := range list {
				if strings.Contains(p.Message, "canary") {
					t.Errorf("the problems contain a value of the document: %s", p)
				}
				if p.Level == problem.Error && p.Pointer == tt.pointer && strings.Contains(p.Message, tt.message) {
					return
				}
			}
			t.Errorf("want %q at %q in\n%v", tt.message, tt.pointer, list)
		})
	}
}

// bomb returns a schema that applies 2^n schemas to one value.
func bomb(n int) string {
	var defs []string
	for i := range n {
		defs = append(defs, fmt.Sprintf(`"d%d": {"allOf": [{"$ref": "#/$defs/d%d"}, {"$ref": "#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	return fmt.Sprintf(`"$ref": "#/$defs/d0", "$defs": {%s, "d%d": {"type": "string"}}`, strings.Join(defs, ", "), n)
}

func TestStrictWarnings(t *testing.T) {
	c, list := intents.Parse([]byte(strings.Replace(one(`"price": "cheap", "rate_limit": "often"`), ":it:", ":doIt:", 1)),
		intents.Options{Strict: true})
	if c == nil || len(list) != 3 {
		t.Fatal(list)
	}
	for i, want := range []string{"a-z, 0-9", "1000/hour", "0.01 USD"} {
		if list[i].Level != problem.Warning || !strings.Contains(list[i].Message, want) {
			t.Errorf("got %+v; want Level %v and Message containing %q", list[i], problem.Warning, want)
		}
	}
}

func TestDuplicateUIDs(t *testing.T) {
	i := `{"intent_uid": "example.com:it:v1", "intent_name": "It", "description": "d"}`
	doc := []byte(`{"service-info": {"name": "S"}, "intents": [` + i + `,` + i + `]}`)
	c, list := intents.Parse(doc, intents.Options{Strict: true})
	if c != nil || len(list) != 1 || list[0].Code != "duplicate" || list[0].Pointer != "/intents/1/intent_uid" {
		t.Error(list)
	}
	if c, list = intents.Parse(doc, intents.Options{}); c == nil || len(c.Intents()) != 1 || len(list) != 1 || list.Failed() {
		t.Error(list)
	}
}

// Lenient parsing keeps all usable parts.
func TestLenientOmitsOnlyInvalidIntents(t *testing.T) {
	doc := "{\"intents\": [42, {\"intent_uid\": \"nonsense\"}, {\"intent_uid\": \"a.example:dup:v1\", \"tags\": [], \"tags\": []}, {\"x\": " +
		"\"\xff\"}," +
		`{"intent_uid": "a.example:ref:v1", "input_parameters": [{"name": "a", "$ref": "https://evil.example/"}]},
		 {"intent_uid": "a.example:deep:v1", "x": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `},
		 {"intent_uid": "a.example:good:v1", "tags": "no list", "surprise": 1, "uid": null,
		  "input_parameters": [{"name": "a", "type": "date", "format": "fancy", "unheard": 1, "default": null}, {"name": "b", "type": ` +
		`"integer", "default": "x"}]}],
		 "extra": {}, "uim-license": 7}`
	c, list := intents.Parse([]byte(doc), intents.Options{})
	if c == nil || list.Failed() {
		t.Fatal(list)
	}
	if len(c.Intents()) != 1 || c.Intents()[0].UID.Name != "good" || c.Intents()[0].Name != "good" {
		t.Fatalf("got %v %v; want length 1, [0].UID.Name %q and [0].Name %q", c.Intents(), list, "good", "good")
	}
	if left := strings.Count(fmt.Sprint(list), "(left out)"); left != 6 {
		t.Errorf("%d left out, want 6: %v", left, list)
	}
	filled, violations := c.Intents()[0].Validate(map[string]any{"a": json.Number("1")})
	if violations != nil || len(filled) != 1 {
		t.Errorf("got %v, %v; want length 1, nil", filled, violations)
	}
	if c, list := intents.Parse([]byte("{"), intents.Options{}); c != nil || !list.Failed() {
		t.Error("an unreadable document is accepted")
	}
}

func TestOversizedDocuments(t *testing.T) {
	many := `{"intents": [` + strings.Repeat("0,", intents.MaxIntents) + `0]}`
	if c, list := intents.Parse([]byte(many), intents.Options{}); c != nil || list[0].Code != "too-many" {
		t.Error(list)
	}
	if c, list := intents.Parse(make([]byte, intents.MaxDocument+1), intents.Options{}); c != nil || list[0].Code != "too-large" {
		t.Error(list)
	}
	list := strings.Repeat(`{"name": "", "x": 1},`, 5000)
	if c, list := intents.Parse([]byte(one(`"input_parameters": [`+list+`{}]`)), intents.Options{Strict: true}); c != nil || len(list) > 1001 {
		t.Errorf("%d problems", len(list))
	}
}
