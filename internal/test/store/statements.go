package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testStatements(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a period is listed line by line":            statementLines,
		"charged calls by price and agreement":       chargedCalls,
		"any period is the sum of its entries":       statementModel,
		"one statement for each account, in pages":   statementPages,
		"every entry is in the statement of a month": statementsOfMonths,
		"a clock that is set back":                   statementsAfterClockStep,
		"later calls do not change what was read":    statementStays,
		"old entries are removed, their sums stay":   retention,
		"many charges are removed in steps":          retainMany,
		"statements begin where the ledger is kept":  statementsAfterRetention,
	})
}

func (b *suite) statements(f store.StatementFilter) []store.Statement {
	b.Helper()
	if f.Service == "" {
		f.Service = service
	}
	list, err := b.Statements(b.Context(), f)
	b.must(err)
	return list
}

func (b *suite) statement(from, to time.Time) store.Statement {
	b.Helper()
	list := b.statements(store.StatementFilter{AgentID: agent, From: from, To: to})
	if len(list) != 1 {
		b.Fatalf("%+v; want one statement", list)
	}
	return list[0]
}

func charges(calls, nano int64) store.Charges { return store.Charges{Calls: calls, Amount: usd(nano)} }

func statementLines(b *suite) {
	b.topUp(agent, usd(100))
	before := b.begin(b.paid(5))
	b.clock.Advance(time.Hour)
	from := b.clock.Now()
	b.settle(before, store.Captured, store.Done)
	b.settle(b.begin(b.paid(7)), store.Released, store.Failed)
	unknown := b.begin(b.paid(11))
	b.settle(unknown, store.Unresolved, store.Unknown)
	b.begin(b.paid(13))
	other := b.paid(17)
	other.Execution.Intent, other.Candidates[0].Rule = "example.com:ask:v1", "cheap"
	b.settle(b.begin(other), store.Captured, store.Done)
	b.topUp(agent, usd(20))
	_, err := b.TopUp(b.Context(), store.TopUp{Service: service, AgentID: agent, Amount: usd(3), Reverse: true})
	b.must(err)
	b.clock.Advance(time.Hour)
	to := b.clock.Now()
	_, err = b.Resolve(b.Context(), service, unknown.Execution.ID, store.Released)
	b.must(err)
	want := store.Statement{
		Service: service, AgentID: agent, Currency: "USD", From: from, To: to, ToppedUp: usd(20), Reversed: usd(3),
		Opening: store.Position{ToppedUp: usd(100), Held: usd(5), Unresolved: usd(0), Captured: usd(0)},
		Closing: store.Position{ToppedUp: usd(117), Held: usd(24), Unresolved: usd(11), Captured: usd(22)},
		Lines: []store.StatementLine{
			{
				Intent: "example.com:ask:v1", Rule: "cheap", Held: charges(1, 17), Captured: charges(1, 17), Released: charges(0, 0),
				Unresolved: charges(0, 0),
			},
			{
				Intent: "example.com:buy:v1", Rule: "rule", Held: charges(3, 31), Captured: charges(1, 5), Released: charges(1, 7),
				Unresolved: charges(1, 11),
			},
		},
	}
	got := b.statement(from, to)
	want.Range = got.Range
	if !gocmp.Equal(got, want) {
		b.Fatal(gocmp.Diff(want, got))
	}
	if got := want.Closing.Balance(); got != usd(71) {
		b.Fatalf("got %v", got)
	}
	if got := b.statement(to, time.Time{}); got.Opening != want.Closing || got.Closing.Held != usd(13) || got.Closing.Unresolved != usd(0) {
		b.Fatalf("got %+v", got)
	}
	for _, f := range []store.StatementFilter{{From: to, To: to}, {From: to, To: from}} {
		f.Service = service
		_, err := b.Statements(b.Context(), f)
		b.want(err, store.ErrPeriod)
	}
	if got := b.statements(store.StatementFilter{AgentID: "nobody"}); len(got) != 0 {
		b.Fatalf("got %+v, want none", got)
	}
}

