package relay_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
)

// Anyone can set a webhook to a URL that belongs to others. It gets one message at a time, with pauses, until it responds with 200.
func TestAWebhookIsProbedFirst(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", private, many, relay.Hurry(relay.Times{Post: 20 * time.Second}))
	a, b := h.agent().known(), h.agent().known()
	var now, most, all atomic.Int64
	came, goOn := make(chan struct{}, 100), make(chan int, 100)
	victim := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		all.Add(1)
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		came <- struct{}{}
		w.WriteHeader(<-goOn)
	}))
	t.Cleanup(victim.Close)
	b.posts(victim.URL)
	for range 10 {
		a.send(b, `1`)
	}
	for attempt := range 3 { // after 0, 5 and 30 seconds
		h.waitFor(came)
		for range 3 {
			h.relay.Post(h.Context())
		}
		if n := all.Load(); n != int64(attempt)+1 {
			t.Fatalf("got %d requests during attempt %d; want %v", n, attempt, int64(attempt)+1)
		}
		goOn <- http.StatusTeapot
	}
	h.waitFor(came)
	goOn <- http.StatusOK // the webhook is proved
	for range 9 {
		goOn <- http.StatusOK
	}
	for range 9 {
		h.waitFor(came)
	}
	if n := most.Load(); n > 16 || all.Load() != 13 {
		t.Errorf("%d requests, %d at once", all.Load(), n)
	}
}
