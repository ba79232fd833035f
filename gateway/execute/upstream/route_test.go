package upstream_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/internal/strictjson"
)

func TestNewRefuses(t *testing.T) {
	for name, change := range map[string]func(*upstream.Config){
		"url: missing":        func(c *upstream.Config) { c.URL = nil },
		"want http":           func(c *upstream.Config) { c.URL = mustURL(t, "ftp://x") },
		"the host is missing": func(c *upstream.Config) { c.URL = mustURL(t, "http:///x") },
		"auth.basic":          func(c *upstream.Config) { c.URL = mustURL(t, "http://u:s3cret@x") },
		"query or fragment":   func(c *upstream.Config) { c.URL = mustURL(t, "http://x?s3cret") },
		". or ..":             func(c *upstream.Config) { c.URL = mustURL(t, "http://x/a/%2e%2e") },
		"path is too long":    func(c *upstream.Config) { c.URL = mustURL(t, "http://x/"+strings.Repeat("a", 5000)) },
		"execute":             func(c *upstream.Config) { c.Execute = "uim/execute" },
		"execute: want":       func(c *upstream.Config) { c.Execute = "/x/{id}" },
		"idempotency_header":  func(c *upstream.Config) { c.IdempotencyHeader = "Host" },
		"two values": func(c *upstream.Config) {
			c.AuthHeaders = headers("A", "s3cret", "a", "s3cret")
		},
		"cannot be used": func(c *upstream.Config) {
			c.AuthHeaders = headers("UIM-Agent-Id", "s3cret")
		},
		`"A B"`:        func(c *upstream.Config) { c.AuthHeaders = headers("A B", "s3cret") },
		"the value is": func(c *upstream.Config) { c.AuthHeaders = headers("A", "s3cret\r\nX: y") },
	} {
		cfg := settings(t, "http://127.0.0.1:1")
		change(&cfg)
		u, err := upstream.New(cfg)
		if u != nil || err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCredentialsDoNotPrint(t *testing.T) {
	cfg := settings(t, "http://127.0.0.1:1")
	cfg.AuthHeaders = headers("A", "s3cret")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, cfg); strings.Contains(s, "s3cret") {
			t.Errorf("%s: %s", verb, s)
		}
	}
}

func TestRouteRefuses(t *testing.T) {
	u := open(t, settings(t, "http://10.0.0.9:9000/v2"))
	type e = upstream.Endpoint
	for _, tt := range []struct {
		want     error
		text     string
		endpoint e
	}{
		{upstream.ErrNoEndpoint, "upstream.execute", e{}},
		{upstream.ErrForeignHost, "evil.example", e{URL: "https://evil.example/x"}},
		{upstream.ErrForeignHost, "", e{URL: "https://shop.example.evil.org/x"}},
		{upstream.ErrForeignHost, "", e{URL: "https://myshop.example/x"}},
		{upstream.ErrForeignHost, "", e{URL: "http://10.0.0.9:9000/v2/x"}},
		{upstream.ErrEndpoint, "absolute", e{URL: "/products"}},
		{upstream.ErrEndpoint, "absolute", e{URL: "ftp://shop.example/x"}},
		{upstream.ErrEndpoint, "absolute", e{URL: "mailto:x@shop.example"}},
		{upstream.ErrEndpoint, "credentials", e{URL: "https://a:b@shop.example/x"}},
		{upstream.ErrEndpoint, "fragment", e{URL: "https://shop.example/x#y"}},
		{upstream.ErrEndpoint, "does not parse", e{URL: "https://{id}.shop.example/x"}},
		{upstream.ErrEndpoint, "does not parse", e{URL: "https://shop.example/%zz"}},
		{upstream.ErrEndpoint, ". or ..", e{URL: "https://shop.example/a/../b"}},
		{upstream.ErrEndpoint, ". or ..", e{URL: "https://shop.example/a/%2E./b"}},
		{upstream.ErrEndpoint, `\`, e{URL: `https://shop.example/a\b`}},
		{upstream.ErrEndpoint, "control", e{URL: "https://shop.example/a%00b"}},
		{upstream.ErrEndpoint, "is not the name of an input parameter", e{URL: "https://shop.example/{nope}"}},
		{upstream.ErrEndpoint, "is not the name of an input parameter", e{URL: "https://shop.example/{+id}"}},
		{upstream.ErrEndpoint, "not closed", e{URL: "https://shop.example/{id"}},
		{upstream.ErrEndpoint, "not closed", e{URL: "https://shop.example/{}"}},
		{upstream.ErrEndpoint, "not closed", e{URL: "https://shop.example/{a/b}"}},
		{upstream.ErrEndpoint, "} without a {", e{URL: "https://shop.example/id}"}},
		{upstream.ErrEndpoint, "the name of a query parameter", e{URL: "https://shop.example/?{id}=1"}},
		{upstream.ErrEndpoint, "hexadecimal", e{URL: "https://shop.example/?a=%zz"}},
		{upstream.ErrEndpoint, "name=value", e{URL: "https://shop.example/?=1"}},
		{upstream.ErrEndpoint, "name=value", e{URL: "https://shop.example/?a=1;b=2"}},
		{upstream.ErrEndpoint, "write id={id}", e{URL: "https://shop.example/?id=fixed", Method: "GET"}},
		{upstream.ErrEndpoint, "write id={id}", e{URL: "https://shop.example/?i%64=fixed", Method: "GET"}},
		{upstream.ErrEndpoint, "method", e{URL: "https://shop.example/", Method: "CONNECT"}},
		{upstream.ErrEndpoint, "method", e{URL: "https://shop.example/", Method: "GET /"}},
		{upstream.ErrEndpoint, "content type", e{URL: "https://shop.example/", ContentType: "text/xml"}},
		{upstream.ErrEndpoint, "content type", e{URL: "https://shop.example/", ContentType: "application/json; charset=latin1"}},
		{upstream.ErrEndpoint, "too long", e{URL: "https://shop.example/" + strings.Repeat("é", 4000)}},
		{upstream.ErrEndpoint, "two parameters", e{URL: "https://shop.example/", Parameters: []string{"a", "a"}}},
	} {
		tt.endpoint.IntentUID = "shop.example:try:v1"
		if tt.endpoint.Parameters == nil {
			tt.endpoint.Parameters = []string{"id"}
		}
		r, err := u.Route(tt.endpoint)
		if r != nil || !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%+v: %v, want %v with %q", tt.endpoint, err, tt.want, tt.text)
		}
	}
}

