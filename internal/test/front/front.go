// Package fronttest provides servers in front of gateways.
package fronttest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Public reserves the URL of a server that starts later, for a gateway whose public_url it is. serve starts the server, and must be called
// only once. The server reads the body of a request before it calls the handler, which may be a proxy.
func Public(t *testing.T) (url string, serve func(http.Handler)) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	t.Cleanup(s.Close)
	return "http://" + s.Listener.Addr().String(), func(h http.Handler) {
		s.Config.Handler = readFirst(h)
		s.Start()
	}
}

// readFirst returns a handler that reads the body of a request before it calls h. A proxy needs that: the server closes the body when the
// response begins, and if the proxy's transport still reads the body for its end then, it aborts the response.
func readFirst(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, "the body cannot be read", http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	})
}
