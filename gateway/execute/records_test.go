package execute_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	"github.com/uimgate/uimgate/store"
)

// contextCall returns a call with a context id.
func (w *world) contextCall(a *gatetest.Agent, key, intent, parameters string) execute.Call {
	w.Helper()
	sent := tree(w, parameters)
	return execute.Call{
		Service: w.served, Token: a.Token, IdempotencyKey: execute.IdempotencyKey(key), ContextID: "c-" + key, RequestID: "r-1",
		Read: func() (execute.Request, error) { return execute.Request{IntentUID: intent, Parameters: sent}, nil },
	}
}

// lookup returns the Call for a query of records.
func (w *world) lookup(a *gatetest.Agent) execute.Call {
	return execute.Call{Service: w.served, Token: a.Token}
}

// callInContext makes a call with a context id and returns the reference to its record.
func (w *world) callInContext(a *gatetest.Agent, key, intent, parameters string) *execute.Reference {
	w.Helper()
	var reference *execute.Reference
	c := w.contextCall(a, key, intent, parameters)
	c.Observe = func(e *execute.Event) { reference = e.Reference }
	_, _ = w.Executor.Execute(w.Context(), c)
	return reference
}

func TestRecordsOfCalls(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	a, other := w.fresh(), w.fresh()
	done := w.callInContext(a, "done", buy, `{"product":"x"}`)
	w.Later(time.Second)
	w.answers(422, "application/json", `{"message":"sold out"}`)
	rejected := w.callInContext(a, "rejected", buy, `{"product":"y"}`)
	w.Later(time.Second)
	w.closesEarly()
	lost := w.callInContext(a, "lost", buy, `{"product":"z"}`)
	w.Later(time.Second)
	w.answers(200, "application/json", "nonsense")
	garbled := w.callInContext(a, "garbled", buy, `{"product":"z"}`)
	if refused := w.callInContext(a, "refused", buy, `{}`); refused != nil {
		t.Errorf("a call that was refused before it began has a record: %+v", refused)
	}
	if again := w.callInContext(a, "done", buy, `{"product":"x"}`); *again != *done {
		t.Errorf("a repeated call has another record: %+v, %+v", again, done)
	}
	for _, tt := range []struct {
		of     *execute.Reference
		status execute.CallStatus
		want   string
	}{
		{done, execute.CallDone, `{"order":"o-1"} captured`},
		{rejected, execute.CallFailed, "UPSTREAM_REJECTED failed released"},
		{lost, execute.CallFailed, "OUTCOME_UNKNOWN unknown pending"},
		{garbled, execute.CallFailed, "RESPONSE_INVALID done released"},
	} {
		r, err := w.Executor.Record(t.Context(), w.lookup(a), tt.of.ID)
		w.Must(err)
		if got := describe(&r); r.Status != tt.status || got != tt.want || r.Reference != *tt.of || r.Intent != buy {
			t.Errorf("%s %s %+v, want %s %s %+v", r.Status, got, r.Reference, tt.status, tt.want, tt.of)
		}
		if _, err := w.Executor.Record(t.Context(), w.lookup(other), tt.of.ID); !errors.Is(err, execute.ErrNoRecord) {
			t.Errorf("another agent: %v, want %v", err, execute.ErrNoRecord)
		}
	}
	if _, err := w.Executor.Record(t.Context(), w.lookup(a), "nothing"); !errors.Is(err, execute.ErrNoRecord) {
		t.Errorf("got %v, want %v", err, execute.ErrNoRecord)
	}
	if r, err := w.Executor.RecordOf(t.Context(), w.lookup(a), "done"); err != nil || r.ID != done.ID || r.ContextID != "c-done" {
		t.Errorf("got %+v, %v; want no error, ID %v and ContextID %q", r, err, done.ID, "c-done")
	}
	w.answers(200, "application/json", `{"order":"o-1"}`)
	w.must(a, call{intent: buy, parameters: `{"product":"of no conversation"}`, key: "plain"})
	w.listsRecords(a, other, done, rejected, lost, garbled)
	_, err := w.Store.Resolve(t.Context(), "default", lost.ID, store.Captured)
	w.Must(err)
	if r, err := w.Executor.Record(t.Context(), w.lookup(a), lost.ID); err != nil || describe(&r) != "OUTCOME_UNKNOWN unknown captured" {
		t.Errorf("the record of the resolved call: %s, %v; want %q, nil", describe(&r), err, "OUTCOME_UNKNOWN unknown captured")
	}
}

