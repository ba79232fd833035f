package admin_test

import (
	"net/http"
	"testing"
)

func TestTextOfQueriesIsUTF8(t *testing.T) {
	g := newAdminGate(t, "")
	for _, path := range []string{"/agents?search=%ff", "/agents?search=%00", "/agents?search=a%0Ab"} {
		if got := g.do("GET", path, nil); got.Status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", path, got.Status, got.Body)
		}
	}
	if got := g.do("GET", "/agents/a%ff", nil); got.Status != http.StatusNotFound {
		t.Errorf("got %d %s", got.Status, got.Body)
	}
}
