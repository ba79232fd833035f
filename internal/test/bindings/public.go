package bindtest

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Public is a server whose URL is known before there is anything that answers: for a gateway whose public_url it is. serve is
// called once.
func Public(t *testing.T) (url string, serve func(http.Handler)) {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	t.Cleanup(s.Close)
	return "http://" + s.Listener.Addr().String(), func(h http.Handler) {
		s.Config.Handler = h
		s.Start()
	}
}
