package consent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	mostOwn     = 50  // the maximum number of consents on a person's own page
	mostCalls   = 100 // the maximum number of executions that are searched for the charges of one consent
	mostCharges = 20  // the maximum number of charges that are shown for one consent
)

// An OwnConsent is a consent as the person who gave it sees it.
type OwnConsent struct {
	Handle    string
	Record    pat.ConsentRecord // the record as the gateway signed it
	Agreement pat.Agreement
	Until     time.Time
	Open      bool              // the client can use it; if neither Open nor Pending, it has ended
	Pending   bool              // it waits for the operator
	Budget    *pat.Budget       // nil: the client can spend nothing
	Left      money.Amount      // the rest of the budget
	Charges   []store.Execution // at most 20 charged calls among the agent's last 100 calls, the newest first; nil without a budget
	// Offer bounds the amounts to which the person can change the budget; if it is nil, the person cannot change the budget. Changes is how
	// often the budget was changed.
	Offer   *service.BudgetOffer
	Changes int
}

// Own returns at most 50 consents to c.Service that a browser gave, the newest first. browser is the digest of its cookie. Errors are a
// *reason.Refusal.
func (d *Service) Own(ctx context.Context, c agree.Call, browser string) ([]OwnConsent, error) {
	list, err := d.store.ConsentsOf(ctx, c.Service.ID, browser, mostOwn)
	if err != nil {
		return nil, errorOf(err)
	}
	var out []OwnConsent
	for _, kept := range list {
		own, err := d.ownConsent(ctx, c, kept)
		switch {
		case errors.Is(err, pat.ErrNotFound):
		case err != nil:
			return nil, errorOf(err)
		default:
			out = append(out, own)
		}
	}
	return out, nil
}

func (d *Service) ownConsent(ctx context.Context, c agree.Call, kept store.Consent) (own OwnConsent, err error) {
	own = OwnConsent{Handle: kept.Handle, Until: kept.Until}
	if own.Agreement, err = d.store.Agreement(ctx, c.Service.ID, kept.AgreementID); err != nil {
		return own, err
	}
	own.Record, _ = own.Agreement.Consent()
	agent, err := d.store.Agent(ctx, c.Service.ID, own.Agreement.AgentID)
	if err != nil && !errors.Is(err, pat.ErrNotFound) {
		return own, err
	}
	live := d.now().Before(kept.Until) && agent.Status != pat.AgentBlocked
	own.Open, own.Pending = live && own.Agreement.State == pat.AgreementActive, live && own.Agreement.State == pat.AgreementPending
	if own.Budget, err = own.Agreement.Budget(); err != nil || own.Budget == nil {
		return own, err
	}
	// The number and the record of the newest change are read together, because the record of the next change has the digest of that record.
	own.Agreement.NewBudget, own.Changes, err = d.store.Budget(ctx, c.Service.ID, own.Agreement.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return own, err
	}
	if own.Budget, err = own.Agreement.Budget(); err != nil {
		return own, err
	}
	if own.Left, err = d.left(ctx, c, own.Agreement.AgentID, own.Budget); err != nil {
		return own, err
	}
	if offer := c.Service.BudgetOffer(); own.Open && offer != nil && offer.Max.Currency == own.Budget.Currency {
		own.Offer = offer
	}
	own.Charges, err = d.store.Executions(ctx, store.Filter{Service: c.Service.ID, AgentID: own.Agreement.AgentID, Limit: mostCalls})
	own.Charges = slices.DeleteFunc(own.Charges, func(e store.Execution) bool { return e.Charge.IsZero() })
	own.Charges = own.Charges[:min(len(own.Charges), mostCharges)]
	return own, err
}

// OwnConsent returns one consent that a browser gave. Errors are an *Error or a *reason.Refusal.
func (d *Service) OwnConsent(ctx context.Context, c agree.Call, handle, browser string) (OwnConsent, error) {
	kept, err := d.keptOwn(ctx, c, handle, browser)
	if err != nil {
		return OwnConsent{}, err
	}
	own, err := d.ownConsent(ctx, c, kept)
	if errors.Is(err, pat.ErrNotFound) {
		return own, errNotOwn
	}
	return own, errorOf(err)
}

// A NewBudget holds the amounts to which a person changes the budget of a consent.
type NewBudget struct {
	Amount, PerCall money.Amount
	Address         string // the network of the browser
	UserAgent       string
}

// ChangeBudget changes the amounts of the budget of a consent that OwnConsent has returned with an Offer. The new amounts apply from the
// next call of the client on. The amounts must fit the Offer. If the budget has been changed since, the error is an *Error with the code
// InvalidGrant. Errors are an *Error or a *reason.Refusal.
func (d *Service) ChangeBudget(ctx context.Context, c agree.Call, own *OwnConsent, n NewBudget) error {
	if _, err := open(c.Service); err != nil {
		return err
	}
	if err := d.ask("consent", c.From); err != nil {
		return err
	}
	budget := *own.Budget
	budget.Amount, budget.PerCall = n.Amount, n.PerCall
	if own.Offer == nil || !budget.Fits(own.Offer.Max) || budget.PerCall.Nano > own.Offer.PerCall.Nano || budget.Check() != nil {
		return failed(InvalidRequest, "The budget is larger than this service permits.")
	}
	record, err := c.Service.Issuance.ChangeBudget(ctx, pat.BudgetChange{
		Agreement: own.Agreement, Budget: budget, Address: n.Address, UserAgent: plain(n.UserAgent, maxUserAgent),
	})
	if err != nil {
		return errorOf(err)
	}
	err = d.store.SetBudget(ctx, c.Service.ID, own.Agreement.ID, own.Changes+1, record)
	switch {
	case errors.Is(err, store.ErrUsed):
		return failed(InvalidGrant, "The budget has been changed since you opened the page.")
	case errors.Is(err, store.ErrFull):
		return failed(InvalidRequest, "The budget was changed too often. End the consent, and let the client ask you again.")
	}
	return errorOf(err)
}

// keptOwn returns the record of a consent that a browser gave. Errors are an *Error or a *reason.Refusal.
func (d *Service) keptOwn(ctx context.Context, c agree.Call, handle, browser string) (store.Consent, error) {
	if !random(handle, handleSize) {
		return store.Consent{}, errNotOwn
	}
	kept, err := d.store.Consent(ctx, c.Service.ID, handle)
	if errors.Is(err, store.ErrNotFound) || err == nil && !same(kept.Browser, browser) {
		return store.Consent{}, errNotOwn
	}
	return kept, errorOf(err)
}

// EndOwn ends a consent that a browser gave. After at most a second, no process accepts a PAT under it. A consent that has already ended is
// not an error. Errors are an *Error or a *reason.Refusal.
func (d *Service) EndOwn(ctx context.Context, c agree.Call, handle, browser string) error {
	kept, err := d.keptOwn(ctx, c, handle, browser)
	if err != nil {
		return err
	}
	if err := d.ask("consent", c.From); err != nil {
		return err
	}
	began := d.now()
	err = errorOf(d.end(ctx, c, kept, "ended by the person"))
	d.record(c, agree.Revocation, began, pat.Issuance{AgreementID: kept.AgreementID}, err)
	return err
}

var errNotOwn = failed(AccessDenied, "This browser did not give this consent.")
