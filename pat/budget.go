package pat

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

// A Budget limits what a client may spend under the consent of a person. It is the claim bud. It waives the proof of key for these charges
// alone.
type Budget struct {
	limit.Allowance

	PerCall money.Amount // the largest charge of one call without a confirmation by the person
	Intents []string     // uids of the intents that may be charged
}

// MaxBudgetIntents is the maximum length of Budget.Intents.
const MaxBudgetIntents = 64

// ErrBadBudget means that a budget is incomplete or cannot be read.
var ErrBadBudget = errors.New("the budget is not valid")

// Covers reports whether the budget permits charges in a currency for an intent. A nil Budget permits none.
func (b *Budget) Covers(intent, currency string) bool {
	return b != nil && b.Currency == currency && slices.Contains(b.Intents, intent)
}

// Nothing reports whether the person permits no charge at all: both amounts are zero. A consent is not made with such a budget, but a
// person can change a budget to it.
func (b *Budget) Nothing() bool { return b.Nano == 0 && b.PerCall.Nano == 0 }

// Check returns an error of kind ErrBadBudget unless the budget is complete.
func (b *Budget) Check() error {
	amounts := b.Allowance
	if b.Nothing() {
		amounts.Nano = 1 // check the currency and the period
	}
	switch {
	case amounts.Check() != nil:
		return fmt.Errorf("%w: %w", ErrBadBudget, amounts.Check())
	case b.PerCall.Currency != b.Currency || b.PerCall.Nano <= 0 && !b.Nothing() || b.PerCall.Nano > b.Nano:
		return fmt.Errorf("%w: the amount of one call must be above zero and at most the budget", ErrBadBudget)
	case len(b.Intents) == 0 || len(b.Intents) > MaxBudgetIntents:
		return fmt.Errorf("%w: it must name 1 to %d intents", ErrBadBudget, MaxBudgetIntents)
	case slices.ContainsFunc(b.Intents, func(uid string) bool { return strings.Count(uid, ":") != 2 || len(uid) > maxEntry || !visible(uid) }):
		return fmt.Errorf("%w: an intent must be named by its uid", ErrBadBudget)
	}
	return nil
}

// A budgetClaim is the form of a Budget in a PAT and in the record of a consent. Amounts are decimals.
type budgetClaim struct {
	Amount   string   `json:"amount"`
	Currency string   `json:"currency"`
	Period   string   `json:"period"` // day (rolling) or month (calendar, UTC)
	PerCall  string   `json:"per_call"`
	Intents  []string `json:"intents"`
}

// claim returns the form of the budget in a PAT. It returns nil for a nil Budget.
func (b *Budget) claim() *budgetClaim {
	if b == nil {
		return nil
	}
	return &budgetClaim{b.Decimal(), b.Currency, string(b.Period), b.PerCall.Decimal(), b.Intents}
}

// budget is the inverse of Budget.claim.
func (c *budgetClaim) budget() (*Budget, error) {
	if c == nil {
		return nil, nil //nolint:nilnil // there is no budget
	}
	amount, err := money.New(c.Amount, c.Currency)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadBudget, err)
	}
	perCall, err := money.New(c.PerCall, c.Currency)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadBudget, err)
	}
	b := &Budget{limit.Allowance{Amount: amount, Period: limit.Period(c.Period)}, perCall, c.Intents}
	return b, b.Check()
}

// readBudget reads the claim bud. present is false if there is none.
func readBudget(v any, present bool) (*Budget, error) {
	if !present {
		return nil, nil //nolint:nilnil // there is no budget
	}
	r := claimReader{}
	r.tree, _ = v.(map[string]any)
	list, err := stringList(r.tree["intents"])
	c := &budgetClaim{r.text("amount"), r.text("currency"), r.text("period"), r.text("per_call"), list}
	if err != nil || r.failed {
		return nil, errClaim
	}
	b, err := c.budget()
	if err != nil {
		return nil, errClaim
	}
	return b, nil
}