// describe returns the output or refusal of a record, and its charge.
func describe(r *execute.Record) string {
	words := []string{string(r.Output)}
	if r.Refusal != nil {
		words = []string{string(r.Refusal.Reason), fmt.Sprint(r.Refusal.Details["outcome"])}
	}
	if r.Charge != nil {
		words = append(words, r.Charge.State)
	}
	return strings.Join(words, " ")
}

func (w *world) listsRecords(a, other *gatetest.Agent, done, rejected, lost, garbled *execute.Reference) {
	w.Helper()
	ids := func(q execute.RecordQuery) (execute.RecordPage, string) {
		w.Helper()
		page, err := w.Executor.Records(w.Context(), w.lookup(a), q)
		w.Must(err)
		var list []string
		for i := range page.Records {
			list = append(list, page.Records[i].ID)
		}
		return page, strings.Join(list, " ")
	}
	page, got := ids(execute.RecordQuery{Limit: 3})
	if want := strings.Join([]string{garbled.ID, lost.ID, rejected.ID}, " "); got != want || page.Total != 4 {
		w.Errorf("%s of %d, want %s", got, page.Total, want)
	}
	rest, got := ids(execute.RecordQuery{Limit: 3, After: page.Next, Outputs: true})
	if got != done.ID || rest.Next.ID != "" || string(rest.Records[0].Output) != `{"order":"o-1"}` {
		w.Errorf("got %s, %+v", got, rest)
	}
	if rest, _ := ids(execute.RecordQuery{Limit: 3, After: page.Next}); rest.Records[0].Output != nil || rest.Records[0].Refusal != nil {
		w.Errorf("an output that nobody asked for: %+v; want Output nil and Refusal nil", rest.Records[0])
	}
	if _, got := ids(execute.RecordQuery{Limit: 9, ContextID: "c-lost"}); got != lost.ID {
		w.Errorf("got %v, want %v", got, lost.ID)
	}
	_, err := w.Executor.Records(w.Context(), w.lookup(other), execute.RecordQuery{After: page.Next})
	if !errors.Is(err, execute.ErrNoRecord) {
		w.Errorf("the page of another agent: %v, want %v", err, execute.ErrNoRecord)
	}
	if page, err := w.Executor.Records(w.Context(), w.lookup(other), execute.RecordQuery{}); err != nil || page.Total != 0 {
		w.Errorf("got %+v, %v; want no error and Total 0", page, err)
	}
}

