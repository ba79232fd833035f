package wire_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/fetch"
)

// Every response of a server of the operator that is not a success is an error. The body that Post returns is bounded. A redirect is not
// followed, in particular not to an address inside the network.
func TestPostToABadServer(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(inside.Close)
	for name, test := range map[string]struct {
		respond http.HandlerFunc
		fails   bool
	}{
		"garbage with status 200": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "\xff\x00garbage") }, false},
		"refuses": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "86400")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, true},
		"resets": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true},
		"an endless response": {func(w http.ResponseWriter, r *http.Request) {
			for line := []byte(strings.Repeat("x", 1<<16)); r.Context().Err() == nil; {
				if _, err := w.Write(line); err != nil {
					return
				}
			}
		}, true},
		"a slow response": {func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, "x")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, true},
		"a redirect that repeats the request": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, inside.URL, http.StatusTemporaryRedirect)
		}, true},
		"a redirect to a page": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, inside.URL, http.StatusFound) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				test.respond(w, r)
			}))
			s.Config.ErrorLog = log.New(io.Discard, "", 0)
			s.Start()
			t.Cleanup(s.Close)
			c := fetch.New(fetch.Options{AllowInsecure: true, Timeout: time.Second, UserAgent: "test"})
			t.Cleanup(c.Close)
			const most = 1000
			body, err := wire.Post(t.Context(), c, s.URL, http.Header{}, []byte("{}"), most)
			if (err != nil) != test.fails || len(body) > most {
				t.Errorf("%d bytes, %v", len(body), err)
			}
		})
	}
}
