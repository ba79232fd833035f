package evidence

import (
	"math"

	"github.com/uimgate/uimgate/internal/money"
)

// A run is a sequence of entries of one account without a gap.
type run struct {
	from, to   int64
	prev, leaf Hash // the leaf hashes of the entry before the first, and of the last entry
	issuers    [2]string
	epochs     [2]int64 // the epochs of the first and the last entry
	sums       position // changes by the entries, relative to base once it is known
	base       position
	known      bool            // sums are those of the account
	calls      map[string]span // by execution; executions that began and ended in the run are left out
}

// A span describes one execution in the entries of a run.
type span struct {
	first, last string // state before the first of the entries, and after the last
	amount      int64
	request     string
	k           int64 // the number of the last of the entries
}

func ended(state string) bool { return state == StateCaptured || state == StateReleased }

// allowed reports whether a charge may change from one state to another.
func allowed(from, to string) bool {
	switch from {
	case "":
		return to == StateHeld
	case StateHeld:
		return to == StateCaptured || to == StateReleased || to == StateUnresolved
	case StateUnresolved:
		return to == StateCaptured || to == StateReleased
	}
	return false
}

// newRun returns the run of one entry.
func (c *Chain) newRun(e Entry, leaf Hash) *run {
	r := &run{
		from: e.K, to: e.K, prev: e.Prev, leaf: leaf, issuers: [2]string{e.Issuer, e.Issuer}, epochs: [2]int64{e.Epoch, e.Epoch},
		calls: map[string]span{},
	}
	switch e.Kind {
	case KindCharge:
		if !allowed(e.From, e.To) {
			c.report(ProblemState, e.K, "a charge must not change from %q to %q", e.From, e.To)
		}
		r.sums.move(e.From, -e.Amount.Nano)
		r.sums.move(e.To, e.Amount.Nano)
		if e.From != "" || !ended(e.To) {
			r.calls[e.ID] = span{e.From, e.To, e.Amount.Nano, e.Request, e.K}
		}
	case KindTopUp, KindReversal:
		r.sums.toppedUp = e.Amount.Nano
	case KindCarry:
		if e.K == 0 && e.Sums != nil {
			r.sums = sumsOf(*e.Sums)
			r.base = r.sums
		}
	case KindKey, KindRestored:
	}
	return r
}

// join returns one run for two consecutive runs, and reports contradictions. It modifies both.
func (c *Chain) join(a, b *run) *run {
	adjacent := a.to+1 == b.from
	if adjacent && a.leaf != b.prev {
		c.report(ProblemFork, b.from, "the entry does not follow entry %d: it has the hash of another", a.to)
	}
	switch {
	case b.epochs[0] < a.epochs[1]:
		c.report(ProblemEpoch, b.from, "the epoch decreases from %d to %d", a.epochs[1], b.epochs[0])
	case b.epochs[0] == a.epochs[1] && b.issuers[0] != a.issuers[1]:
		c.report(ProblemEpoch, b.from, "the issuer changes within an epoch")
	}
	if len(a.calls) >= len(b.calls) {
		for id, later := range b.calls {
			earlier, there := a.calls[id]
			c.follow(a.calls, id, earlier, there, later, true)
		}
		b.calls = a.calls
	} else {
		for id, earlier := range a.calls {
			later, there := b.calls[id]
			c.follow(b.calls, id, earlier, true, later, there)
		}
	}
	return &run{
		from: a.from, to: b.to, prev: a.prev, leaf: b.leaf, issuers: [2]string{a.issuers[0], b.issuers[1]},
		epochs: [2]int64{a.epochs[0], b.epochs[1]}, sums: a.sums.plus(b.sums), base: a.base, known: a.known, calls: b.calls,
	}
}

// follow combines the spans of one execution in two runs, and stores the result in calls. earlier or later may be nil.
func (c *Chain) follow(calls map[string]span, id string, earlier span, before bool, later span, after bool) {
	switch {
	case !before:
		calls[id] = later
		return
	case !after:
		calls[id] = earlier
		return
	case earlier.last != later.first:
		c.report(ProblemState, later.k, "the execution was %s at entry %d, and changes from %q", earlier.last, earlier.k, later.first)
	case earlier.amount != later.amount:
		c.report(ProblemAmount, later.k, "the execution had another amount at entry %d", earlier.k)
	case earlier.request != later.request:
		c.report(ProblemRequest, later.k, "the execution had another request at entry %d", earlier.k)
	}
	if earlier.first == "" && ended(later.last) {
		delete(calls, id)
		return
	}
	calls[id] = span{earlier.first, later.last, later.amount, later.request, later.k}
}

// A position holds the sums of an account, in nano-units. As in Sums, held includes unresolved.
type position struct{ toppedUp, held, unresolved, captured int64 }

func sumsOf(s Sums) position {
	return position{s.ToppedUp.Nano, s.Held.Nano, s.Unresolved.Nano, s.Captured.Nano}
}

func (p position) amounts(currency string) Sums {
	amount := func(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: currency} }
	return Sums{amount(p.toppedUp), amount(p.held), amount(p.unresolved), amount(p.captured)}
}

// move adds an amount to the sum of a state.
func (p *position) move(state string, nano int64) {
	switch state {
	case StateHeld:
		p.held = plus(p.held, nano)
	case StateUnresolved:
		p.held, p.unresolved = plus(p.held, nano), plus(p.unresolved, nano)
	case StateCaptured:
		p.captured = plus(p.captured, nano)
	}
}

func (p position) plus(q position) position {
	return position{
		plus(p.toppedUp, q.toppedUp), plus(p.held, q.held), plus(p.unresolved, q.unresolved), plus(p.captured, q.captured),
	}
}

// plus returns a + b, limited to the range of int64.
func plus(a, b int64) int64 {
	switch {
	case b > 0 && a > math.MaxInt64-b:
		return math.MaxInt64
	case b < 0 && a < math.MinInt64-b:
		return math.MinInt64
	}
	return a + b
}
