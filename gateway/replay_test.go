package gateway_test

import (
	"net/http"
	"testing"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A replayed response has the same RateLimit header fields as the first one, because a replay does not count toward the limits.
func TestReplayHasRateLimitHeaders(t *testing.T) {
	g := gatetest.New(t, "")
	a := g.Agreed("agent-1")
	reject := false
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		if reject {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte(`{"ok":true}`))
	}
	for key, status := range map[string]int{"good": http.StatusOK, "bad": http.StatusNotFound} {
		reject = status != http.StatusOK
		first := g.Execute(a, gatetest.Ordering, "Idempotency-Key", key)
		again := g.Execute(a, gatetest.Ordering, "Idempotency-Key", key)
		if first.Status != status || again.Status != status || again.Header.Get("Idempotency-Replayed") != "true" {
			t.Fatalf("%s: %d %s, then %d %s", key, first.Status, first.Body, again.Status, again.Body)
		}
		for _, name := range []string{"RateLimit", "RateLimit-Policy"} {
			if got, want := again.Header.Get(name), first.Header.Get(name); got != want || got == "" {
				t.Errorf("%s: %s %q, want %q as in the first response", key, name, got, want)
			}
		}
	}
}