func chargedCalls(b *suite) {
	call := func(nano int64, agreement pat.AgreementID) store.Admission {
		r := b.paid(nano)
		r.Execution.AgreementID, r.Execution.PolicyDigest = agreement, "sha-256:"+string(agreement)
		return b.begin(r)
	}
	early, open := call(5, "a"), call(11, "a")
	b.settle(call(5, "a"), store.Captured, store.Done)
	b.clock.Advance(time.Hour)
	from := b.clock.Now()
	b.settle(early, store.Captured, store.Done) // held before the period, captured within it
	b.settle(call(5, "b"), store.Captured, store.Done)
	b.settle(call(5, "b"), store.Captured, store.Done)
	b.settle(call(7, "b"), store.Captured, store.Done)
	b.settle(call(13, "b"), store.Released, store.Failed)
	b.settle(open, store.Unresolved, store.Unknown)
	resolved := call(7, "b")
	b.settle(resolved, store.Unresolved, store.Unknown)
	_, err := b.Resolve(b.Context(), service, resolved.Execution.ID, store.Captured)
	b.must(err)
	b.topUp(agent, usd(3))
	other := b.paid(5)
	other.Execution.AgentID = "other"
	b.settle(b.begin(other), store.Captured, store.Done)
	b.clock.Advance(time.Hour)
	to := b.clock.Now()
	b.settle(call(5, "a"), store.Captured, store.Done)
	of := func(nano, calls int64, agreement pat.AgreementID) store.ChargedCalls {
		return store.ChargedCalls{
			Intent: "example.com:buy:v1", Rule: "rule", Price: usd(nano), Calls: calls, AgreementID: agreement,
			PolicyDigest: "sha-256:" + string(agreement),
		}
	}
	want := []store.ChargedCalls{of(5, 1, "a"), of(5, 2, "b"), of(7, 2, "b")}
	got, err := b.ChargedCalls(b.Context(), b.statement(from, to))
	if b.must(err); !gocmp.Equal(got, want) {
		b.Fatal(gocmp.Diff(want, got))
	}
}

// addUp adds up entries like a reader of the ledger.
func addUp(entries []store.Entry, agentID pat.AgentID, currency string, before time.Time) store.Position {
	var a store.Account
	var unresolved int64
	for _, n := range entries {
		if n.AgentID != agentID || n.Amount.Currency != currency || !n.At.Before(before) {
			continue
		}
		if n.From == "" && n.To == "" {
			a.ToppedUp.Nano += n.Amount.Nano
			continue
		}
		add(&a, n.From, -n.Amount.Nano)
		add(&a, n.To, n.Amount.Nano)
		if n.From == store.Unresolved {
			unresolved -= n.Amount.Nano
		}
		if n.To == store.Unresolved {
			unresolved += n.Amount.Nano
		}
	}
	in := func(nano int64) money.Amount { return money.Amount{Nano: nano, Currency: currency} }
	return store.Position{ToppedUp: in(a.ToppedUp.Nano), Held: in(a.Held.Nano), Unresolved: in(unresolved), Captured: in(a.Captured.Nano)}
}

// randomCharge makes one call and ends it in a random way.
func (b *suite) randomCharge(rng *rand.Rand) {
	b.Helper()
	r := b.paid(1 + rng.Int64N(100))
	r.Execution.AgentID = pat.AgentID(fmt.Sprintf("agent-%d", rng.IntN(3)))
	r.Execution.Intent = fmt.Sprintf("example.com:i%d:v1", rng.IntN(3))
	r.Candidates[0].Charge.Currency = []string{"EUR", "USD"}[rng.IntN(2)]
	r.Billing.Credit.Currency = r.Candidates[0].Charge.Currency
	admission := b.begin(r)
	b.clock.Advance(time.Duration(rng.IntN(3000)) * time.Second)
	switch rng.IntN(5) {
	case 0:
		b.settle(admission, store.Captured, store.Done)
	case 1:
		b.settle(admission, store.Released, store.Failed)
	case 2:
		b.settle(admission, store.Unresolved, store.Unknown)
	case 3:
		b.settle(admission, store.Unresolved, store.Unknown)
		b.clock.Advance(time.Duration(rng.IntN(3000)) * time.Second)
		_, err := b.Resolve(b.Context(), service, admission.Execution.ID, store.Captured)
		b.must(err)
	default:
		b.topUp(r.Execution.AgentID, money.Amount{Nano: 1 + rng.Int64N(50), Currency: r.Candidates[0].Charge.Currency})
	}
}

