package execute_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A heldStore calls held after each begin, before the caller continues, as if the process were paused there.
type heldStore struct {
	execute.Store
	held func(store.Admission)
}

func (s heldStore) Begin(ctx context.Context, r store.BeginRequest) (store.Admission, error) {
	a, err := s.Store.Begin(ctx, r)
	if err == nil && a.Replay == nil {
		s.held(a)
	}
	return a, err
}

// holdAfterBegin calls do after the next begin.
func (w *world) holdAfterBegin(do func(store.Admission)) {
	own := w.Executor
	w.Executor = execute.New(execute.Config{
		State: w.Store, Revocations: w.View, Recorder: w.Metrics, Now: w.Now,
		Store: heldStore{w.Store, func(a store.Admission) {
			w.Executor = own
			do(a)
		}},
	})
}

// hold is how long the store holds a call of the tests: the timeout of quickUpstream and 30 seconds.
const hold = time.Minute

func TestCallIsNotSentAfterItsDeadline(t *testing.T) {
	buying := call{intent: buy, parameters: `{"product":"x"}`, key: "k"}
	last := hold - 2*time.Second
	for after, sent := range map[time.Duration]bool{last - 1: true, last: false, hold + 20*time.Second: false} {
		w := newWorld(t, "", quickUpstream)
		a := w.fresh()
		w.holdAfterBegin(func(store.Admission) { w.Later(after) })
		result, refused, event := w.do(a, buying)
		if sent {
			if refused != nil || w.requests.Load() != 1 || result.Charge.State != "captured" {
				t.Errorf("after %s: %v, %d requests", after, refused, w.requests.Load())
			}
			continue
		}
		if refused == nil || refused.Reason != reason.GrantExpired || refused.Message != reason.GrantExpired.Message() ||
			refused.RetryAfter != time.Second || refused.Details["outcome"] != store.NotSent || refused.Charge.State != "released" {
			t.Errorf("after %s: %v", after, refused)
		}
		if w.requests.Load() != 0 || event.Unsettled != nil || w.owed(a) != "0.00 held, 0.00 captured" {
			t.Errorf("after %s: %d requests, %v, owed %s", after, w.requests.Load(), event.Unsettled, w.owed(a))
		}
		if w.must(a, buying); w.requests.Load() != 1 { // the idempotency key can be used again
			t.Errorf("after %s: the call cannot be made again", after)
		}
	}
}

// While the process sleeps, the operator settles its call and the agent repeats the call.
func TestCallSettledElsewhereIsNotSent(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	a := w.fresh()
	buying := call{intent: buy, parameters: `{"product":"x"}`, key: "k"}
	w.holdAfterBegin(func(admission store.Admission) {
		w.resolve(admission, store.Released)
		w.must(a, buying)
	})
	_, refused, event := w.do(a, buying)
	if refused == nil || refused.Reason != reason.GrantExpired || refused.Charge.State != "released" || event.Unsettled != nil {
		t.Errorf("%v, unsettled: %v", refused, event.Unsettled)
	}
	if n, owed := w.requests.Load(), w.owed(a); n != 1 || owed != "0.00 held, 0.25 captured" {
		t.Errorf("%d requests, owed %s; want one request and one capture", n, owed)
	}
}

// If another process has already settled the call, that is not an error: the agent receives the state in the record.
func TestCallSettledElsewhereReturnsItsEnd(t *testing.T) {
	for to, want := range map[store.State]string{store.Released: "0.00 held, 0.00 captured", store.Captured: "0.00 held, 0.25 captured"} {
		w := newWorld(t, "", quickUpstream)
		a := w.fresh()
		var admission store.Admission
		w.holdAfterBegin(func(a store.Admission) { admission = a })
		w.serve(func(rw http.ResponseWriter, _ *http.Request) {
			w.resolve(admission, to) //nolint:contextcheck // during the response, not a part of this request
			_, _ = io.WriteString(rw, `{"order":"o-1"}`)
		})
		result, refused, event := w.do(a, call{intent: buy, parameters: `{"product":"x"}`})
		if refused != nil || result.Charge.State != string(to) || event.Unsettled != nil || event.Charge.State != string(to) {
			t.Errorf("%s: %v, %+v, unsettled: %v", to, refused, result.Charge, event.Unsettled)
		}
		if got := w.owed(a); got != want {
			t.Errorf("%s: %s, want %s", to, got, want)
		}
	}
}

