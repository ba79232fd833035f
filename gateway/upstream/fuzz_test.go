package upstream_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/upstream"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// FuzzPrepare: whatever template the operator wrote and whatever values the agent sends, the request goes to
// the configured host, its path keeps the shape of the template, and its query has no names of the agent's.
func FuzzPrepare(f *testing.F) {
	for _, url := range []string{
		"https://shop.example/p/{a}", "https://shop.example/p/{a}.json?x={b}&y=1", "https://shop.example/{a}{b}//{c}/", "https://shop.example?{a}=1",
		"https://x.shop.example/a%2Fb/é/{a}?q=x{b}", "https://evil.example/{a}", "https://shop.example/.{a}",
	} {
		for _, in := range []string{`{"a":"1","b":2,"c":true}`, `{"a":"..","b":"."}`, `{"a":"x?y#z&c=1","b":["&admin=1",{"k":1}]}`, `{"a":"%2e%2e%2f"}`, `{"a":"é\u202e","b":"+;"}`} {
			f.Add(url, "GET", in)
			f.Add(url, "POST", in)
		}
	}
	cfg := config(f, "http://10.0.0.9:9000/base")
	u, err := upstream.New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	names := map[string]bool{"a": true, "b": true, "c": true}
	f.Fuzz(func(t *testing.T, template, method, in string) {
		r, err := u.Route(upstream.Endpoint{IntentUID: "shop.example:try:v1", URL: template, Method: method, Parameters: []string{"a", "b", "c"}})
		if err != nil {
			if r != nil {
				t.Fatal("an error with a route")
			}
			return
		}
		values, err := strictjson.DecodeObject([]byte(in))
		if err != nil {
			return
		}
		p, violations := r.Prepare(values)
		if (p == nil) == (violations == nil) {
			t.Fatalf("%v, %v", p, violations)
		}
		if p == nil {
			return
		}
		checkShape(t, r, p, template, names)
	})
}

func checkShape(t *testing.T, r *upstream.Route, p *upstream.Prepared, template string, names map[string]bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method(), p.URL().String(), http.NoBody)
	if err != nil {
		t.Fatalf("no request can be made: %v", err)
	}
	got := req.URL
	if got.Scheme != "http" || got.Host != "10.0.0.9:9000" || got.User != nil || got.Fragment != "" {
		t.Fatalf("the address became %s", got)
	}
	if got.EscapedPath() != p.URL().EscapedPath() || got.RawQuery != p.URL().RawQuery {
		t.Fatalf("%q is not written as built: %q", p.URL(), got)
	}
	_, path, _ := strings.Cut(r.Template(), " ")
	want := strings.Split("/base"+path, "/")
	segments := strings.Split(got.EscapedPath(), "/")
	if len(segments) != len(want) {
		t.Fatalf("%q has not the shape of %q", got.EscapedPath(), template)
	}
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == "." || plain == ".." {
			t.Fatalf("segment %q in %q", s, got.EscapedPath())
		}
		if strings.Contains(want[i], "{") && strings.Count(plain, "/") > strings.Count(strings.ToLower(want[i]), "%2f") {
			t.Fatalf("a value brought a slash: %q", s)
		}
	}
	written, err := url.Parse(template)
	if err != nil {
		t.Fatal(err)
	}
	fixed, err := url.ParseQuery(written.RawQuery)
	if err != nil {
		t.Fatal(err)
	}
	query, err := url.ParseQuery(got.RawQuery)
	if err != nil {
		t.Fatalf("%q: %v", got.RawQuery, err)
	}
	for name := range query {
		if _, ok := fixed[name]; !ok && !names[name] {
			t.Fatalf("the query member %q came from nowhere: %q", name, got.RawQuery)
		}
	}
}
