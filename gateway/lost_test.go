package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A request for HTML to an unknown path gets an HTML page, and all others get the error envelope.
func TestNotFoundInRequestedFormat(t *testing.T) {
	g := gatetest.New(t, "")
	for _, path := range []string{"/errors/NOPE", "/nowhere", "/api/nowhere"} {
		for accept, want := range map[string]string{
			"text/html,application/xhtml+xml,*/*;q=0.8": "text/html",
			"application/json":                          "application/json",
			"*/*":                                       "application/json",
		} {
			got := g.Get(path, "Accept", accept)
			if got.Status != http.StatusNotFound || !strings.HasPrefix(got.Header.Get("Content-Type"), want) ||
				got.Header.Get("Vary") == "" || want == "text/html" && !strings.Contains(string(got.Body), "NO_SUCH_PATH") {
				t.Errorf("%s for %s: %d %v %.300s", path, accept, got.Status, got.Header, got.Body)
			}
		}
	}
}

// The search form of the page sends q, and the search endpoint reads query. The page accepts both.
func TestNamesOfTheSearchParameter(t *testing.T) {
	g := gatetest.New(t, "")
	const accept = "text/html"
	plain := string(g.Get("/?q=search", "Accept", accept).Body)
	if other := string(g.Get("/?query=search", "Accept", accept).Body); other != plain || !strings.Contains(plain, "found for “search”") {
		t.Errorf("q=search returns %.300s\nquery=search returns %.300s", plain, other)
	}
}