// If the end of a call cannot be stored, storing is retried until the deadline of the record.
func TestLateEndIsRetriedUntilDeadline(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	a := w.fresh()
	w.serve(func(rw http.ResponseWriter, _ *http.Request) {
		w.closeStore()
		_, _ = io.WriteString(rw, `{"order":"o-1"}`)
	})
	if result, refused, event := w.do(a, call{intent: buy, parameters: `{"product":"x"}`}); refused != nil ||
		result.Charge.State != "pending" || event.Unsettled == nil {
		t.Fatalf("got %v, %+v", refused, result.Charge)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for after, want := range []int{1, 0} {
		ctx := over
		if w.Pass(time.Duration(after) * hold); want == 0 {
			ctx = t.Context() // after the deadline, Drain does not wait for the store
		}
		if left := w.Executor.Drain(ctx); left != want {
			t.Errorf("%d left, want %d", left, want)
		}
	}
	w.measured(`uimgate_late_ends_total{became="given_up"} 1`)
}

// An awayStore cannot settle calls while away is set.
type awayStore struct {
	*sqlstore.Store
	away *atomic.Bool
}

func (s awayStore) Settle(ctx context.Context, a store.Admission, to store.Settlement) (store.Execution, error) {
	if s.away.Load() {
		return store.Execution{}, store.ErrUnavailable
	}
	return s.Store.Settle(ctx, a, to)
}

func TestStoredLateEndIsCounted(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	a := w.fresh()
	away := &atomic.Bool{}
	away.Store(true)
	w.Executor = execute.New(execute.Config{
		Store: awayStore{w.Store, away}, State: w.Store, Revocations: w.View, Recorder: w.Metrics, Now: w.Now, Late: w.Metrics.Late,
	})
	if _, refused, event := w.do(a, call{intent: buy, parameters: `{"product":"x"}`}); refused != nil || event.Unsettled == nil {
		t.Fatalf("got %v", refused)
	}
	away.Store(false)
	if left := w.Executor.Drain(t.Context()); left != 0 {
		t.Errorf("%d left, want 0", left)
	}
	w.measured(`uimgate_late_ends_total{became="stored"} 1`)
}

// A response that is too large to store is not replayed, and is counted.
func TestLostResponseIsCounted(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	a := w.fresh()
	w.answers(200, "application/json", `{"order":"`+strings.Repeat("o", store.MaxAnswer)+`"}`)
	_, refused, event := w.do(a, call{intent: buy, parameters: `{"product":"x"}`, key: "k"})
	if refused != nil || !event.AnswerLost {
		t.Fatalf("got %v, %v", refused, event.AnswerLost)
	}
	w.answers(200, "application/json", `{"order":"o-1"}`)
	if _, refused, event = w.do(a, call{intent: buy, parameters: `{"product":"x"}`, key: "k-2"}); refused != nil || event.AnswerLost {
		t.Errorf("got %v, %v", refused, event.AnswerLost)
	}
	w.measured("uimgate_answers_not_kept_total 1")
}

// measured expects this series with its value in the metrics.
func (w *world) measured(series string) {
	w.Helper()
	scraped := httptest.NewRecorder()
	promhttp.HandlerFor(w.Metrics.Registry(), promhttp.HandlerOpts{}).ServeHTTP(scraped, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if !strings.Contains(scraped.Body.String(), "\n"+series+"\n") {
		w.Errorf("%s is not counted", series)
	}
}

// resolve lets the deadline of a call pass, so that the sweeper marks it unresolved, and then resolves it as an operator does.
func (w *world) resolve(admission store.Admission, to store.State) {
	w.Helper()
	w.Later(hold)
	if n, err := w.Store.Sweep(w.Context()); err != nil || n != 1 {
		w.Fatalf("%d swept, %v; want no error and 1", n, err)
	}
	_, err := w.Store.Resolve(w.Context(), "default", admission.Execution.ID, to)
	w.Must(err)
}
