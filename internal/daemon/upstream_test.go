package daemon_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// An upstream records the requests that reach it.
type upstream struct {
	server *httptest.Server
	mu     sync.Mutex
	seen   []upstreamCall
}

type upstreamCall struct {
	method, uri, body string
	header            http.Header
}

func newUpstream(tb testing.TB, handler http.HandlerFunc) *upstream {
	tb.Helper()
	u := &upstream{}
	if handler == nil {
		handler = func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"products":[{"id":"p1"}],"total":1,"order_id":"o-1","id":"p1","name":"Lamp","path":%q}`, r.URL.Path)
		}
	}
	u.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		u.mu.Lock()
		u.seen = append(u.seen, upstreamCall{r.Method, r.URL.RequestURI(), string(body), r.Header.Clone()})
		u.mu.Unlock()
		handler(w, r)
	}))
	tb.Cleanup(u.server.Close)
	return u
}

func (u *upstream) calls() []upstreamCall {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]upstreamCall(nil), u.seen...)
}
