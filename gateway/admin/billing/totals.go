package billing

import (
	"maps"
	"math/big"
	"slices"

	"github.com/uimgate/uimgate/internal/money"
)

// A StatementTotal adds up the statements in one currency. Amounts are exact decimals.
type StatementTotal struct {
	Currency   string   `json:"currency"`
	Accounts   int      `json:"accounts"`
	ToppedUp   string   `json:"topped_up"` // in the period
	Reversed   string   `json:"reversed"`
	Held       Charges  `json:"held"`
	Captured   Charges  `json:"captured"`
	Released   Charges  `json:"released"`
	Unresolved Charges  `json:"unresolved"`
	Closing    Position `json:"closing"`
}

// A total adds up amounts in units of 10⁻⁹. It cannot overflow.
type total struct {
	accounts int
	calls    [4]int64
	nano     [11]big.Int
}

// Totals adds up statements by currency. The result is sorted by currency.
func Totals(list []Statement) []StatementTotal {
	sums := map[string]*total{}
	for _, s := range list {
		t := sums[s.Currency]
		if t == nil {
			t = &total{}
			sums[s.Currency] = t
		}
		t.add(s)
	}
	out := make([]StatementTotal, 0, len(sums))
	for _, currency := range slices.Sorted(maps.Keys(sums)) {
		t := sums[currency]
		text := func(i int) string { return money.SumDecimal(&t.nano[i]) }
		charges := func(i int) Charges { return Charges{Calls: t.calls[i], Amount: text(2 + i)} }
		out = append(out, StatementTotal{
			Currency: currency, Accounts: t.accounts, ToppedUp: text(0), Reversed: text(1),
			Held: charges(0), Captured: charges(1), Released: charges(2), Unresolved: charges(3),
			Closing: Position{ToppedUp: text(6), Held: text(7), Unresolved: text(8), Captured: text(9), Balance: text(10)},
		})
	}
	return out
}

func (t *total) add(s Statement) {
	t.accounts++
	amounts := func(first int, texts ...string) {
		for i, text := range texts {
			t.nano[first+i].Add(&t.nano[first+i], money.SumOf(text))
		}
	}
	amounts(0, s.ToppedUp, s.Reversed)
	for _, l := range s.Lines {
		for i, c := range []Charges{l.Held, l.Captured, l.Released, l.Unresolved} {
			t.calls[i] += c.Calls
			amounts(2+i, c.Amount)
		}
	}
	amounts(6, s.Closing.ToppedUp, s.Closing.Held, s.Closing.Unresolved, s.Closing.Captured, s.Closing.Balance)
}
