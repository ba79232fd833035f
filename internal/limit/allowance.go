package limit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
)

// An Allowance is a limit in money: at most Amount in a period, which is a rolling day or a calendar month (UTC).
type Allowance struct {
	money.Amount

	Period Period
}

// ErrAllowance means that the input is not an Allowance, or that an Allowance is not valid.
var ErrAllowance = errors.New("want an amount and a period such as 20 EUR/month or 5 EUR/day")

// allowancePeriods are the periods of an Allowance.
var allowancePeriods = []Period{Day, Month}

// AllowancePeriods returns the periods that an Allowance may have.
func AllowancePeriods() []Period { return append([]Period(nil), allowancePeriods...) }

// ParseAllowance parses an amount and a period, such as 20 EUR/month.
func ParseAllowance(s string) (Allowance, error) {
	text, name, found := strings.Cut(s, "/")
	amount, err := money.Parse(strings.TrimSpace(text))
	if !found || err != nil {
		return Allowance{}, fmt.Errorf("%q: %w", s, ErrAllowance)
	}
	period, err := ParsePeriod(strings.TrimSpace(name))
	if err != nil {
		return Allowance{}, fmt.Errorf("%q: %w", s, ErrAllowance)
	}
	out := Allowance{amount, period}
	return out, out.Check()
}

// Check returns an error unless the amount is positive and can be counted, and the period is a day or a month.
func (s Allowance) Check() error {
	if s.Nano <= 0 || s.Currency == "" || s.Nano/allowanceUnit > MaxCount || s.Period != Day && s.Period != Month {
		return fmt.Errorf("%s: %w, up to %d in its currency", s, ErrAllowance, MaxCount*allowanceUnit/money.Unit)
	}
	return nil
}

// String returns the form that ParseAllowance parses.
func (s Allowance) String() string { return s.Amount.String() + "/" + string(s.Period) }

// Fits reports whether an agent that keeps to the Allowance s always keeps to the Allowance most as well. It counts 31 days to a month, and
// permits the whole amount of a month on one day.
func (s Allowance) Fits(most Allowance) bool {
	const longestMonth = 31
	switch {
	case s.Currency != most.Currency || s.Nano > most.Nano:
		return false
	case s.Period == Day && most.Period == Month:
		return s.Nano <= most.Nano/longestMonth
	}
	return true
}

// allowanceUnit is the amount that the counter of an Allowance counts as one unit, in billionths of the currency: a millionth.
const allowanceUnit = 1000

// AllowanceUnits returns the number of units of an Allowance that a charge takes: millionths of the currency, rounded up.
func AllowanceUnits(charge money.Amount) int64 {
	units := charge.Nano / allowanceUnit
	if charge.Nano%allowanceUnit > 0 {
		units++
	}
	return units
}

// AllowanceLeft returns the amount of money for a number of units.
func AllowanceLeft(units int64, currency string) money.Amount {
	return money.Amount{Nano: units * allowanceUnit, Currency: currency}
}

// OfBudget returns the limit that counts the amount spent under a consent.
func OfBudget(s Allowance) Limit {
	return Limit{ID: BudgetID(s.Currency), Rate: Rate{Max: s.Nano / allowanceUnit, Period: s.Period}, Kind: Budget}
}

// BudgetID returns the id of the limit that counts the amount spent in a currency under a consent.
func BudgetID(currency string) string { return budgetPrefix + currency }

// BudgetCurrency returns the currency of the limit whose id BudgetID has returned.
func BudgetCurrency(id string) string { return strings.TrimPrefix(id, budgetPrefix) }
