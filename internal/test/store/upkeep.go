package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

const long = 60 * 24 * time.Hour // longer than an ended record is kept

func testUpkeep(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"nonces are deleted":                             purgeNonces,
		"keys are deleted with their outputs":            purgeKeys,
		"charged executions are kept":                    purgeKeepsCharges,
		"counters without counts are deleted":            purgeCounters,
		"tokens, revocations and keys are deleted":       purgePATs,
		"unused agreements are deleted with their id":    purgeUnused,
		"used agreements are kept":                       purgeKeepsUsed,
		"an approved agent is kept":                      purgeKeepsKnown,
		"many rows are deleted in steps":                 purgeMany,
		"a second purge finds nothing":                   purgeTwice,
		"many overdue records are swept and purged once": sweepMany,
	})
}

func (b *suite) purge() int {
	b.Helper()
	n, err := b.Purge(b.Context())
	b.must(err)
	return n
}

func purgeNonces(b *suite) {
	r := b.free()
	r.Nonce = &store.Nonce{KeyID: "k", ID: "n", Until: start.Add(time.Minute)}
	b.begin(r)
	b.clock.Advance(time.Minute - time.Nanosecond)
	b.purge()
	_, err := b.Begin(b.Context(), r)
	b.want(err, store.ErrNonceUsed)
	b.clock.Advance(time.Nanosecond)
	if n := b.purge(); n != 1 {
		b.Fatalf("%d rows were purged", n)
	}
	b.begin(r)
}

func purgeKeys(b *suite) {
	answer := &store.Answer{Output: []byte("x")}
	done, stuck := b.keyed("done"), b.keyed("stuck")
	_, err := b.Settle(b.Context(), b.begin(done), store.Settlement{State: store.Captured, Outcome: store.Done, Answer: answer})
	b.must(err)
	admission := b.begin(stuck)
	b.settle(admission, store.Unresolved, store.Unknown)
	b.clock.Advance(24*time.Hour - time.Nanosecond)
	if n := b.purge(); n != 0 {
		b.Fatalf("%d rows were purged too early", n)
	}
	b.clock.Advance(long)
	if n := b.purge(); n != 2 { // the key and the execution
		b.Fatalf("%d rows were purged", n)
	}
	_, err = b.Execution(b.Context(), service, done.Execution.ID)
	b.want(err, store.ErrNotFound)
	_, err = b.Begin(b.Context(), stuck)
	b.want(err, store.ErrOutcomeUnknown)
	_, err = b.Resolve(b.Context(), service, stuck.Execution.ID, store.Captured)
	b.must(err)
	b.purge()
	done.Execution.ID, stuck.Execution.ID = b.id(), b.id()
	b.begin(done)
	b.begin(stuck)
}

func purgeKeepsCharges(b *suite) {
	r := b.paid(5)
	r.Execution.IdempotencyKey = "k"
	_, err := b.Settle(b.Context(), b.begin(r), store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{}})
	b.must(err)
	b.clock.Advance(long)
	b.purge()
	e, err := b.Execution(b.Context(), service, r.Execution.ID)
	b.must(err)
	if e.Answer != nil || e.Charge != usd(5) {
		b.Fatalf("got %+v", e)
	}
	b.balanced()
}

func purgeCounters(b *suite) {
	all := func(want int) {
		b.Helper()
		got := 0
		for _, p := range periods {
			if _, err := b.Begin(b.Context(), b.free(rate("l", 1, p))); err == nil {
				got++
			}
		}
		if got != want {
			b.Fatalf("%d admitted; want %d", got, want)
		}
	}
	all(8)
	b.purge()
	all(0)
	b.clock.Advance(long)
	if n := b.purge(); n != 6 { // neither the year's nor the lifetime's counter
		b.Fatalf("%d rows were purged", n)
	}
	all(6)
}

func purgePATs(b *suite) {
	a := b.agree(b.agreement("n"))
	b.begin(b.callUnder(a))
	k := b.issue(a)
	b.revoke(pat.RevokedToken, string(k.ID))
	b.must(b.AddSigningKey(b.Context(), keys.SigningKey{ID: "old", CreatedAt: start, NotAfter: start.Add(time.Hour)}))
	b.must(b.AddSigningKey(b.Context(), keys.SigningKey{ID: "live", CreatedAt: start}))
	b.clock.Advance(59 * time.Minute)
	if n := b.purge(); n != 0 {
		b.Fatalf("%d rows were purged too early", n)
	}
	b.clock.Advance(long)
	if n := b.purge(); n != 4 { // token, revocation, key, nonce
		b.Fatalf("%d rows were purged", n)
	}
	_, err := b.Token(b.Context(), service, k.ID)
	b.want(err, pat.ErrNotFound)
	b.wantChanges(0, "key live")
	_, err = b.Agreement(b.Context(), service, a.ID)
	b.must(err)
}

