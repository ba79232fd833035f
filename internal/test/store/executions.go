package storetest

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store"
)

func testExecutions(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a record is stored unchanged":                     recordsRoundTrip,
		"a key returns the state of its execution":         keysAnswer,
		"a key returns the operator's decision":            keysAfterResolving,
		"a key is deleted after its expiry":                keysEnd,
		"the key of an unsent call is free":                notSentFreesKey,
		"agents and services have separate keys":           keysAreScoped,
		"a nonce is used once":                             noncesOnce,
		"every settlement in every state":                  moves,
		"an invalid settlement is refused":                 invalidSettlements,
		"outputs are stored up to a maximum size":          answersBounded,
		"the sweeper ends overdue calls":                   sweeps,
		"the operator resolves unknown outcomes":           resolves,
		"listings have pages":                              recordsInPages,
		"calls of a conversation, the newest status first": listCalls,
		"calls within a scope":                             readCallsInScope,
		"a call that has ended does not change":            callsStayEnded,
		"the store is ready":                               func(b *suite) { b.must(b.Ready(b.Context())) },
	})
}

func recordsRoundTrip(b *suite) {
	r := b.paid(1234)
	r.Execution.IdempotencyKey, r.Execution.TokenID, r.Execution.AgreementID, r.Execution.PolicyDigest = "key", "jti", "agr", "sha-256:x"
	r.Hold = 40 * time.Second
	admission := b.begin(r)
	want := r.Execution
	want.Rule, want.Charge, want.State, want.BeganAt, want.Deadline = "rule", usd(1234), store.Held, start, start.Add(40*time.Second)
	check := func(got store.Execution) {
		b.Helper()
		got.Entry = nil // see the chain
		if d := cmp.Diff(want, got); d != "" {
			b.Fatalf("differs (-want +got):\n%s", d)
		}
	}
	check(admission.Execution)
	if !admission.Recorded || admission.Replay != nil {
		b.Fatalf("got %+v", admission)
	}
	got, err := b.Execution(b.Context(), service, want.ID)
	b.must(err)
	check(got)
	b.clock.Advance(time.Second)
	answer := &store.Answer{Output: []byte(`{"a":1}`)}
	got, err = b.Settle(b.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done, Answer: answer})
	b.must(err)
	want.State, want.Outcome, want.SettledAt, want.Answer = store.Captured, store.Done, start.Add(time.Second), answer
	check(got)
	b.reopen()
	got, err = b.Execution(b.Context(), service, want.ID)
	b.must(err)
	check(got)
	_, err = b.Execution(b.Context(), "another", want.ID)
	b.want(err, store.ErrNotFound)
	_, err = b.Begin(b.Context(), r) // replays the call and does not create the id twice
	b.must(err)
	r.Execution.IdempotencyKey = "other"
	if _, err := b.Begin(b.Context(), r); err == nil {
		b.Fatal("one id was recorded twice")
	}
	b.balanced()
}

// moves tries every settlement in every state, for free and for paid calls.
func moves(b *suite) {
	outcome := map[store.State]store.Outcome{store.Captured: store.Done, store.Released: store.Failed, store.Unresolved: store.Unknown}
	for _, nano := range []int64{0, 5} {
		for from := range map[store.State]bool{store.Held: true, store.Captured: true, store.Released: true, store.Unresolved: true} {
			for to, o := range outcome {
				r := b.keyed(b.id())
				r.Candidates[0].Charge, r.Billing.Credit = usd(nano), usd(1_000_000)
				admission := b.begin(r)
				if from != store.Held {
					b.settle(admission, from, outcome[from])
				}
				got, err := b.Settle(b.Context(), admission, store.Settlement{State: to, Outcome: o})
				if from == store.Held || from == store.Unresolved && to != store.Unresolved {
					b.must(err)
					if got.State != to || got.Outcome != o {
						b.Fatalf("%s → %s: %+v", from, to, got)
					}
				} else {
					b.want(err, store.ErrSettled)
					if got.State != from || got.ID != r.Execution.ID {
						b.Fatalf("%s → %s: the record is %+v", from, to, got)
					}
				}
			}
		}
	}
	gone := b.begin(b.keyed("gone"))
	gone.Execution.ID = "nobody"
	_, err := b.Settle(b.Context(), gone, store.Settlement{State: store.Captured, Outcome: store.Done})
	b.want(err, store.ErrNotFound)
	b.balanced()
}