func TestPrepare(t *testing.T) {
	cfg := settings(t, "http://10.0.0.9:9000/v2/")
	cfg.Execute = "/uim/execute"
	u := open(t, cfg)
	for _, tt := range []struct {
		name, method, url, contentType, in string
		wantURL, wantBody                  string
		violations                         []upstream.Violation
	}{
		{
			name: "query in declared order", method: "GET", url: "https://shop.example/s", in: `{"b":true,"a":"x y&z=é+"}`,
			wantURL: "http://10.0.0.9:9000/v2/s?a=x%20y%26z%3D%C3%A9%2B&b=true",
		},
		{
			name: "arrays, objects and null in a query", method: "GET", url: "https://api.shop.example/s",
			in:      `{"a":[1,"2",null,{"k":"<é>"},[3]],"b":null,"c":{"n":1.50}}`,
			wantURL: "http://10.0.0.9:9000/v2/s?a=1&a=2&a=%7B%22k%22%3A%22%3C%C3%A9%3E%22%7D&a=%5B3%5D&c=%7B%22n%22%3A1.50%7D",
		},
		{
			name: "numbers as sent", method: "DELETE", url: "https://shop.example/s/{a}", in: `{"a":12345678901234567890,"b":1.10,"c":-1E5}`,
			wantURL: "http://10.0.0.9:9000/v2/s/12345678901234567890?b=1.10&c=-1E5",
		},
		{
			name: "an array within a text", method: "POST",
			url: "https://shop.example/p/{a}.json/x%2Fy;v=1/?q={b}&fixed=1%202&both=a-{a}-{b}&flag&none={c}", in: `{"a":"é:@%2F?#","b":[1,2]}`,
			violations: []upstream.Violation{{Parameter: "b", Message: "is part of a longer value"}},
		},
		{
			name: "escaped", method: "POST",
			url:      "https://shop.example/p/{a}.json/x%2Fy;v=1/?q={b}&fixed=1%202&both=a-{a}&flag&none={c}&part=x{c}",
			in:       `{"a":"é:@%2E?#;%","b":[1,2]}`,
			wantURL:  "http://10.0.0.9:9000/v2/p/%C3%A9%3A%40%252E%3F%23%3B%25.json/x%2Fy;v=1/?q=1&q=2&fixed=1%202&both=a-%C3%A9%3A%40%252E%3F%23%3B%25&flag",
			wantBody: `{}`,
		},
		{
			name: "JSON body", method: "PUT", url: "https://shop.example/p/{a}", in: `{"a":"1","b":{"x":[1.0,"<&>",null]},"c":null}`,
			wantURL: "http://10.0.0.9:9000/v2/p/1", wantBody: `{"b":{"x":[1.0,"<&>",null]},"c":null}`,
		},
		{name: "no parameters", method: "POST", url: "https://shop.example", in: `{}`, wantURL: "http://10.0.0.9:9000/v2/", wantBody: `{}`},
		{
			name: "form", method: "PATCH", url: "https://shop.example/f", contentType: "application/x-www-form-urlencoded; charset=UTF-8",
			in: `{"b":["x y","&"],"a":1.0,"c":null}`, wantURL: "http://10.0.0.9:9000/v2/f", wantBody: "a=1.0&b=x+y&b=%26",
		},
		{
			name: "execute", in: `{"a":{"b":1.0},"c":null}`, wantURL: "http://10.0.0.9:9000/v2/uim/execute",
			wantBody: `{"intent_uid":"shop.example:try:v1","parameters":{"a":{"b":1.0},"c":null}}`,
		},
		{
			name: "undeclared", method: "GET", url: "https://shop.example/s", in: `{"z":1,"y":2}`,
			violations: []upstream.Violation{{Parameter: "y", Message: "is no"}, {Parameter: "z", Message: "is no"}},
		},
		{
			name: "spaces in the template", method: "GET", url: "https://shop.example/a b/ü?x=ü y", in: `{}`,
			wantURL: "http://10.0.0.9:9000/v2/a%20b/%C3%BC?x=%C3%BC%20y",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := u.Route(upstream.Endpoint{
				IntentUID: "shop.example:try:v1", URL: tt.url, Method: tt.method, ContentType: tt.contentType, Parameters: []string{"a", "b", "c"},
			})
			if err != nil {
				t.Fatal(err)
			}
			in, err := strictjson.DecodeObject([]byte(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			p, violations := r.Prepare(in)
			if len(tt.violations) != len(violations) {
				t.Fatalf("%v, want %v", violations, tt.violations)
			}
			for i, v := range tt.violations {
				if violations[i].Parameter != v.Parameter || !strings.Contains(violations[i].Message, v.Message) {
					t.Errorf("%v, want %v", violations[i], v)
				}
			}
			if violations != nil {
				if p != nil {
					t.Error("got a request despite violations")
				}
				return
			}
			if diff := cmp.Diff([]string{tt.wantURL, tt.wantBody}, []string{p.URL().String(), p.Body()}); diff != "" {
				t.Errorf("differs (-want +got):\n%s", diff)
			}
			if s := fmt.Sprintf("%v %+v %#v", p, p, p); strings.Contains(s, "10.0.0.9") {
				t.Error("String contains the address:", s)
			}
		})
	}
}

func TestRefusedPathValues(t *testing.T) {
	u := open(t, settings(t, "http://10.0.0.9"))
	r, err := u.Route(upstream.Endpoint{
		IntentUID: "shop.example:try:v1", URL: "https://shop.example/p/{a}", Method: "GET",
		Parameters: []string{"a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, r.PathParameters()); diff != "" || r.Template() != "GET /p/{a}" || !r.Safe() {
		t.Error(diff, r.Template())
	}
	for _, v := range []any{
		nil, "", ".", "..", "a/b", `a\b`, "/", "../x", "a\x00", "a\nb", "\x7f", "a\u0085b", "\xff",
		[]any{"x"},
		map[string]any{},
		float64(1), // strictjson never returns this type
	} {
		p, violations := r.Prepare(map[string]any{"a": v})
		if p != nil || len(violations) != 1 || violations[0].Parameter != "a" {
			t.Errorf("%q: %v", v, violations)
		}
	}
	if _, violations := r.Prepare(nil); len(violations) != 1 {
		t.Errorf("a missing value: got %v, want length 1", violations)
	}
	for _, v := range []any{"...", "a.b", "~", "%2e%2e", "%2F", json.Number("1e2"), true, " ", "a b"} {
		if p, violations := r.Prepare(map[string]any{"a": v}); violations != nil || p == nil {
			t.Errorf("%q: %v", v, violations)
		}
	}
}

func TestTargetLengthIsLimited(t *testing.T) {
	u := open(t, settings(t, "http://10.0.0.9"))
	for _, method := range []string{"GET", "POST"} {
		r, err := u.Route(upstream.Endpoint{
			IntentUID: "shop.example:try:v1", URL: "https://shop.example/p/{a}", Method: method,
			Parameters: []string{"a", "b"},
		})
		if err != nil {
			t.Fatal(err)
		}
		p, violations := r.Prepare(map[string]any{"a": "short", "b": strings.Repeat("é", 3000)}) // the escaped form is twice as long
		if fits := method == "POST"; fits != (p != nil) || (!fits && (len(violations) != 1 || violations[0].Parameter != "b")) {
			t.Errorf("%s: %v", method, violations)
		}
	}
}

func TestIntentsWithoutEndpoint(t *testing.T) {
	cfg := settings(t, "http://10.0.0.9")
	cfg.Execute = "/uim/execute"
	cfg.Timeout = time.Second
	u := open(t, cfg)
	r, err := u.Route(upstream.Endpoint{IntentUID: "shop.example:try:v1"})
	if err != nil {
		t.Fatal(err)
	}
	p, violations := r.Prepare(nil)
	if violations != nil || p.Body() != `{"intent_uid":"shop.example:try:v1","parameters":{}}` || r.Template() != "POST /uim/execute" {
		t.Error(violations, p)
	}
}
