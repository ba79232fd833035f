package storetest

import (
	"strconv"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// choose stores an agreement of the agent with a plan.
func (b *suite) choose(nonce, plan string, state pat.AgreementState) pat.Agreement {
	a, p := b.agreement(nonce)
	a.ID, a.Plan, a.State, a.CreatedAt = pat.AgreementID("agreement-"+nonce), plan, state, b.clock.Now()
	b.clock.Advance(time.Second)
	return b.agree(a, p)
}

// standing checks the states of the agreements.
func (b *suite) standing(want map[pat.AgreementID]pat.AgreementState) {
	for id, state := range want {
		got, err := b.Agreement(b.Context(), service, id)
		b.must(err)
		if got.State != state {
			b.Fatalf("%s is %s; want %s", id, got.State, state)
		}
	}
}

func planEndsPlan(b *suite) {
	const active, revoked, pending = pat.AgreementActive, pat.AgreementRevoked, pat.AgreementPending
	none := b.choose("n-none", "", active)
	free := b.choose("n-free", "free", active)
	again := b.choose("n-again", "free", active)
	b.standing(map[pat.AgreementID]pat.AgreementState{none.ID: active, free.ID: active, again.ID: active})
	if again.Plan != "free" {
		b.Fatalf("the plan is %q; want free", again.Plan)
	}
	b.choose("n-none-2", "", active) // an agreement without a plan ends none
	b.standing(map[pat.AgreementID]pat.AgreementState{free.ID: active, again.ID: active})
	pro := b.choose("n-pro", "pro", active)
	b.standing(map[pat.AgreementID]pat.AgreementState{none.ID: active, free.ID: revoked, again.ID: revoked, pro.ID: active})
	waits := b.choose("n-waits", "partner", pending) // has no effect before the approval
	newest := b.choose("n-newest", "free", pending)
	b.standing(map[pat.AgreementID]pat.AgreementState{pro.ID: active, waits.ID: pending, newest.ID: pending})
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Approved: true}))
	b.standing(map[pat.AgreementID]pat.AgreementState{none.ID: active, pro.ID: revoked, waits.ID: revoked, newest.ID: active})
}

func endedPlanBeginsNothing(b *suite) {
	l := rate("l", 5, limit.Day)
	under := func(a pat.Agreement) store.BeginRequest {
		r := b.free(l)
		r.Execution.AgreementID, r.Planned = a.ID, true
		return r
	}
	free := b.choose("n-free", "free", pat.AgreementActive)
	b.begin(under(free))
	pro := b.choose("n-pro", "pro", pat.AgreementActive)
	for _, r := range []store.BeginRequest{under(free), {
		Execution: store.Execution{Service: service, AgentID: agent, AgreementID: free.ID}, Planned: true,
		Candidates: []store.Candidate{{}}, Hold: time.Minute,
	}} {
		_, err := b.Begin(b.Context(), r)
		b.want(err, pat.ErrRevoked)
	}
	if got := b.begin(under(pro)).Standing[0]; got.Left != 3 { // the calls under both plans count
		b.Fatalf("%+v; want Left 3", got)
	}
	b.reopen()
	_, err := b.Begin(b.Context(), under(free))
	b.want(err, pat.ErrRevoked)
	b.begin(under(pro))
	never := under(pro)
	never.Execution.AgreementID = "unknown"
	_, err = b.Begin(b.Context(), never)
	b.want(err, pat.ErrRevoked)
}

// changeOfPlanIsOneChange checks that a change of the plan writes one revocation for each earlier plan, however many agreements it ends.
func changeOfPlanIsOneChange(b *suite) {
	var tokens []pat.Token
	for _, nonce := range []string{"n-1", "n-2", "n-3"} {
		k := b.token(b.choose(nonce, "free", pat.AgreementActive))
		b.must(b.Issue(b.Context(), k))
		tokens = append(tokens, k)
	}
	late := b.token(b.choose("n-late", "free", pat.AgreementActive))
	late.IssuedAt = b.clock.Now().Add(time.Second) // by a process whose clock is ahead
	b.must(b.Issue(b.Context(), late))
	_, before, err := b.Changes(b.Context(), 0)
	b.must(err)
	b.choose("n-pro", "pro", pat.AgreementActive)
	changes, after, err := b.Changes(b.Context(), before)
	b.must(err)
	if len(changes) != 1 || changes[0].Revocation == nil || after != before+1 {
		b.Fatalf("%+v, and the number grew from %d to %d; want one revocation", changes, before, after)
	}
	r := changes[0].Revocation
	if r.Kind != pat.RevokedPlan || r.Subject != pat.PlanSubject(agent, "free", time.Time{}) || !r.At.Equal(late.IssuedAt) {
		b.Fatalf("got %+v", r)
	}
	for _, k := range append(tokens, late) {
		list, err := b.Tokens(b.Context(), store.TokenFilter{Service: service, ID: k.ID})
		b.must(err)
		if len(list) != 1 || !list[0].Revoked {
			b.Fatalf("got %+v; want a revoked token", list)
		}
	}
	again := b.token(b.choose("n-again", "free", pat.AgreementActive))
	again.Declared, again.IssuedAt = pat.Declaration{pat.PlanName: {"free"}}, r.At
	b.want(b.Issue(b.Context(), again), pat.ErrEnded)
	again.IssuedAt = r.At.Add(time.Second)
	b.must(b.Issue(b.Context(), again))
}

