package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

func keysAnswer(b *suite) {
	l := rate("l", 9, limit.Hour)
	first := b.keyed("k", l)
	admission := b.begin(first)
	repeat := func() (store.Admission, error) { return b.Begin(b.Context(), b.keyed("k", l)) }
	_, err := repeat()
	b.want(err, store.ErrInProgress)
	other := b.keyed("k", l)
	other.Execution.Fingerprint = "another body"
	_, err = b.Begin(b.Context(), other)
	b.want(err, store.ErrKeyReused)

	b.settle(admission, store.Unresolved, store.Unknown)
	_, err = repeat()
	b.want(err, store.ErrOutcomeUnknown)
	b.clock.Advance(48 * time.Hour) // while the outcome is unknown, the key does not expire
	_, err = repeat()
	b.want(err, store.ErrOutcomeUnknown)
	b.clock.Advance(-48 * time.Hour)

	answer := &store.Answer{
		Reason: reason.UpstreamError, Code: reason.UpstreamError.Code(), Message: "ünlucky",
		Details: []byte(`{"outcome":"failed","upstream":{"status":500}}`),
	}
	_, err = b.Settle(b.Context(), admission, store.Settlement{State: store.Released, Outcome: store.Failed, Answer: answer})
	b.must(err)
	got, err := repeat()
	b.must(err)
	if got.Recorded || len(got.Taken) != 0 || got.Replay == nil || got.Replay.ID != first.Execution.ID ||
		!cmp.Equal(got.Replay.Answer, answer) {
		b.Fatalf("got %+v", got)
	}
	_, err = b.Begin(b.Context(), other)
	b.want(err, store.ErrKeyReused)
	if s := b.begin(b.free(l)).Standing[0]; s.Left != 7 {
		b.Fatalf("repeats were counted: %+v", s)
	}

	b.begin(b.keyed("stuck"))
	b.clock.Advance(2 * time.Minute) // past its deadline, before the sweeper
	_, err = b.Begin(b.Context(), b.keyed("stuck"))
	b.want(err, store.ErrOutcomeUnknown)
}

// keysAfterResolving checks that, after the operator's decision, a key returns a call that took effect, and permits a new call otherwise.
func keysAfterResolving(b *suite) {
	for _, to := range []store.State{store.Captured, store.Released} {
		key := string(to)
		admission := b.begin(b.keyed(key))
		b.settle(admission, store.Unresolved, store.Unknown)
		_, err := b.Resolve(b.Context(), service, admission.Execution.ID, to)
		b.must(err)
		got := b.begin(b.keyed(key))
		if to == store.Released {
			if got.Replay != nil || !got.Recorded {
				b.Fatalf("released: %+v", got)
			}
			continue
		}
		if r := got.Replay; r == nil || r.ID != admission.Execution.ID || r.State != store.Captured || r.Outcome != store.Done ||
			r.Answer != nil {
			b.Fatalf("captured: %+v", got)
		}
	}
}

func keysEnd(b *suite) {
	r := b.keyed("k")
	_, err := b.Settle(b.Context(), b.begin(r), store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{}})
	b.must(err)
	b.clock.Advance(24*time.Hour - time.Nanosecond)
	if got := b.begin(b.keyed("k")); got.Replay == nil || got.Replay.Answer == nil {
		b.Fatalf("got %+v", got)
	}
	b.clock.Advance(time.Nanosecond)
	other := b.keyed("k")
	other.Execution.Fingerprint = "another body"
	got := b.begin(other)
	if got.Replay != nil || !got.Recorded {
		b.Fatalf("got %+v", got)
	}
	_, err = b.Begin(b.Context(), other)
	b.want(err, store.ErrInProgress)
}

func notSentFreesKey(b *suite) {
	for range 3 {
		b.settle(b.begin(b.keyed("k")), store.Released, store.NotSent)
	}
	late := b.begin(b.keyed("k"))
	b.settle(late, store.Unresolved, store.Unknown)
	b.settle(late, store.Released, store.NotSent) // the process that began the call settles late
	b.begin(b.keyed("k"))
}

func keysAreScoped(b *suite) {
	for _, who := range [][2]string{{service, agent}, {service, "agent-2"}, {"another", agent}} {
		r := b.keyed("k")
		r.Execution.Service, r.Execution.AgentID = who[0], pat.AgentID(who[1])
		if got := b.begin(r); !got.Recorded || got.Replay != nil {
			b.Fatalf("%v: %+v", who, got)
		}
	}
}

func noncesOnce(b *suite) {
	r := func(service, key, id string) store.BeginRequest {
		r := b.free(rate("l", 100, limit.Hour))
		r.Execution.Service = service
		r.Nonce = &store.Nonce{KeyID: keys.ID(key), ID: id, Until: start.Add(time.Minute)}
		return r
	}
	for _, n := range [][3]string{{service, "k", "n"}, {service, "k", "m"}, {service, "j", "n"}, {"another", "k", "n"}} {
		b.begin(r(n[0], n[1], n[2]))
		_, err := b.Begin(b.Context(), r(n[0], n[1], n[2]))
		b.want(err, store.ErrNonceUsed)
	}
	b.reopen()
	_, err := b.Begin(b.Context(), r(service, "k", "n"))
	b.want(err, store.ErrNonceUsed)
	if s := b.begin(b.free(rate("l", 100, limit.Hour))).Standing[0]; s.Left != 100-3-1 {
		b.Fatalf("a replayed proof was counted: %+v", s)
	}
}
