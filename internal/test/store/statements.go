package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func testStatements(t *testing.T, open Opener) {
	t.Helper()
	each(t, open, map[string]func(*suite){
		"a period is listed line by line":           statementLines,
		"charged calls by price and agreement":      chargedCalls,
		"any period is the sum of its entries":      statementModel,
		"one statement for each account, in pages":  statementPages,
		"what is old is removed, its sums stay":     retention,
		"many charges are removed in steps":         retainMany,
		"statements begin where the ledger is kept": statementsAfterRetention,
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
		AgentID: agent, Currency: "USD", From: from, To: to, ToppedUp: usd(20), Reversed: usd(3),
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
	if got := b.statement(from, to); !gocmp.Equal(got, want) {
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
	got, err := b.ChargedCalls(b.Context(), store.StatementFilter{Service: service, AgentID: agent, From: from, To: to})
	if b.must(err); !gocmp.Equal(got, want) {
		b.Fatal(gocmp.Diff(want, got))
	}
	_, err = b.ChargedCalls(b.Context(), store.StatementFilter{Service: service, AgentID: agent, From: to, To: from})
	b.want(err, store.ErrPeriod)
}

// addUp sums up entries like a reader of the ledger.
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
	list, err := b.ChargedCalls(b.Context(), store.StatementFilter{Service: service, AgentID: s.AgentID, From: s.From, To: s.To})
	b.must(err)
	for _, c := range list {
		if c.Price.Currency == s.Currency {
			nano += c.Calls * c.Price.Nano
		}
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
