package relay_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
)

// A deadlineWriter records its write deadline.
type deadlineWriter struct {
	http.ResponseWriter
	until *atomic.Int64 // Unix seconds
}

func (d deadlineWriter) Unwrap() http.ResponseWriter { return d.ResponseWriter }

func (d deadlineWriter) SetWriteDeadline(until time.Time) error {
	d.until.Store(until.Unix())
	return http.NewResponseController(d.ResponseWriter).SetWriteDeadline(until)
}

// kept makes each request of h use a server whose write deadline has already passed, as on a reused connection. The result holds the
// deadline of the last response.
func (h *host) kept() *atomic.Int64 {
	h.Helper()
	until := new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Unix(1, 0))
		h.relay.ServeHTTP(deadlineWriter{w, until}, r)
	}))
	h.Cleanup(server.Close)
	h.URL = server.URL
	return until
}

// A connection may be kept for longer than a response may take, so each response has a new deadline.
func TestDeadlinesOnKeptConnections(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", many, func(o *relay.Options) { o.PrivateWebhooks = true })
	h.kept()
	a, b := h.agent().known(), h.agent().known()
	h.wants(http.StatusOK, "", a.do("PUT", a.path()+"/webhook", `{"url":"http://127.0.0.1:1/","secret":"`+strings.Repeat("A", 43)+`"}`))
	h.wants(http.StatusOK, "", a.do("PUT", a.path()+"/acl/"+b.key().String(), `{"entry_type":"block"}`))
	blob := h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", "x")).BlobID
	for _, c := range []struct {
		method, target string
		status         int
	}{
		{"GET", "/v1/blobs/" + blob, http.StatusOK},
		{"DELETE", "/v1/blobs/" + blob, http.StatusNoContent},
		{"DELETE", a.path() + "/webhook", http.StatusNoContent},
		{"DELETE", a.path() + "/acl/" + b.key().String(), http.StatusNoContent},
		{"DELETE", a.path(), http.StatusNoContent},
		{"GET", "/", http.StatusOK},
		{"GET", "/v1/health", http.StatusOK},
		{"GET", "/v1/ws", http.StatusUpgradeRequired},
	} {
		h.wants(c.status, "", a.do(c.method, c.target, ""))
	}
}

// Large responses and files have later deadlines than small ones, for slow connections.
func TestLargeResponsesHaveMoreTime(t *testing.T) {
	t.Parallel()
	h, a := largeThread(t, relay.Hurry(relay.Times{Write: time.Hour, Blob: time.Hour, MiB: time.Hour}))
	until := h.kept()
	blob := h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", strings.Repeat("x", 2<<20))).BlobID
	for target, within := range map[string]time.Duration{
		"/v1/health": time.Hour, largePage: 7 * time.Hour, "/v1/blobs/" + blob: 3 * time.Hour,
	} {
		least := time.Now().Add(within)
		h.wants(http.StatusOK, "", a.do("GET", target, ""))
		if end := time.Unix(until.Load()+1, 0); end.Before(least) || end.After(least.Add(30*time.Minute)) {
			t.Errorf("%s may take until %v, want %v", target, end, least)
		}
	}
}