// manyAgreementsOfPlan changes the plan of an agent with thousands of agreements.
func manyAgreementsOfPlan(b *suite) {
	for n := range manyAgreements {
		a, p := b.agreement("many-" + strconv.Itoa(n))
		a.Plan = "free"
		k := b.token(b.agree(a, p))
		b.must(b.Issue(b.Context(), k))
	}
	_, before, err := b.Changes(b.Context(), 0)
	b.must(err)
	from := time.Now()
	pro := b.choose("n-pro", "pro", pat.AgreementActive)
	b.Logf("ended %d agreements in %s", manyAgreements, time.Since(from))
	changes, _, err := b.Changes(b.Context(), before)
	b.must(err)
	if len(changes) != 1 {
		b.Fatalf("got %d changes, want 1", len(changes))
	}
	active, err := b.Agreements(b.Context(), store.AgreementFilter{Service: service, AgentID: agent, State: pat.AgreementActive})
	b.must(err)
	if len(active) != 1 || active[0].ID != pro.ID {
		b.Fatalf("%d agreements are active, want 1", len(active))
	}
}

func planInAdvance(b *suite) {
	const active, revoked, pending = pat.AgreementActive, pat.AgreementRevoked, pat.AgreementPending
	from := start.Add(48 * time.Hour)
	advance := func(nonce, plan string, state pat.AgreementState, from time.Time) pat.Agreement {
		a, p := b.agreement(nonce)
		a.ID, a.Plan, a.State, a.CreatedAt = pat.AgreementID("agreement-"+nonce), plan, state, b.clock.Now()
		b.clock.Advance(time.Second)
		got, err := b.Agree(b.Context(), pat.NewAgreement{
			Agreement: a, Policy: p, NonceUntil: b.clock.Now().Add(time.Hour), PolicyFrom: from, OnDate: true,
		})
		b.must(err)
		return got
	}
	under := func(a pat.Agreement) error {
		r := b.free(rate("l", 100, limit.Day))
		r.Execution.AgreementID, r.Planned = a.ID, true
		_, err := b.Begin(b.Context(), r)
		return err
	}
	replaced := func(want int) {
		b.Helper()
		if n, err := b.ReplacePlans(b.Context()); n != want || err != nil {
			b.Fatalf("%d agents, %v; want %d", n, err, want)
		}
	}
	free := b.choose("n-free", "free", active)
	starter := advance("n-starter", "starter", active, from)
	later := advance("n-later", "partner", active, from.Add(24*time.Hour))
	again := b.choose("n-again", "free", active)
	b.must(under(free))
	pro := advance("n-pro", "pro", active, from)
	advance("n-pro-2", "pro", active, from)
	b.standing(map[pat.AgreementID]pat.AgreementState{
		free.ID: active, again.ID: active, starter.ID: revoked, pro.ID: active, later.ID: active,
	})
	replaced(0)
	b.reopen()
	b.clock.Advance(from.Sub(b.clock.Now()) - time.Millisecond)
	b.must(under(free))
	b.clock.Advance(time.Millisecond)
	b.want(under(free), pat.ErrRevoked)
	b.want(under(again), pat.ErrRevoked)
	b.must(under(pro))
	b.want(b.Issue(b.Context(), b.token(free)), pat.ErrBlocked)
	b.must(b.Issue(b.Context(), b.token(pro)))
	b.standing(map[pat.AgreementID]pat.AgreementState{pro.ID: active, later.ID: active})
	late := advance("n-late", "pro", active, from) // the date is past
	b.standing(map[pat.AgreementID]pat.AgreementState{free.ID: revoked, again.ID: revoked, pro.ID: active, late.ID: active, later.ID: active})
	replaced(0)
	b.clock.Advance(24 * time.Hour)
	replaced(1)
	b.standing(map[pat.AgreementID]pat.AgreementState{pro.ID: revoked, late.ID: revoked, later.ID: active})

	from = b.clock.Now().Add(24 * time.Hour) // the agent waits for approval
	waits := b.choose("n-waits", "free", pending)
	first := advance("n-first", "starter", pending, from)
	second := advance("n-second", "pro", pending, from)
	b.must(b.SetAgent(b.Context(), pat.AgentChange{Service: service, ID: agent, Approved: true}))
	b.standing(map[pat.AgreementID]pat.AgreementState{later.ID: revoked, waits.ID: active, first.ID: revoked, second.ID: active})
}

func carriedLimits(b *suite) {
	carried := rate("other", 1, limit.Day)
	carried.Carried = true
	b.begin(b.free(rate("own", 3, limit.Hour), carried))
	b.begin(b.free(rate("own", 3, limit.Hour), carried))
	if got := b.begin(b.free(rate("other", 9, limit.Day))).Standing[0]; got.Left != 6 {
		b.Fatalf("%+v; want Left 6", got)
	}
	b.refused(b.free(rate("other", 3, limit.Day), carried)) // a limit that both refuses and counts
}

// carriedLimitsKeepTheGrant checks that a call under a limit per month can be sent as long as under that limit alone, although it also
// counts in a limit per second of another plan.
func carriedLimitsKeepTheGrant(b *suite) {
	carried := rate("other", limit.MaxCount, limit.Second)
	carried.Carried = true
	if got := b.begin(b.free(rate("own", 9, limit.Month), carried)); got.Expires != 0 || !got.Taken[1].Carried || got.Taken[0].Carried {
		b.Fatalf("%+v; want no expiry, and only the second slot carried", got)
	}
	hour := rate("hourly", 9, limit.Hour)
	alone := b.begin(b.free(hour)).Expires
	if got := b.begin(b.free(hour, carried)).Expires; got != alone {
		b.Fatalf("the grant lives for %v; want %v", got, alone)
	}
	own := rate("other", 9, limit.Second) // the limit also refuses calls of the agent
	if got := b.begin(b.free(own, carried)); got.Expires == 0 || got.Taken[0].Carried {
		b.Fatalf("%+v; want an expiry, and no carried slot", got)
	}
}
