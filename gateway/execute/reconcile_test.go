package execute_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/store"
)

const askedUpstream = `  upstream:
    url: UPSTREAM
    timeout: 30s
    breaker: {failures: 1000, open_for: 10s}
    reconcile: {url: "/became/{execution_id}", done: 200, not_done: 404}
`

// What nobody knows is settled by the word of the service, where it has one, once the call cannot be sent any more.
func TestReconcilerSettlesUnknownOutcomes(t *testing.T) {
	w := newWorld(t, "", askedUpstream)
	a := w.fresh()
	buying := func(key execute.IdempotencyKey) call {
		return call{intent: buy, parameters: `{"product":"x"}`, key: key}
	}
	w.breaksOff()
	for _, key := range []execute.IdempotencyKey{"done", "not done", "neither"} {
		_, _, _ = w.do(a, buying(key))
	}
	unresolved := func() []store.Execution {
		list, err := w.Store.Executions(w.Context(), store.Filter{Service: "default", State: store.Unresolved})
		w.Must(err)
		return list
	}
	answers := map[string]int{}
	for _, e := range unresolved() {
		answers[e.ID] = map[string]int{"done": 200, "not done": 404, "neither": 409}[e.IdempotencyKey]
	}
	if len(answers) != 3 {
		t.Fatalf("%+v", answers)
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
	round(0, 0) // the calls may still be sent, as far as their records say
	w.Later(hold)
	round(2, 3)
	round(0, 4) // the third is asked about again,
	round(0, 4) // after a pause
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
		t.Errorf("what was done is done again: %v", refused)
	}
	if w.must(a, buying("not done")); w.requests.Load() != 1 {
		t.Error("what was not done cannot be done")
	}
}

// A service that does not answer is asked again later, and one without reconcile never.
func TestReconcilerWithoutResponse(t *testing.T) {
	for _, upstream := range []string{askedUpstream, quickUpstream} {
		w := newWorld(t, "", upstream)
		w.breaksOff()
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
