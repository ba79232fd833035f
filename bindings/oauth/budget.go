package oauth

import (
	"net/url"
	"strings"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

// The members of the form about money.
const (
	memberSpend   = "spend" // yes: the client may spend money
	memberBudget  = "budget"
	memberPeriod  = "period"
	memberPerCall = "per_call"
	memberPay     = "pay" // a scope entry that may be charged; may occur several times
)

// spendingOf returns the members of the form about money.
func spendingOf(form url.Values) page.BudgetInput {
	return page.BudgetInput{
		May: form.Get(memberSpend) == "yes", Amount: strings.TrimSpace(form.Get(memberBudget)), Period: form.Get(memberPeriod),
		PerCall: strings.TrimSpace(form.Get(memberPerCall)), Entries: form[memberPay],
	}
}

// budgetOf returns the budget that a person entered; nil: none. wrong describes the entries that the person must correct.
func budgetOf(s page.BudgetInput, offer *consent.BudgetChoice) (b *pat.Budget, wrong string) {
	if !s.May {
		return nil, ""
	}
	if offer == nil {
		return nil, "This service does not let clients spend money."
	}
	currency := offer.Max.Currency
	amount, ok := typedAmount(s.Amount, currency)
	if !ok {
		return nil, "Enter how much the client may spend, as a number such as 5 or 2.50, or do not permit it to spend money."
	}
	b = &pat.Budget{Allowance: limit.Allowance{Amount: amount, Period: limit.Period(s.Period)}, PerCall: amount}
	if b.Allowance.Check() != nil {
		return nil, "Select whether the amount is for a day or for a month."
	}
	if !b.Fits(offer.Max) {
		wrong = "The client may spend at most " + offer.Max.Amount.String() + " in a " + string(offer.Max.Period) + "."
		if offer.Max.Period == limit.Month && b.Period == limit.Day {
			wrong = "The client may spend at most " + offer.Max.Amount.String() + " in a month, so the amount for each of 31 days may be at most " +
				money.Amount{Nano: offer.Max.Nano / 31, Currency: currency}.String() + "."
		}
		return nil, wrong
	}
	if s.PerCall != "" {
		if b.PerCall, ok = typedAmount(s.PerCall, currency); !ok {
			return nil, "Enter the amount for one call as a number such as 1 or 0.50, or leave it empty."
		}
	} else if b.PerCall.Nano > offer.PerCall.Nano {
		b.PerCall = offer.PerCall
	}
	switch {
	case b.PerCall.Nano > offer.PerCall.Nano:
		return nil, "The client may spend at most " + offer.PerCall.String() + " on one call."
	case b.PerCall.Nano > b.Nano:
		return nil, "The amount for one call must not be larger than the whole amount."
	case len(s.Entries) == 0:
		return nil, "Select at least one thing on which the client may spend money, or do not permit it to spend money."
	}
	for _, entry := range s.Entries {
		b.Intents = append(b.Intents, strings.TrimSuffix(entry, ":execute"))
	}
	return b, ""
}

// typedAmount parses an amount above zero that a person typed, with a point or a comma as the decimal separator.
func typedAmount(text, currency string) (money.Amount, bool) {
	a, err := money.New(strings.Replace(text, ",", ".", 1), currency)
	return a, err == nil && a.Nano > 0
}

// isZero reports whether a person typed the amount zero.
func isZero(text, currency string) bool {
	a, err := money.New(strings.Replace(text, ",", ".", 1), currency)
	return err == nil && a.IsZero()
}