func invalidSettlements(b *suite) {
	admission := b.begin(b.paid(1))
	for _, s := range []store.Settlement{
		{},
		{State: store.Held, Outcome: store.Done},
		{State: store.Captured},
		{State: "x", Outcome: store.Done},
		{State: store.Captured, Outcome: store.NotSent},
		{State: store.Unresolved, Outcome: store.NotSent},
		{State: store.Captured, Outcome: "x"},
	} {
		if _, err := b.Settle(b.Context(), admission, s); err == nil {
			b.Errorf("%+v was accepted", s)
		}
	}
	b.settle(admission, store.Captured, store.Done)
}

func answersBounded(b *suite) {
	for _, size := range []int{0, store.MaxAnswer, store.MaxAnswer + 1} {
		r := b.keyed(b.id())
		body := bytes.Repeat([]byte{0xff}, size)
		_, err := b.Settle(b.Context(), b.begin(r),
			store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{Output: body}})
		b.must(err)
		got := b.begin(r).Replay
		if kept := got.Answer != nil; kept != (size <= store.MaxAnswer) || kept && !bytes.Equal(got.Answer.Output, body) {
			b.Errorf("%d bytes: stored %v", size, kept)
		}
	}
}

func sweeps(b *suite) {
	var held []store.Admission
	for range 3 {
		held = append(held, b.begin(b.paid(2)))
		b.clock.Advance(10 * time.Second)
	}
	done := b.begin(b.paid(2))
	b.settle(done, store.Captured, store.Done)
	b.clock.Advance(40*time.Second - time.Nanosecond) // one minute after the second
	n, err := b.Sweep(b.Context())
	b.must(err)
	if n != 1 {
		b.Fatalf("%d swept; want 1", n)
	}
	b.clock.Advance(time.Nanosecond)
	n, err = b.Sweep(b.Context())
	b.must(err)
	if n != 1 {
		b.Fatalf("%d swept; want 1", n)
	}
	b.clock.Advance(time.Hour)
	n, err = b.Sweep(b.Context())
	b.must(err)
	if n != 1 {
		b.Fatalf("%d swept; want 1", n)
	}
	if a := b.account(); a.Held != usd(6) || a.Captured != usd(2) {
		b.Fatalf("got %+v", a)
	}
	if e := b.settle(held[0], store.Captured, store.Done); e.State != store.Captured { // the process that began the call was only late
		b.Fatalf("got %+v, want State %v", e, store.Captured)
	}
	entries, err := b.Ledger(b.Context(), store.Filter{State: store.Unresolved})
	b.must(err)
	if backlog, err := b.Backlog(b.Context(), service); err != nil || backlog.Unresolved != 2 {
		b.Fatalf("got %+v, %v; want no error and Unresolved 2", backlog, err)
	}
	if len(entries) != 3 || entries[0].By != "sweeper" || entries[0].From != store.Held || entries[0].ExecutionID != held[2].Execution.ID {
		b.Fatalf("got %+v", entries)
	}
	b.balanced()
}

func resolves(b *suite) {
	resolvedBy(b, "operator", b.Resolve)
	resolvedBy(b, "service", b.Reconcile)
}

