package consent

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	mostOwn     = 50 // consents on a person's own page
	mostCharges = 20 // executions that are searched for charges of each
)

// An OwnConsent is a consent as the person who gave it sees it.
type OwnConsent struct {
	Handle    string
	Record    pat.ConsentRecord // as the gateway signed it
	Agreement pat.Agreement
	Until     time.Time
	Open      bool              // the client can use it; if neither Open nor Pending, it has ended
	Pending   bool              // it waits for the operator
	Budget    *pat.Budget       // nil: the client can spend nothing
	Left      money.Amount      // of the budget
	Charges   []store.Execution // the charged ones of the agent's last 20 calls; nil without a budget
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
	if own.Left, err = d.left(ctx, c, own.Agreement.AgentID, own.Budget); err != nil {
		return own, err
	}
	own.Charges, err = d.store.Executions(ctx, store.Filter{Service: c.Service.ID, AgentID: own.Agreement.AgentID, Limit: mostCharges})
	own.Charges = slices.DeleteFunc(own.Charges, func(e store.Execution) bool { return e.Charge.IsZero() })
	return own, err
}

// EndOwn ends a consent that a browser gave. Within a second, no process accepts a PAT under it. A consent that has already ended is not an
// error. Errors are an *Error or a *reason.Refusal.
func (d *Service) EndOwn(ctx context.Context, c agree.Call, handle, browser string) error {
	if !random(handle, handleSize) {
		return errNotOwn
	}
	kept, err := d.store.Consent(ctx, c.Service.ID, handle)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !same(kept.Browser, browser):
		return errNotOwn
	case err != nil:
		return errorOf(err)
	}
	if err := d.ask(d.consents, c.From); err != nil {
		return err
	}
	began := d.now()
	err = errorOf(d.end(ctx, c, kept, "ended by the person"))
	d.record(c, agree.Revocation, began, pat.Issuance{AgreementID: kept.AgreementID}, err)
	return err
}

var errNotOwn = failed(AccessDenied, "This browser did not give this consent.")
