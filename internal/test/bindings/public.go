package bindtest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Public reserves the URL of a server that starts later, for a gateway whose public_url it is. serve starts the server, and must be called
// only once.
func Public(t *testing.T) (url string, serve func(http.Handler)) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	t.Cleanup(s.Close)
	return "http://" + s.Listener.Addr().String(), func(h http.Handler) {
		s.Config.Handler = h
		s.Start()
	}
}
