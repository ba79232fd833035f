package execute_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

const narrowUpstream = "  upstream: {url: UPSTREAM, timeout: 30s, concurrency: 16}\n"

// slow makes the upstream hold calls of buy until release is called. It sends on arrived when such a call arrives.
func (w *world) slow() (arrived chan struct{}, release func()) {
	arrived, held := make(chan struct{}, 1000), make(chan struct{})
	w.serve(func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.URL.Path, "/orders") {
			arrived <- struct{}{}
			<-held
		}
		_, _ = io.WriteString(rw, `{"items":[],"order":"o-1"}`)
	})
	release = sync.OnceFunc(func() { close(held) })
	w.Cleanup(release)
	return arrived, release
}

// Slow calls of one agent leave places to others. Calls that get no place are refused before they use credit or limits.
func TestSlowCallsOfOneAgentLeavePlacesToOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", narrowUpstream)
	greedy, honest := w.fresh(), w.fresh()
	arrived, release := w.slow()
	const calls = 40
	ended := make(chan *reason.Refusal, calls)
	for range calls {
		go func() {
			_, refused, _ := w.do(greedy, call{intent: buy, parameters: `{"product":"x"}`})
			ended <- refused
		}()
	}
	for range 8 { // half of the places
		<-arrived
	}
	for range calls - 16 { // 8 hold a place, and 8 wait for one
		if refused := <-ended; refused == nil || refused.Reason != reason.Overloaded || refused.RetryAfter != time.Second ||
			refused.Details["outcome"] == nil || refused.Charge != nil {
			t.Errorf("got %+v", refused)
		}
	}
	w.must(honest, call{intent: item, parameters: `{"id":"x"}`})
	if n := len(arrived); n > 0 {
		t.Errorf("got %d calls beyond half of the places, want at most 0", n)
	}
	if n := w.shed("upstream"); n < calls-16 {
		t.Errorf("%v calls were counted as shed; want %d", n, calls-16)
	}
	if owed := w.owed(greedy); owed != "2.00 held, 0.00 captured" { // eight calls
		t.Errorf("got %q, want %q", owed, "2.00 held, 0.00 captured")
	}
	release()
	for range 16 {
		if refused := <-ended; refused != nil && refused.Reason != reason.Overloaded { // the call waited too long
			t.Error(refused)
		}
	}
	if calls, waiting := w.service().Upstream.UnderWay(); calls != 0 || waiting != 0 {
		t.Errorf("got %v, %v; want 0, 0", calls, waiting)
	}
}

// Calls of an approved agent get a place, however many unapproved agents call.
func TestUnapprovedLeavePlacesToApprovedAgents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", narrowUpstream)
	known := w.fresh()
	w.approve(known)
	arrived, release := w.slow()
	for range 12 {
		stranger := w.fresh()
		go func() { _, _, _ = w.do(stranger, call{intent: buy, parameters: `{"product":"x"}`}) }()
		<-arrived
	}
	var others sync.WaitGroup
	for range 8 {
		stranger := w.fresh()
		others.Go(func() { // these get no place: they wait, or have waited too long
			if _, refused, _ := w.do(stranger, call{intent: item, parameters: `{"id":"x"}`}); refused != nil && refused.Reason != reason.Overloaded {
				t.Errorf("got %+v", refused)
			}
		})
	}
	for calls, waiting := 12, 0; waiting == 0 && w.shed("upstream") == 0; calls, waiting = w.service().Upstream.UnderWay() {
		if calls != 12 {
			t.Fatalf("got %d calls of strangers, want 12", calls)
		}
	}
	w.must(known, call{intent: item, parameters: `{"id":"x"}`})
	if calls, _ := w.service().Upstream.UnderWay(); calls != 12 {
		t.Errorf("got %d calls of strangers, want 12", calls)
	}
	release()
	others.Wait()
}

// shed returns the number of calls that the metrics count as refused for this cause.
func (w *world) shed(cause string) (n int) {
	w.Helper()
	families, err := w.Metrics.Registry().Gather()
	w.Must(err)
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "uimgate_shed_total" && m.GetLabel()[0].GetValue() == cause {
				n = int(m.GetCounter().GetValue())
			}
		}
	}
	return n
}

func (w *world) describe(a *gatetest.Agent) string {
	w.Helper()
	reports := make(chan []string, 1)
	w.serve(func(rw http.ResponseWriter, r *http.Request) {
		reports <- r.Header.Values("UIM-Agent-Standing")
		_, _ = io.WriteString(rw, "{}")
	})
	answer := w.Call("/api/intents/execute", a.Token, map[string]any{"intent_uid": item, "parameters": map[string]any{"id": "x"}},
		"UIM-Agent-Standing", "approved")
	if answer.Status != http.StatusOK {
		w.Fatalf("got %d %s; want %v", answer.Status, answer.Body, http.StatusOK)
	}
	return strings.Join(<-reports, ", ")
}

// The service receives the standing of the agent from the gateway. The gateway drops the header field that an agent sends.
func TestServiceReceivesStanding(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", quickUpstream)
	a, replayed := w.fresh(), w.static()
	if text := w.describe(a); text != "unapproved" {
		t.Errorf("an unapproved agent: the service received %q, want %q", text, "unapproved")
	}
	w.approve(a)
	if text := w.describe(a); text != "approved" {
		t.Errorf("an approved agent: the service received %q, want %q", text, "approved")
	}
	if text := w.describe(replayed); text != "unapproved" {
		t.Errorf("a static agreement: the service received %q, want %q", text, "unapproved")
	}
}
