package upstream_test

import (
	"errors"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

// FuzzPrepare checks that a request goes to the configured host, its path has the segments of the template, and its query has only names of
// the template and the parameters, whatever template the operator writes and whatever values the agent sends.
func FuzzPrepare(f *testing.F) {
	for _, url := range []string{
		"https://shop.example/p/{a}", "https://shop.example/p/{a}.json?x={b}&y=1", "https://shop.example/{a}{b}//{c}/",
		"https://shop.example?{a}=1",
		"https://x.shop.example/a%2Fb/é/{a}?q=x{b}", "https://evil.example/{a}", "https://shop.example/.{a}",
	} {
		for _, in := range []string{
			`{"a":"1","b":2,"c":true}`, `{"a":"..","b":"."}`, `{"a":"x?y#z&c=1","b":["&admin=1",{"k":1}]}`,
			`{"a":"%2e%2e%2f"}`, `{"a":"é\u202e","b":"+;"}`,
		} {
			f.Add(url, "GET", in)
			f.Add(url, "POST", in)
		}
	}
	cfg := settings(f, "http://10.0.0.9:9000/base")
	u, err := upstream.New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	names := map[string]bool{"a": true, "b": true, "c": true}
	f.Fuzz(func(t *testing.T, template, method, in string) {
		r, err := u.Route(upstream.Endpoint{IntentUID: "shop.example:try:v1", URL: template, Method: method, Parameters: []string{"a", "b", "c"}})
		if err != nil {
			if r != nil {
				t.Fatal("Route returned both an error and a route")
			}
			return
		}
		values, err := strictjson.DecodeObject([]byte(in))
		if err != nil {
			return
		}
		p, violations := r.Prepare(values)
		if (p == nil) == (violations == nil) {
			t.Fatalf("got %v, %v", p, violations)
		}
		for _, v := range violations {
			if _, sent := values[v.Parameter]; v.Message == "" || (!sent && !names[v.Parameter]) {
				t.Fatalf("got %+v", v)
			}
		}
		if p == nil {
			return
		}
		checkShape(t, r, p, template, names)
	})
}

func checkShape(t *testing.T, r *upstream.Route, p *upstream.PreparedRequest, template string, names map[string]bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.Method(), p.URL().String(), http.NoBody)
	if err != nil {
		t.Fatalf("the request cannot be built: %v", err)
	}
	got := req.URL
	if got.Scheme != "http" || got.Host != "10.0.0.9:9000" || got.User != nil || got.Fragment != "" {
		t.Fatalf("the address is %s", got)
	}
	if got.EscapedPath() != p.URL().EscapedPath() || got.RawQuery != p.URL().RawQuery {
		t.Fatalf("%q changes when it is parsed: %q", p.URL(), got)
	}
	_, path, _ := strings.Cut(r.Template(), " ")
	want := strings.Split("/base"+path, "/")
	segments := strings.Split(got.EscapedPath(), "/")
	if len(segments) != len(want) {
		t.Fatalf("%q does not have the segments of %q", got.EscapedPath(), template)
	}
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == "." || plain == ".." {
			t.Fatalf("segment %q in %q", s, got.EscapedPath())
		}
		if strings.Contains(want[i], "{") && strings.Count(plain, "/") > strings.Count(strings.ToLower(want[i]), "%2f") {
			t.Fatalf("a value added a slash: %q", s)
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
			t.Fatalf("the query has the unknown name %q: %q", name, got.RawQuery)
		}
	}
}

// FuzzAnswer checks that the error about a response is consistent and quotes only a message, whatever the service sends.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		fine, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>", "HTTP/1.1 404 X\r\nContent-Length: 17\r\n\r\n{\"message\":\"a\\u0007\"}",
		"HTTP/1.1 429 X\r\nRetry-After: 9\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"HTTP/1.1 101 X\r\nUpgrade: y\r\nConnection: upgrade\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 X\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x8b\x08",
	} {
		f.Add([]byte(s))
	}
	var answer atomic.Pointer[[]byte]
	s := serve(f, func(_ int64, c net.Conn, _ *http.Request) bool { _, _ = c.Write(*answer.Load()); return false })
	cfg := settings(f, s.URL)
	cfg.MaxResponse, cfg.Breaker.Failures = 4<<10, math.MaxInt32
	u := open(f, cfg)
	p := prepare(f, u, "POST")
	f.Fuzz(func(t *testing.T, data []byte) {
		answer.Store(&data)
		got, outcome, err := u.Call(t.Context(), p, upstream.Identity{}, live)
		ok := got.Status >= 200 && got.Status <= 299
		switch outcome {
		case store.Done:
			if invalid, is := errors.AsType[*upstream.ResponseError](err); !ok || (err == nil) == (got.JSON == nil) || (err != nil && !is) {
				t.Fatalf("done: %+v, %v, %v", got, err, invalid)
			}
		case store.Failed:
			if ok || err == nil || errors.Is(err, upstream.ErrBroken) {
				t.Fatalf("failed: %+v, %v", got, err)
			}
		case store.Unknown:
			if !errors.Is(err, upstream.ErrBroken) || got.JSON != nil {
				t.Fatalf("unknown: %+v, %v; want %v and JSON nil", got, err, upstream.ErrBroken)
			}
		default:
			t.Fatalf("got %q, %v", outcome, err)
		}
		if int64(len(got.JSON)) > cfg.MaxResponse {
			t.Fatalf("%d bytes", len(got.JSON))
		}
		if rejected, is := errors.AsType[*upstream.RejectedError](err); is {
			if utf8.RuneCountInString(rejected.Message) > 300 || strings.ContainsFunc(rejected.Message, unicode.IsControl) {
				t.Fatalf("got %q", rejected.Message)
			}
		}
	})
}
