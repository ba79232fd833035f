package execute_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

const askedUpstream = `  upstream:
    url: UPSTREAM
    timeout: 30s
    breaker: {failures: 1000, open_for: 10s}
    reconcile: {url: "/became/{execution_id}", done: 200, not_done: 404}
`

// Once an unresolved call can no longer be sent, the reconciler asks the service for its outcome and settles the call.
func TestReconcilerSettlesUnknownOutcomes(t *testing.T) {
	w := newWorld(t, "", askedUpstream)
	a := w.fresh()
	buying := func(key execute.IdempotencyKey) call {
		return call{intent: buy, parameters: `{"product":"x"}`, key: key}
	}
	w.closesEarly()
	for _, key := range []execute.IdempotencyKey{"done", "not done", "neither"} {
		_, _, _ = w.do(a, buying(key))
	}
	unresolved := func() []store.Execution {
		list, err := w.Store.Executions(w.Context(), store.Filter{Service: "default", State: store.Unresolved})
		w.Must(err)
		return list
	}
	if _, again, _ := w.do(a, buying("neither")); again.Reason != reason.OutcomeUnknown || again.RetryAfter != 5*time.Second {
		t.Errorf("a call that the reconciler will settle: %+v, want %s after 5 s", again, reason.OutcomeUnknown)
	}
	answers := map[string]int{}
	for _, e := range unresolved() {
		answers[e.ID] = map[string]int{"done": 200, "not done": 404, "neither": 409}[e.IdempotencyKey]
	}
	if len(answers) != 3 {
		t.Fatalf("got %+v, want length 3", answers)
	}
	w.serve(func(rw http.ResponseWriter, r *http.Request) {
		rw.WriteHeader(answers[strings.TrimPrefix(r.URL.Path, "/became/")])
	})
	w.requests.Store(0)
	reconciler := execute.NewReconciler(w.Store, w.Now)
	round := func(settled int, queries int64) {
		t.Helper()
		n, err := reconciler.Round(w.Context(), w.service())
		if err != nil || n != settled || w.requests.Load() != queries {
			t.Errorf("%d settled, %v, asked %d times; want %d and %d", n, err, w.requests.Load(), settled, queries)
		}
	}
	round(0, 0) // the deadlines of the calls have not passed
	w.Later(hold)
	round(2, 3)
	round(0, 4) // the reconciler asks about the third call again,
	round(0, 4) // but not before a pause
	w.Later(time.Minute)
	round(0, 5)

	if left := unresolved(); len(left) != 1 || left[0].IdempotencyKey != "neither" || w.owed(a) != "0.25 held, 0.25 captured" {
		t.Errorf("%+v, owed %s", left, w.owed(a))
	}
	entries, err := w.Store.Ledger(w.Context(), store.Filter{Limit: 2})
	w.Must(err)
	if entries[0].By != "service" || entries[1].By != "service" {
		t.Errorf("settled by %s and %s", entries[0].By, entries[1].By)
	}
	w.serve(func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, `{"order":"o-1"}`) })
	w.requests.Store(0)
	if _, refused, _ := w.do(a, buying("done")); refused == nil || !refused.Replayed || w.requests.Load() != 0 {
		t.Errorf("a completed call was sent again: %v", refused)
	}
	if w.must(a, buying("not done")); w.requests.Load() != 1 {
		t.Error("a call that was not done cannot be repeated")
	}
}

// If the service does not respond, the reconciler asks again later. It never asks a service without reconcile settings.
func TestReconcilerWithoutResponse(t *testing.T) {
	for _, upstream := range []string{askedUpstream, quickUpstream} {
		w := newWorld(t, "", upstream)
		w.closesEarly()
		_, _, _ = w.do(w.fresh(), call{intent: buy, parameters: `{"product":"x"}`})
		w.Later(hold)
		w.requests.Store(0)
		n, err := execute.NewReconciler(w.Store, w.Now).Round(w.Context(), w.service())
		requested := upstream == askedUpstream
		if n != 0 || (err != nil) != requested || (w.requests.Load() > 0) != requested {
			t.Errorf("%d settled, %v, asked %d times", n, err, w.requests.Load())
		}
	}
}