func statementModel(b *suite) {
	rng := rand.New(rand.NewPCG(4, 2))
	for range randomCharges {
		b.randomCharge(rng)
	}
	entries, err := ledger(b.Context(), b)
	b.must(err)
	moment := func() time.Time { return entries[rng.IntN(len(entries))].At }
	for range randomPeriods {
		from, to := moment(), moment()
		if !from.Before(to) {
			continue
		}
		list := b.statements(store.StatementFilter{From: from, To: to})
		if len(list) < 4 {
			b.Fatalf("only %d statements", len(list))
		}
		for _, s := range list {
			opening, closing := addUp(entries, s.AgentID, s.Currency, from), addUp(entries, s.AgentID, s.Currency, to)
			if s.Opening != opening || s.Closing != closing {
				b.Fatalf("%s to %s: %+v; want %+v to %+v", from, to, s, opening, closing)
			}
			var lines store.Position
			lines.ToppedUp.Nano = s.ToppedUp.Nano - s.Reversed.Nano
			for _, l := range s.Lines {
				lines.Held.Nano += l.Held.Amount.Nano - l.Captured.Amount.Nano - l.Released.Amount.Nano
				lines.Captured.Nano += l.Captured.Amount.Nano
			}
			if opening.ToppedUp.Nano+lines.ToppedUp.Nano != closing.ToppedUp.Nano || opening.Held.Nano+lines.Held.Nano != closing.Held.Nano ||
				opening.Captured.Nano+lines.Captured.Nano != closing.Captured.Nano {
				b.Fatalf("the lines do not lead from opening to closing: %+v", s)
			}
			if got := b.charged(s); got != lines.Captured.Nano {
				b.Fatalf("the charged calls add up to %d, not to the captured amount of %+v; want %v", got, s, lines.Captured.Nano)
			}
		}
	}
}

// charged adds up the charged calls of an account in the period of its statement.
func (b *suite) charged(s store.Statement) (nano int64) {
	b.Helper()
	list, err := b.ChargedCalls(b.Context(), s)
	b.must(err)
	for _, c := range list {
		nano += c.Calls * c.Price.Nano
	}
	return nano
}

func statementPages(b *suite) {
	for _, id := range []string{"c", "a", "b"} {
		for _, currency := range []string{"USD", "EUR"} {
			b.topUp(pat.AgentID(id), money.Amount{Nano: 5, Currency: currency})
		}
	}
	var got []string
	f := store.StatementFilter{Limit: 2}
	for {
		page := b.statements(f)
		for _, s := range page {
			got = append(got, string(s.AgentID)+" "+s.Currency)
		}
		if len(page) < f.Limit {
			break
		}
		f.After = got[len(got)-1]
	}
	if want := []string{"a EUR", "a USD", "b EUR", "b USD", "c EUR", "c USD"}; !slices.Equal(got, want) {
		b.Fatalf("got %v, want %v", got, want)
	}
	if got := b.statements(store.StatementFilter{Service: "another"}); len(got) != 0 {
		b.Fatalf("got %+v, want none", got)
	}
}

// sumOf adds up the entries of a statement's part of the chain. It fails the test unless the part and its heads fit the chain.
func (b *suite) sumOf(s store.Statement) (sum store.Position, calls int) {
	b.Helper()
	r := s.Range
	if r.From == nil {
		if r.To != nil || r.Opening != r.Closing && *r.Opening != *r.Closing {
			b.Fatalf("got %+v; want equal heads of an empty part", r)
		}
		return sum, 0
	}
	var last store.LedgerEntry
	for after := *r.From - 1; after < *r.To; after = last.K {
		page, err := b.Entries(b.Context(), store.EntryFilter{
			Service: s.Service, AgentID: s.AgentID, Currency: s.Currency, After: after,
			Limit: 3,
		})
		b.must(err)
		for _, l := range page {
			e, err := evidence.ParseEntry(l.Bytes)
			b.must(err)
			if l.K == *r.From && (l.K == 0 || e.Prev != r.Opening.Hash || r.Opening.K != l.K-1) && (l.K > 0 || r.Opening != nil) {
				b.Fatalf("entry %d follows %v, but the statement begins after %+v", l.K, e.Prev, r.Opening)
			}
			if l.K > *r.To {
				break
			}
			last = l
			switch {
			case e.Kind == evidence.KindTopUp:
				sum.ToppedUp.Nano += e.Amount.Nano
			case e.To == string(store.Captured):
				sum.Captured.Nano += e.Amount.Nano
				calls++
			}
		}
	}
	if last.K != *r.To || *r.Closing != (evidence.Head{K: last.K, Hash: last.Leaf}) {
		b.Fatalf("the statement ends with %+v; want entry %d with %v", r.Closing, last.K, last.Leaf)
	}
	return sum, calls
}