// A PAT can read the records of the intents in its scope, including calls that the agent made with other PATs.
func TestRecordsWithinTheScope(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	a := w.fresh()
	found := w.callInContext(a, "found", find, `{"q":"lamp"}`)
	w.Later(time.Second)
	bought := w.callInContext(a, "bought", buy, `{"product":"x"}`)
	narrow := w.Narrowed(a, find)
	if _, err := w.Executor.Record(t.Context(), w.lookup(narrow), bought.ID); !errors.Is(err, execute.ErrNoRecord) {
		t.Errorf("by id: %v, want %v", err, execute.ErrNoRecord)
	}
	if _, err := w.Executor.RecordOf(t.Context(), w.lookup(narrow), "bought"); !errors.Is(err, execute.ErrNoRecord) {
		t.Errorf("by key: %v, want %v", err, execute.ErrNoRecord)
	}
	if r, err := w.Executor.Record(t.Context(), w.lookup(narrow), found.ID); err != nil || r.Intent != find {
		t.Errorf("got %+v, %v; want no error and Intent %v", r, err, find)
	}
	page, err := w.Executor.Records(t.Context(), w.lookup(narrow), execute.RecordQuery{Outputs: true, Limit: 9})
	if err != nil || page.Total != 1 || len(page.Records) != 1 || page.Records[0].ID != found.ID {
		t.Errorf("got %+v, %v; want no error, Total 1, Records of length 1 and Records[0].ID %v", page, err, found.ID)
	}
	behind := execute.RecordQuery{After: execute.RecordCursor{Since: bought.Since, ID: bought.ID}}
	if _, err = w.Executor.Records(t.Context(), w.lookup(narrow), behind); !errors.Is(err, execute.ErrNoRecord) {
		t.Errorf("after a call outside of the scope: %v, want %v", err, execute.ErrNoRecord)
	}
	if page, err = w.Executor.Records(t.Context(), w.lookup(a), execute.RecordQuery{Limit: 9}); err != nil || page.Total != 2 {
		t.Errorf("got %+v, %v; want no error and Total 2", page, err)
	}
}

func TestRecordsEndAfterADay(t *testing.T) {
	w := newWorld(t, "pat: {ttl: 24h}\nbilling: {credit: 100 EUR, newcomers: 100 EUR}\n", quickUpstream)
	a := w.fresh()
	done := w.callInContext(a, "done", buy, `{"product":"x"}`)
	w.Later(24*time.Hour - time.Minute)
	if _, err := w.Executor.Record(t.Context(), w.lookup(a), done.ID); err != nil {
		t.Error(err)
	}
	w.Later(time.Minute)
	if _, err := w.Executor.Record(t.Context(), w.lookup(a), done.ID); !errors.Is(err, execute.ErrNoRecord) {
		t.Errorf("got %v, want %v", err, execute.ErrNoRecord)
	}
}

func TestStartedCall(t *testing.T) {
	w := newWorld(t, "", quickUpstream)
	a := w.fresh()
	goOn := make(chan struct{})
	w.serve(func(rw http.ResponseWriter, _ *http.Request) {
		<-goOn
		rw.Header().Set("Content-Type", "application/json")
		_, _ = rw.Write([]byte(`{"order":"o-2"}`))
	})
	s := w.Executor.Start(t.Context(), w.contextCall(a, "k", buy, `{"product":"x"}`))
	reference, started := s.Begun()
	if !started {
		_, _, err := s.Ended()
		t.Fatal(err)
	}
	if r, err := w.Executor.Record(t.Context(), w.lookup(a), reference.ID); err != nil || r.Status != execute.CallRunning || r.Refusal != nil {
		t.Errorf("got %+v, %v; want no error, Status %v and Refusal nil", r, err, execute.CallRunning)
	}
	close(goOn)
	if left := w.Executor.Drain(t.Context()); left != 0 { // waits for the call
		t.Errorf("%d left, want 0", left)
	}
	r, err := w.Executor.Record(t.Context(), w.lookup(a), reference.ID)
	if err != nil || r.Status != execute.CallDone || string(r.Output) != `{"order":"o-2"}` {
		t.Errorf("got %+v, %v", r, err)
	}
	result, event, err := s.Ended()
	if err != nil || string(result.Output) != `{"order":"o-2"}` || event.Reference.ID != reference.ID {
		t.Errorf("got %s, %+v, %v", result.Output, event, err)
	}
	refused := w.Executor.Start(t.Context(), w.contextCall(a, "k2", buy, `{}`))
	if _, started := refused.Begun(); started {
		t.Error("a refused call has begun")
	}
	_, _, err = refused.Ended()
	if f, ok := errors.AsType[*reason.Refusal](err); !ok || f.Reason != reason.MissingParameter {
		t.Error(err)
	}
}
