package gateway_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// unzip decompresses a response body.
func unzip(t *testing.T, body []byte) []byte {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestPublicDocumentsAreCompressed(t *testing.T) {
	g := pageGate(t, many(1000), strings.Replace(permitAll, "{", "{"+strings.Repeat("\n ", 1000), 1), "")
	digest := g.Directory.Current().Service("default").Offer().Digest
	for path, most := range map[string]int{
		"/agents.json": 20_000, "/api/policy": 1_000, "/api/intents/search?view=brief": 1_000, "/api/intents/search?page_size=100": 3_000,
		"/": 20_000, "/openapi.json": 60_000, "/?q=intent": 20_000,
	} {
		accept := []string{"Accept", browser}
		plain := g.Get(path, append(accept, "Accept-Encoding", "identity")...)
		packed := g.Get(path, append(accept, "Accept-Encoding", "gzip, deflate, br")...)
		if packed.Header.Get("Content-Encoding") != "gzip" || plain.Header.Get("Content-Encoding") != "" || len(packed.Body) > most ||
			packed.Status != http.StatusOK || !bytes.Equal(unzip(t, packed.Body), plain.Body) {
			t.Errorf("%s: %q, %d of %d bytes", path, packed.Header.Get("Content-Encoding"), len(packed.Body), len(plain.Body))
		}
		for _, a := range []gatetest.Answer{plain, packed} {
			if vary := strings.Join(a.Header.Values("Vary"), ", "); !strings.Contains(vary, "Accept-Encoding") {
				t.Errorf("%s: Vary %q, want a text that contains %q", path, vary, "Accept-Encoding")
			}
		}
		t.Logf("%s: %d of %d bytes", path, len(packed.Body), len(plain.Body))
		etag := plain.Header.Get("ETag")
		if strings.ContainsAny(path, "?") || strings.Contains(path, "search") {
			continue // built for each request
		}
		if strings.HasPrefix(etag, "W/") || packed.Header.Get("ETag") != "W/"+etag {
			t.Errorf("%s: ETag %s, and %s compressed", path, etag, packed.Header.Get("ETag"))
		}
		for _, known := range []string{etag, "W/" + etag, `"x", ` + etag} {
			for _, coding := range []string{"gzip", "identity"} {
				a := g.Get(path, append(accept, "Accept-Encoding", coding, "If-None-Match", known)...)
				if a.Status != http.StatusNotModified || len(a.Body) > 0 || a.Header.Get("Content-Encoding") != "" {
					t.Errorf("%s under %s: %d", path, known, a.Status)
				}
			}
		}
	}
	for _, coding := range []string{"gzip", "identity"} { // the policy's tag is its digest
		a := g.Get("/api/policy", "Accept-Encoding", coding)
		if got := strings.Trim(strings.TrimPrefix(a.Header.Get("ETag"), "W/"), `"`); got != digest {
			t.Errorf("%s: ETag %s, digest %s", coding, got, digest)
		}
	}
}

func TestAcceptEncoding(t *testing.T) {
	g := pageGate(t, many(100), permitAll, "")
	for accept, want := range map[string]bool{
		"gzip": true, "x-gzip": true, "GZIP": true, "br;q=1.0, gzip;q=0.8, *;q=0.1": true, "*": true, "deflate, gzip ; q=0.001": true,
		"": false, "identity": false, "br": false, "gzip;q=0": false, "gzip;q=0, *": false, "*;q=0": false, "gzip;q=2": false,
		"gzip;q=NaN": false, "gzip;level=9": false, "gzipped": false, strings.Repeat("a,", 40) + "gzip": false,
	} {
		a := g.Get("/agents.json", "Accept-Encoding", accept)
		if got := a.Header.Get("Content-Encoding") == "gzip"; got != want {
			t.Errorf("%q: %v, want %v", accept, got, want)
		}
	}
	if a := g.Get("/.well-known/jwks.json", "Accept-Encoding", "gzip"); a.Header.Get("Content-Encoding") != "" {
		t.Error("a small document is compressed")
	}
}

// Responses that can contain both secrets and an attacker's input must not be compressed.
func TestCallOutputsAreNotCompressed(t *testing.T) {
	g := gatetest.New(t, "")
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"text":"`+strings.Repeat("a", 10_000)+`"}`)
	}
	agent := g.Agreed("agent-1")
	a := g.Execute(agent, gatetest.Searching, "Accept-Encoding", "gzip")
	if a.Status != http.StatusOK || a.Header.Get("Content-Encoding") != "" || len(a.Body) < 10_000 {
		t.Errorf("%d %q, %d bytes", a.Status, a.Header.Get("Content-Encoding"), len(a.Body))
	}
	for _, path := range []string{"/api/pat/issue", "/api/pat/renew", "/api/pat/revoke", "/api/pat/introspect"} {
		a := g.Call(path, agent.Token, map[string]any{"uim-pat": agent.Token, "token": agent.Token}, "Accept-Encoding", "gzip")
		if a.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s is compressed", path)
		}
	}
}

// Concurrent requests share a few gzip writers.
func TestConcurrentCompression(t *testing.T) {
	g := pageGate(t, many(300), permitAll, "")
	const path = "/api/intents/search?view=full&page_size=100&page="
	var want [3][]byte
	for n := range want {
		want[n] = g.Get(path+string(rune('1'+n)), "Accept-Encoding", "identity").Body
	}
	done := make(chan bool)
	for n := range 24 {
		go func() {
			r, err := http.NewRequestWithContext(g.Context(), http.MethodGet, g.URL+path+string(rune('1'+n%3)), nil)
			if err != nil {
				done <- false
				return
			}
			resp, err := http.DefaultTransport.RoundTrip(r) // requests gzip, and decompresses the response
			if err != nil {
				done <- false
				return
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			done <- err == nil && resp.Uncompressed && bytes.Equal(body, want[n%3])
		}()
	}
	for range 24 {
		if !<-done {
			t.Error("a response differs from the uncompressed one")
		}
	}
}