// callUnder returns a free call under an agreement.
func (b *suite) callUnder(a pat.Agreement) store.BeginRequest {
	r := b.free()
	r.Execution.AgreementID = a.ID
	return r
}

func purgeUnused(b *suite) {
	a := b.agree(b.agreement("n"))
	k := b.token(a)
	k.ExpiresAt = start.Add(40 * 24 * time.Hour)
	b.must(b.Issue(b.Context(), k))
	b.clock.Advance(39 * 24 * time.Hour)
	b.purge()
	_, err := b.Agreement(b.Context(), service, a.ID)
	b.must(err) // its token is still valid
	b.clock.Advance(long)
	b.purge()
	_, err = b.Agreement(b.Context(), service, a.ID)
	b.want(err, pat.ErrNotFound)
	_, err = b.Policy(b.Context(), service, a.PolicyDigest)
	b.want(err, pat.ErrNotFound)
	_, err = b.Agent(b.Context(), service, agent)
	b.want(err, pat.ErrNotFound)
	b.must(b.tryAgree(agent, "another-key", "n"))
}

func purgeKeepsUsed(b *suite) {
	var kept []pat.Agreement
	for i, r := range []store.BeginRequest{b.free(), b.free(rate("l", 9, limit.Hour)), b.paid(1), b.keyed("k")} {
		a := b.agree(b.agreement(fmt.Sprint(i)))
		r.Execution.AgreementID = a.ID
		b.begin(r)
		b.begin(func() store.BeginRequest { r := b.free(); r.Execution.AgreementID = a.ID; return r }())
		kept = append(kept, a)
	}
	refused := b.agree(b.agreement("refused")) // a refused call does not count
	r := b.free(rate("none", 0, limit.Hour))
	r.Execution.AgreementID = refused.ID
	b.refused(r)
	b.clock.Advance(long)
	b.purge()
	for _, a := range kept {
		if _, err := b.Agreement(b.Context(), service, a.ID); err != nil {
			b.Errorf("%s: %v", a.ID, err)
		}
	}
	_, err := b.Agreement(b.Context(), service, refused.ID)
	b.want(err, pat.ErrNotFound)
}

func purgeKeepsKnown(b *suite) {
	for i, change := range []func(id pat.AgentID){
		func(id pat.AgentID) {
			b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: id, Status: pat.AgentBlocked}))
		},
		func(id pat.AgentID) {
			b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: id, Status: pat.AgentActive, Approved: true}))
		},
		func(id pat.AgentID) { b.topUp(id, usd(1)) },
	} {
		id := pat.AgentID(fmt.Sprintf("known-%d", i))
		b.must(b.tryAgree(id, "key-"+keys.ID(id), "n"))
		change(id)
	}
	b.clock.Advance(long)
	b.purge()
	for i := range 3 {
		_, err := b.Agent(b.Context(), service, pat.AgentID(fmt.Sprintf("known-%d", i)))
		b.must(err)
	}
}

func purgeMany(b *suite) {
	const many = purgedRows
	r := b.free()
	concurrently(b, many, []Engine{b}, func(e Engine, i int) error {
		r := r
		r.Nonce = &store.Nonce{KeyID: "k", ID: fmt.Sprint(i), Until: start}
		return beginErr(b.Context(), e, r)
	}, anyOf())
	if n := b.purge(); n != many {
		b.Fatalf("%d rows were purged; want %d", n, many)
	}
}

func purgeTwice(b *suite) {
	b.agree(b.agreement("n"))
	b.settle(b.begin(b.keyed("k")), store.Released, store.NotSent)
	b.clock.Advance(long)
	b.purge()
	if n := b.purge(); n != 0 {
		b.Fatalf("%d rows were purged the second time", n)
	}
}

func sweepMany(b *suite) {
	const many = sweptRows
	concurrently(b, many, []Engine{b}, func(e Engine, i int) error {
		r := b.template(i)
		r.Hold = time.Minute
		return beginErr(b.Context(), e, r)
	}, anyOf())
	b.clock.Advance(time.Hour)
	if n, err := b.Sweep(b.Context()); err != nil || n != many {
		b.Fatalf("%d, %v; want %d", n, err, many)
	}
	if n, err := b.Sweep(b.Context()); err != nil || n != 0 {
		b.Fatalf("%d, %v; want none", n, err)
	}
	b.balanced()
}
