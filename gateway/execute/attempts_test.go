package execute_test

import (
	"net/http"
	"testing"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A limit of five calls an hour allows five requests to the upstream, including retries.
func TestRetriesTakeTheirOwnPlaces(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	searching := call{intent: find, parameters: `{"q":"lamp"}`}
	callTillRefused := func(a *gatetest.Agent) (calls int, last *reason.Refusal) {
		for {
			_, refused, _ := w.do(a, searching)
			if refused != nil && refused.Reason == reason.RateLimitExceeded {
				return calls, last
			}
			if calls, last = calls+1, refused; calls > 20 {
				t.Fatal("never refused")
			}
		}
	}

	w.closesEarly() // each attempt is retried
	calls, last := callTillRefused(w.fresh())
	if n := w.requests.Load(); n != 5 || calls != 2 {
		t.Errorf("%d calls made %d requests; want 2 calls, with 3 and 2 attempts", calls, n)
	}
	if last == nil || last.Reason != reason.UpstreamError || standing(execute.Result{}, last) != "0 of 5/hour, 9995 of 10000/hour" {
		t.Errorf("the call whose retry exceeds the limit: %v, %s", last, standing(execute.Result{}, last))
	}

	for _, attempts := range []int64{1, 2} { // only attempts that were made count
		w.answersFrom(attempts)
		a := w.fresh()
		w.requests.Store(0)
		if got, want := standing(w.must(a, searching), nil), map[int64]string{
			1: "4 of 5/hour, 9999 of 10000/hour", 2: "3 of 5/hour, 9998 of 10000/hour",
		}[attempts]; got != want || w.requests.Load() != attempts {
			t.Errorf("%d attempts: %s; want %s", w.requests.Load(), got, want)
		}
	}
}

// answersFrom makes the upstream close the connection for each request before the nth since requests was last reset.
func (w *world) answersFrom(nth int64) {
	w.closesEarly()
	breakOff := *w.handler.Load()
	w.serve(func(rw http.ResponseWriter, r *http.Request) {
		if w.requests.Load() < nth {
			breakOff(rw, r)
			return
		}
		_, _ = rw.Write([]byte(`{"items":[]}`))
	})
}
