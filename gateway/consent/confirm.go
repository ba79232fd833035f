package consent

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	// confirmedFor is how long a call can be made after its confirmation.
	confirmedFor = 10 * time.Minute
	// confirmTries is the maximum number of failed attempts to decide about one call.
	confirmTries = 5
)

// A Confirmation is a call that a person is asked to confirm, with the facts that the page shows about it.
type Confirmation struct {
	Asked  store.Confirmation
	Client string              // the name that the client gives itself
	Intent *service.Intent     // nil if the service no longer offers the intent
	Budget *pat.Budget         // the budget of the consent; nil: none
	Left   money.Amount        // the rest of the budget, before the call
	State  ConfirmationDisplay // the state that the page shows
}

// A ConfirmationDisplay is the state of a Confirmation as the person sees it.
type ConfirmationDisplay string

// The states.
const (
	ToDecide  ConfirmationDisplay = "to decide"
	Confirmed ConfirmationDisplay = "confirmed" // and not used yet
	Refused   ConfirmationDisplay = "refused"
	Used      ConfirmationDisplay = "used"
	Expired   ConfirmationDisplay = "expired"
)

// errOtherBrowser is the error for a browser that did not give the consent. It does not show whether the confirmation exists.
var errOtherBrowser = failed(AccessDenied, "Only the browser in which you permitted this client can confirm its calls. Open this address "+
	"there. If you no longer have that browser, end the consent in the client, and permit it again here.")

// Confirmation returns the call that a person is asked to confirm. browser is the digest of the cookie of the browser, which must have
// given the consent. Errors are an *Error or a *reason.Refusal.
func (d *Service) Confirmation(ctx context.Context, c agree.Call, id, browser string) (*Confirmation, error) {
	if _, err := open(c.Service); err != nil {
		return nil, err
	}
	if !random(id, handleSize) {
		return nil, errOtherBrowser
	}
	asked, err := d.store.Confirmation(ctx, c.Service.ID, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errOtherBrowser
	} else if err != nil {
		return nil, errorOf(err)
	}
	a, err := d.own(ctx, c, asked.AgreementID, browser)
	if err != nil {
		return nil, err
	}
	record, _ := a.Consent()
	out := &Confirmation{Asked: asked, Client: record.ClientName}
	out.Intent, _ = c.Service.Executable(asked.Intent)
	out.State = d.display(asked)
	if out.State == ToDecide && (c.Service.Holds(a.PolicyDigest, asked.Intent) != nil || out.Intent == nil) {
		out.State = Expired // the terms have changed since the client asked
	}
	if out.Budget, err = a.Budget(); err != nil || out.Budget == nil {
		return out, errorOf(err)
	}
	out.Left, err = d.left(ctx, c, asked.AgentID, out.Budget)
	return out, errorOf(err)
}

func (d *Service) display(asked store.Confirmation) ConfirmationDisplay {
	switch {
	case asked.State == store.ConfirmationUsed:
		return Used
	case asked.State == store.ConfirmationRefused:
		return Refused
	case !d.now().Before(asked.Until):
		return Expired
	case asked.State == store.ConfirmationConfirmed:
		return Confirmed
	}
	return ToDecide
}

// own returns the agreement of a consent that a browser gave and that has not ended. The error is errOtherBrowser if there is none.
func (d *Service) own(ctx context.Context, c agree.Call, id pat.AgreementID, browser string) (pat.Agreement, error) {
	kept, err := d.store.ConsentOf(ctx, c.Service.ID, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return pat.Agreement{}, errOtherBrowser
	case err != nil:
		return pat.Agreement{}, errorOf(err)
	case !same(kept.Browser, browser):
		return pat.Agreement{}, errOtherBrowser
	}
	a, err := d.store.Agreement(ctx, c.Service.ID, id)
	ended := failed(InvalidRequest, "The consent for this client has ended, so there is nothing to confirm.")
	switch {
	case errors.Is(err, pat.ErrNotFound), err == nil && a.State != pat.AgreementActive, err == nil && !d.now().Before(kept.Until):
		return pat.Agreement{}, ended
	case err != nil:
		return pat.Agreement{}, errorOf(err)
	}
	agent, err := d.store.Agent(ctx, c.Service.ID, a.AgentID)
	if err == nil && agent.Status == pat.AgentBlocked {
		return pat.Agreement{}, ended
	}
	return a, errorOf(err)
}

// left returns the rest of a budget.
func (d *Service) left(ctx context.Context, c agree.Call, agent pat.AgentID, b *pat.Budget) (money.Amount, error) {
	if b.Nothing() {
		return b.Amount, nil
	}
	states, err := d.store.Fits(ctx, c.Service.ID, []store.Reservation{{Principal: pat.Principal(agent), Limit: limit.OfBudget(b.Allowance)}})
	if _, full := errors.AsType[*store.LimitError](err); err != nil && !full {
		return money.Amount{}, err
	}
	return limit.AllowanceLeft(states[0].Left, b.Currency), nil
}

// A ConfirmationDecision is a person's decision about a call.
type ConfirmationDecision struct {
	Confirm   bool   // otherwise the person refuses the call
	Page      string // the digest of the content that the page showed
	Token     string // the digest of the token for clients of UIM
	Address   string // the network of the browser
	UserAgent string
}

// Decide records a person's decision about a call that Confirmation has returned in the state ToDecide. Errors are an *Error or a
// *reason.Refusal.
func (d *Service) Decide(ctx context.Context, c agree.Call, asked *Confirmation, by ConfirmationDecision) error {
	if err := d.ask("consent", c.From); err != nil {
		return err
	}
	record, call, now := "", &asked.Asked, d.now()
	if by.Confirm {
		var err error
		record, err = c.Service.Issuance.Confirmation(ctx, pat.ConfirmationRequest{
			ID: call.ID, AgentID: call.AgentID, Agreement: call.AgreementID, Intent: call.Intent, Digest: call.Digest,
			Charge: call.Charge, PolicyDigest: call.PolicyDigest, Page: by.Page, Address: by.Address,
			UserAgent: plain(by.UserAgent, maxUserAgent),
		})
		if err != nil {
			return errorOf(err)
		}
	}
	err := d.store.DecideConfirmation(ctx, c.Service.ID, call.ID, by.Token, record, now.Add(confirmedFor))
	if errors.Is(err, store.ErrUsed) {
		return nil // another request decided it, or it has expired: the page shows which
	}
	return errorOf(err)
}

// Miss counts a failed attempt to decide about a call. After too many, the call counts as refused.
func (d *Service) Miss(ctx context.Context, c agree.Call, id string) error {
	if !random(id, handleSize) {
		return nil
	}
	return errorOf(d.store.MissConfirmation(ctx, c.Service.ID, id, confirmTries))
}
