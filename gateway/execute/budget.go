package execute

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// readBudget sets the budget of the call's consent: the one to which the person last changed it or, if the person has not, the one in the
// PAT. The person cannot change the intents of a budget, so readBudget reads nothing for other intents.
func (x *Executor) readBudget(ctx context.Context, e *execution) error {
	e.budget, e.budgetNumber = e.claims.Budget, 0
	if e.budget == nil || !slices.Contains(e.budget.Intents, e.intent.ID) {
		return nil
	}
	record, number, err := x.cfg.State.Budget(ctx, e.service.ID, e.claims.Agreement)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return refusal.For(err)
	}
	e.budgetNumber = number
	if e.budget, err = e.current.Verifier.ChangedBudget(ctx, record, e.claims, x.cfg.Now()); err != nil {
		return reason.Internal.Refusal("The budget of the consent could not be read.").Because(err)
	}
	return nil
}

// budgetChanges bounds how often a call is decided again because the person has changed the budget meanwhile.
const budgetChanges = 3

// beginWithin is begin. If the person has changed the budget of the consent since the call was decided, it first decides again.
func (x *Executor) beginWithin(ctx context.Context, e *execution) (grant.Grant, *replay, error) {
	for range budgetChanges {
		g, replay, err := x.begin(ctx, e)
		if !errors.Is(err, store.ErrBudgetChanged) {
			return g, replay, err
		}
		if err := x.readBudget(ctx, e); err != nil {
			return grant.Grant{}, nil, err
		}
		if err := x.allow(ctx, e); err != nil {
			return grant.Grant{}, nil, err
		}
	}
	return grant.Grant{}, nil, reason.StoreUnavailable.Refusal("The budget of the consent is being changed.").After(time.Second).
		Because(store.ErrBudgetChanged).ShedFor(reason.ShedBudget)
}

// budgetOffer returns the operator's bounds for the budget of the call's consent. It returns nil if the call has no budget, or if the
// operator no longer offers budgets in its currency, because amounts in different currencies cannot be compared.
func (e *execution) budgetOffer() *service.BudgetOffer {
	offer := e.current.BudgetOffer()
	if b := e.budget; b == nil || offer == nil || offer.Max.Currency != b.Currency {
		return nil
	}
	return offer
}

// spends reports whether the person behind the agreement permits charges in a currency for the intent of the call, and the operator still
// offers budgets in it. For agreements without a budget it returns false.
func (e *execution) spends(currency string) bool {
	return e.budget.Covers(e.intent.ID, currency) && !e.budget.Nothing() && e.budgetOffer() != nil
}

// beyondBudget returns the refusal of a charged call to an intent that is not in the budget of the call's consent. f is the refusal for
// agreements without a key.
func (e *execution) beyondBudget(f *reason.Refusal) *reason.Refusal {
	if e.claims.Assurance != pat.Consent || e.budget == nil {
		return f
	}
	if e.budget.Nothing() {
		return reason.BudgetExceeded.Refusal("The person permits this client to spend nothing at present.").
			With("budget", e.budget.Allowance.String()).With("left", amountDetail(e.budget.Amount)).
			With("consents_url", e.current.At(service.ConsentsPath))
	}
	if e.current.BudgetOffer() != nil && e.budgetOffer() == nil {
		return reason.ScopeExceeded.Refusal("The service no longer lets clients without a key spend "+e.budget.Currency+".").
			With("suggestion", "Ask the person to consent again, to a budget in "+e.current.BudgetOffer().Max.Currency+".")
	}
	if e.budgetOffer() == nil {
		return reason.ScopeExceeded.Refusal("The service no longer lets clients without a key spend money.").
			With("suggestion", "Use an agent that signs with its own key, such as the bridge uimgate mcp.")
	}
	return reason.ScopeExceeded.Refusal("The person permitted this client to spend money, but not on this intent.").
		With("suggestion", "Ask the person to consent again, and to select this intent among those that may cost money.")
}

// appendSpending appends the limits that a charge uses: the budget of the call's consent, if there is one, and the operator's maximum. If
// both have the same period, they are one limit.
func (e *execution) appendSpending(to []store.Reservation, charge money.Amount) []store.Reservation {
	b := e.budget
	if b == nil {
		return to
	}
	take := store.Reservation{Principal: e.claims.Principal(), Limit: limit.OfBudget(b.Allowance), Units: limit.AllowanceUnits(charge)}
	to = append(to, take)
	if offer := e.budgetOffer(); offer != nil {
		take.Limit = limit.OfBudget(offer.Max)
		to = append(to, take)
	}
	return to
}

// overBudget returns the refusal of a call whose charge exceeds the rest of the budget or of the operator's maximum.
func (e *execution) overBudget(full *store.LimitError, now time.Time) error {
	b := e.budget
	left := limit.AllowanceLeft(full.Left, b.Currency)
	most := limit.Allowance{Amount: limit.AllowanceLeft(full.Max, b.Currency), Period: full.Period}
	message := "The person permits this client to spend "
	if full.Period != b.Period || full.Max < limit.OfBudget(b.Allowance).Max {
		message = "The service lets a client spend under a person's consent at most "
	}
	rest := ", and " + left.String() + " is left."
	if full.Restored {
		rest += " A part counts as spent, because the state of the service was restored from a backup."
	}
	f := reason.BudgetExceeded.Refusal(message+most.String()+rest).
		With("budget", most.String()).With("left", amountDetail(left)).With("consents_url", e.current.At(service.ConsentsPath)).Because(full)
	if full.RetryAfter > 0 {
		f.With("until", now.Add(full.RetryAfter).UTC().Truncate(time.Second).Add(time.Second).Format(time.RFC3339))
	}
	return f
}

// amountDetail returns an amount in the form of error details.
func amountDetail(a money.Amount) map[string]string {
	return map[string]string{"amount": a.Decimal(), "currency": a.Currency}
}

// shown returns the states of the limits that are not hidden.
func shown(limits []limit.Status) []limit.Status {
	omitted := func(s limit.Status) bool { return hidden(s.Limit) }
	if !slices.ContainsFunc(limits, omitted) {
		return limits
	}
	return slices.DeleteFunc(slices.Clone(limits), omitted)
}

// hidden reports whether a limit is hidden from agents: budgets, because they count money, and limits without a maximum, because the call
// counts in them only for other plans.
func hidden(l limit.Limit) bool {
	return l.Kind == limit.Budget || l.Kind == limit.Policy && l.Max == limit.MaxCount
}