// wantPart fails the test unless a statement and the charged calls are the sums of the entries in its part of the chain.
func (b *suite) wantPart(s store.Statement) {
	b.Helper()
	sum, calls := b.sumOf(s)
	if moved := s.Closing.Captured.Nano - s.Opening.Captured.Nano; moved != sum.Captured.Nano || s.ToppedUp.Nano != sum.ToppedUp.Nano {
		b.Fatalf("the statement has %d captured and %v topped up, its entries %+v", moved, s.ToppedUp, sum)
	}
	list, err := b.ChargedCalls(b.Context(), s)
	b.must(err)
	n := 0
	for _, c := range list {
		n += int(c.Calls)
	}
	if n != calls {
		b.Fatalf("%d charged calls, want %d", n, calls)
	}
}

// wantAdjacent fails unless adjacent statements divide the chain of an account among them.
func (b *suite) wantAdjacent(list []store.Statement) {
	b.Helper()
	next, total := int64(0), store.Position{}
	for _, s := range list {
		b.wantPart(s)
		if s.Opening != total && total != (store.Position{}) {
			b.Fatalf("the statement from %s begins with %+v, want %+v", s.From, s.Opening, total)
		}
		total = s.Closing
		if s.Range.From == nil {
			continue
		}
		if *s.Range.From != next {
			b.Fatalf("the statement from %s begins with entry %d, want %d", s.From, *s.Range.From, next)
		}
		next = *s.Range.To + 1
	}
	heads, err := b.Heads(b.Context(), service, agent)
	b.must(err)
	if len(heads) != 1 || heads[0].K != next-1 {
		b.Fatalf("the statements end with entry %d, the chain with %+v", next-1, heads)
	}
}

// months returns the statements of the months since the start of the suite.
func (b *suite) months(n int) (list []store.Statement) {
	b.Helper()
	for i := range n {
		list = append(list, b.statement(start.Add(time.Duration(i)*month), start.Add(time.Duration(i+1)*month)))
	}
	return list
}

func statementsOfMonths(b *suite) {
	rng := rand.New(rand.NewPCG(7, 3))
	b.topUp(agent, usd(1000))
	for i := range 4 {
		if i == 2 { // nothing happens in the third month
			b.clock.Advance(month)
			continue
		}
		for range 2 + rng.IntN(5) {
			a := b.begin(b.payable(1 + rng.Int64N(9)))
			b.clock.Advance(month / 9)
			b.settle(a, []store.State{store.Captured, store.Released}[rng.IntN(2)], store.Done)
		}
		b.clock.Advance(start.Add(time.Duration(i+1) * month).Sub(b.clock.Now()))
	}
	list := b.months(4)
	if list[2].Range.From != nil || list[1].Range.From == nil {
		b.Fatalf("got %+v", list)
	}
	b.wantAdjacent(list)
}

// A clock that is an hour ahead at the end of a month is set back. Times are therefore not in the order of the chain.
func statementsAfterClockStep(b *suite) {
	b.topUp(agent, usd(100))
	pay := func(at time.Time) {
		b.clock.Advance(at.Sub(b.clock.Now()))
		b.settle(b.begin(b.payable(3)), store.Captured, store.Done)
	}
	end := start.Add(month)
	for _, at := range []time.Duration{
		-3 * time.Hour, 30 * time.Minute, 40 * time.Minute, -20 * time.Minute, -10 * time.Minute, time.Hour,
		2 * time.Hour,
	} {
		pay(end.Add(at))
	}
	b.clock.Advance(end.Add(month).Sub(b.clock.Now()))
	b.wantAdjacent(b.months(2))
}

// The charged calls of a statement, and therefore the invoice, are those that the statement counts.
func statementStays(b *suite) {
	pay := func() { b.settle(b.begin(b.payable(3)), store.Captured, store.Done) }
	pay()
	open := b.statement(start, start.Add(month))
	pay()
	b.wantPart(open)
	if later := b.statement(start, start.Add(month)); *later.Range.To != *open.Range.To+2 {
		b.Fatalf("got %+v", later)
	}
}