func resolvedBy(b *suite, who string, resolve func(context.Context, string, string, store.State) (store.Execution, error)) {
	b.Helper()
	for _, to := range []store.State{store.Captured, store.Released} {
		r := b.paid(2)
		r.Execution.IdempotencyKey = b.id()
		admission := b.begin(r)
		_, err := resolve(b.Context(), service, r.Execution.ID, to)
		b.want(err, store.ErrSettled)
		b.settle(admission, store.Unresolved, store.Unknown)
		_, err = resolve(b.Context(), "another", r.Execution.ID, to)
		b.want(err, store.ErrNotFound)
		if _, err := resolve(b.Context(), service, r.Execution.ID, store.Held); err == nil {
			b.Fatal("resolved to held")
		}
		got, err := resolve(b.Context(), service, r.Execution.ID, to)
		b.must(err)
		if got.State != to {
			b.Fatalf("got %+v, want State %v", got, to)
		}
		_, err = resolve(b.Context(), service, r.Execution.ID, store.Captured)
		b.want(err, store.ErrSettled)
		_, err = b.Settle(b.Context(), admission, store.Settlement{State: store.Captured, Outcome: store.Done})
		b.want(err, store.ErrSettled)
		entries, err := b.Ledger(b.Context(), store.Filter{Limit: 1})
		b.must(err)
		if entries[0].By != who || entries[0].From != store.Unresolved || entries[0].To != to {
			b.Fatalf("got %+v; want [0].By %v, [0].From %v and [0].To %v", entries, who, store.Unresolved, to)
		}
		r.Execution.ID = b.id()
		if again := b.begin(r); (again.Replay != nil) != (to == store.Captured) { // a call that took effect is never executed again
			b.Fatalf("got %+v", again)
		}
	}
	b.balanced()
}

func recordsInPages(b *suite) {
	var ids []string
	for i := range 7 {
		r := b.paid(1)
		if i == 3 {
			r.Execution.AgentID = "agent-2"
		}
		admission := b.begin(r)
		ids = append(ids, r.Execution.ID)
		if i%2 == 0 {
			b.settle(admission, store.Captured, store.Done)
		}
	}
	slices.Reverse(ids)
	read := func(f store.Filter) (out []string) {
		b.Helper()
		for range 9 {
			page, err := b.Executions(b.Context(), f)
			b.must(err)
			if len(page) == 0 {
				return out
			}
			if f.Limit > 0 && len(page) > f.Limit {
				b.Fatalf("a page of %d", len(page))
			}
			for _, e := range page {
				out = append(out, e.ID)
			}
			f.After = out[len(out)-1]
		}
		b.Fatal("the pages do not end")
		return nil
	}
	for name, c := range map[string]struct {
		f    store.Filter
		want []string
	}{
		"all":      {store.Filter{Limit: 2}, ids},
		"held":     {store.Filter{Limit: 1, State: store.Held}, []string{ids[1], ids[3], ids[5]}},
		"captured": {store.Filter{State: store.Captured, Service: service}, []string{ids[0], ids[2], ids[4], ids[6]}},
		"service":  {store.Filter{Service: service}, ids},
		"agent":    {store.Filter{AgentID: "agent-2", Service: service, State: store.Held}, []string{ids[3]}},
		"nobody":   {store.Filter{Service: "another"}, nil},
		"strange":  {store.Filter{State: "' OR 1=1 --", Service: "'"}, nil},
	} {
		if got := read(c.f); !slices.Equal(got, c.want) {
			b.Errorf("%s: %v; want %v", name, got, c.want)
		}
	}
	entries, err := b.Ledger(b.Context(), store.Filter{AgentID: "agent-2"})
	b.must(err)
	if len(entries) != 1 || entries[0].ExecutionID != ids[3] || entries[0].By != "agent" || !entries[0].At.Equal(start) {
		b.Errorf("got %+v", entries)
	}
	entries, err = b.Ledger(b.Context(), store.Filter{Service: service, After: strconv.FormatInt(entries[0].Seq, 10), Limit: 9})
	b.must(err)
	if len(entries) != 5 { // three calls held, two of them captured
		b.Errorf("got %+v, want length 5", entries)
	}
	if _, err := b.Ledger(b.Context(), store.Filter{After: "x"}); err == nil {
		b.Error("a page after x")
	}
	b.balanced()
}
