package daemon_test

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
)

// A heldShop is a service that responds at once, except for one call, during which the process is stopped.
type heldShop struct {
	answer       string
	holds        atomic.Bool
	called, goOn chan struct{}
}

func newHeldShop(answer string) *heldShop {
	return &heldShop{answer: answer, called: make(chan struct{}), goOn: make(chan struct{})}
}

func (s *heldShop) serve(w http.ResponseWriter, _ *http.Request) {
	if s.holds.Load() {
		close(s.called)
		<-s.goOn
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, s.answer)
}

// endsDuring stops a process during the call that start makes. The service responds once the process has begun to stop. endsDuring then
// calls check.
func (s *heldShop) endsDuring(g *gate, start, check func()) {
	s.holds.Store(true)
	start()
	<-s.called
	g.cancel()
	close(s.goOn)
	check()
	g.stop()
	s.holds.Store(false)
}

// permitted checks that a process has counted one search that came through a door.
func permitted(t *testing.T, g *gate, door string) {
	t.Helper()
	got := g.metric(`uimgate_decisions_total{decision="permit",door="` + door + `",intent="` + search + `",reason="",service="default"}`)
	if got != "1" {
		t.Errorf("the metric of calls through the door is %q, want %q", got, "1")
	}
}
