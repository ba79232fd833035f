package execute

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// Confirmations stores the calls that people are asked to confirm. It must be safe for concurrent use.
type Confirmations interface {
	// AskConfirmation stores a call that a person is asked to confirm, or returns the one that is stored for the same
	// call. The error is store.ErrFull if the number of other calls of the agent that wait for a decision has reached
	// most.
	AskConfirmation(ctx context.Context, c store.Confirmation, most int) (store.Confirmation, error)
	// NewestConfirmation returns the newest Confirmation of a call, in any state, or store.ErrNotFound.
	NewestConfirmation(ctx context.Context, service, agent, binding string) (store.Confirmation, error)
	// Confirmation returns one Confirmation, or store.ErrNotFound.
	Confirmation(ctx context.Context, service, id string) (store.Confirmation, error)
	// RecentConfirmations returns the states of Confirmations of an agent, by id: of those on which a person has not
	// decided yet, and of those created at since or later.
	RecentConfirmations(ctx context.Context, service, agent string, since time.Time) (map[string]store.ConfirmationState, error)
	// UseConfirmation stores that a call has used a Confirmation.
	UseConfirmation(ctx context.Context, service, id, execution string) error
	// Budget returns the newest record of a changed budget of a consent, with its number, or store.ErrNotFound.
	Budget(ctx context.Context, service string, id pat.AgreementID) (record string, number int, err error)
	// Fits returns the states of limits, and a *store.LimitError if one of them does not admit a call.
	Fits(ctx context.Context, service string, of []store.Reservation) ([]limit.Status, error)
}

const (
	// confirmationTime is how long a person can decide, and how long the call can be made after a confirmation.
	confirmationTime = 10 * time.Minute
	// mostAsked is the maximum number of calls of an agent that wait for a decision.
	mostAsked = 16
	// mostShown is the maximum length of the parameters on a page, as JSON, in bytes.
	mostShown = 16 << 10
	// confirmationNonce is the key of the nonces that are ids of confirmations, so that each id can begin one call.
	confirmationNonce keys.ID = "confirmation"
)

// ConfirmPath is the path of the page on which people confirm calls. The id of the confirmation is the value id of its query.
const ConfirmPath = "/oauth/confirm"

// The members in the details of a CONFIRMATION_REQUIRED refusal that doors read.
const (
	DetailConfirmation = "confirmation" // the id
	DetailConfirmURL   = "confirm_url"
)

// confirm keeps only the candidates that need no confirmation by a person, or that the person has confirmed. If none is left, it refuses
// the call. Only calls under consent need confirmations.
func (x *Executor) confirm(ctx context.Context, e *execution) error {
	if e.claims.Assurance != pat.Consent || len(e.decision.Candidates) == 0 {
		return nil
	}
	free := slices.DeleteFunc(slices.Clone(e.decision.Candidates), func(c odrl.Candidate) bool { return e.mustConfirm(c.Charge) })
	if len(free) == len(e.decision.Candidates) {
		return nil
	}
	first := slices.IndexFunc(e.decision.Candidates, func(c odrl.Candidate) bool { return e.mustConfirm(c.Charge) })
	charge := e.decision.Candidates[first].Charge
	e.unconfirmed = &charge
	found, err := x.confirmed(ctx, e)
	switch {
	case err != nil:
		return err
	case found != nil:
		e.confirmation, e.unconfirmed = found, nil
		e.decision.Candidates = slices.DeleteFunc(slices.Clone(e.decision.Candidates), func(c odrl.Candidate) bool {
			return e.mustConfirm(c.Charge) && c.Charge != charge
		})
		return nil
	case len(free) > 0:
		e.decision.Candidates = free
		return nil
	}
	return x.askPerson(ctx, e)
}

// mustConfirm reports whether a person must confirm a call with this charge.
func (e *execution) mustConfirm(charge money.Amount) bool {
	if e.intent.ConfirmAlways {
		return true
	}
	return e.budget != nil && !charge.IsZero() && charge.Nano > e.withoutConfirmation().Nano
}

// withoutConfirmation returns the largest charge of a call without a confirmation. The call must have a budget.
func (e *execution) withoutConfirmation() money.Amount {
	most := e.budget.PerCall
	if offer := e.budgetOffer(); offer != nil && offer.ConfirmAbove.Nano < most.Nano {
		most.Nano = offer.ConfirmAbove.Nano
	}
	return most
}

// confirmed returns the Confirmation that permits the call with the charge e.unconfirmed, or nil. A call that repeats another one under its
// idempotency key finds the used Confirmation: begin then returns the earlier response, or refuses the id as used.
func (x *Executor) confirmed(ctx context.Context, e *execution) (*store.Confirmation, error) {
	want, err := x.confirmation(e)
	if err != nil {
		return nil, err
	}
	found, err := x.cfg.State.NewestConfirmation(ctx, want.Service, string(want.AgentID), want.Binding)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil //nolint:nilnil // the person was not asked
	case err != nil:
		return nil, refusal.For(err)
	case found.State == store.ConfirmationUsed && e.call.IdempotencyKey != "", found.State == store.ConfirmationConfirmed && e.permits(found):
		return &found, nil
	}
	return nil, nil //nolint:nilnil // the person has not confirmed
}

// permits reports whether a call can use a confirmed Confirmation. A client of UIM over HTTP must send the token that the page has shown.
func (e *execution) permits(c store.Confirmation) bool {
	return e.at.Before(c.Until) && (e.call.Door != "" || e.call.Confirmation != "" && pat.DigestOf([]byte(e.call.Confirmation)) == c.Token)
}

// confirmation returns the Confirmation that asks a person about the call. Its Binding covers everything that the person sees.
func (x *Executor) confirmation(e *execution) (c store.Confirmation, err error) {
	c = store.Confirmation{
		Service: e.service.ID, AgentID: e.claims.Principal().Record(), AgreementID: e.claims.Agreement, Door: e.call.Door, Intent: e.intent.ID,
		Charge: *e.unconfirmed, PolicyDigest: e.service.Offer().Digest, Until: e.at.Add(confirmationTime),
	}
	if c.Digest, err = x.requestDigest(e); err != nil {
		return c, err
	}
	if c.Parameters, err = strictjson.Canonical(map[string]any(e.filled)); err != nil {
		return c, refusal.InexactParameter(e.request.Pointer(), err)
	}
	sent := e.request.Parameters
	if sent == nil {
		sent = strictjson.Object{}
	}
	if c.Sent, err = strictjson.Canonical(map[string]any(sent)); err != nil {
		return c, refusal.InexactParameter(e.request.Pointer(), err)
	}
	bound, err := json.Marshal([]string{
		c.Intent, c.Digest, string(c.Parameters), c.Charge.Decimal(), c.Charge.Currency, c.PolicyDigest, string(c.AgreementID),
	})
	c.Binding = evidence.Digest(bound)
	return c, err
}

// askPerson refuses the call, because the person must confirm it first, and stores the call for the page on which the person decides. If
// the budget cannot permit the call at all, askPerson refuses it for that reason.
func (x *Executor) askPerson(ctx context.Context, e *execution) error {
	charge := *e.unconfirmed
	c, err := x.confirmation(e)
	if err != nil {
		return err
	}
	if len(c.Parameters) > mostShown {
		return e.confirmationRequired(" Its parameters are too long to be shown on a page, so it cannot be confirmed.")
	}
	if !charge.IsZero() {
		_, err := x.cfg.State.Fits(ctx, c.Service, e.appendSpending(nil, charge))
		if full, ok := errors.AsType[*store.LimitError](err); ok {
			return x.overLimit(ctx, e, full)
		} else if err != nil {
			return refusal.For(err)
		}
	}
	newest, err := x.cfg.State.NewestConfirmation(ctx, c.Service, string(c.AgentID), c.Binding)
	switch {
	case err == nil && newest.State == store.ConfirmationRefused && e.at.Before(newest.Until):
		return reason.ConfirmationRequired.Refusal("The person did not confirm this call.").With("refused", true).
			With("suggestion", "Ask the person before you repeat this call. The person can be asked again from details.until on.").
			With("until", newest.Until.UTC().Format(time.RFC3339))
	case err == nil && newest.State == store.ConfirmationConfirmed && e.at.Before(newest.Until):
		return e.withPage(newest).With("suggestion", "The person has confirmed the call. Send the token that the page at details.confirm_url "+
			"shows as the UIM-Confirmation header.")
	case err != nil && !errors.Is(err, store.ErrNotFound):
		return refusal.For(err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return reason.Internal.Refusal("The gateway could not generate an id.").Because(err)
	}
	c.ID, c.ContextID, c.Key = base64.RawURLEncoding.EncodeToString(id[:]), e.call.ContextID, string(e.call.IdempotencyKey)
	asked, err := x.cfg.State.AskConfirmation(ctx, c, mostAsked)
	switch {
	case errors.Is(err, store.ErrFull):
		return e.confirmationRequired(" Too many other calls of this client already wait for a confirmation.").After(time.Minute)
	case err != nil:
		return refusal.For(err)
	}
	return e.withPage(asked)
}

// confirmationRequired returns the refusal of a call that a person must confirm. more is appended to the message.
func (e *execution) confirmationRequired(more string) *reason.Refusal {
	charge := *e.unconfirmed
	message := "The person must confirm each call to this intent."
	if !charge.IsZero() {
		message = "The call costs " + charge.String() + ", and the person must confirm it."
	}
	f := reason.ConfirmationRequired.Refusal(message + more)
	if !charge.IsZero() {
		f.With("charge", amountDetail(charge))
	}
	if e.budget != nil && !e.intent.ConfirmAlways {
		f.With("without_confirmation", amountDetail(e.withoutConfirmation()))
	}
	return f
}

// confirmAddress returns the address of the page on which a person decides about a call.
func confirmAddress(s *service.Service, id string) string { return s.At(ConfirmPath) + "?id=" + id }

// withPage returns the refusal of a call that the person can confirm on a page.
func (e *execution) withPage(c store.Confirmation) *reason.Refusal {
	address, next := confirmAddress(e.service, c.ID), " Repeat the same call afterwards"
	if e.call.Door == "" {
		next += ", with the token that the page shows as the UIM-Confirmation header"
	}
	return e.confirmationRequired("").With(DetailConfirmation, c.ID).With(DetailConfirmURL, address).
		With("until", c.Until.UTC().Format(time.RFC3339)).
		With("suggestion", "Ask the person to open "+address+" in the browser in which they permitted this client."+next+".")
}

// nonceOf returns the nonce of a Confirmation, so that the Confirmation begins only one call. The nonce outlives the time for which the
// store keeps the Confirmation.
func nonceOf(c *store.Confirmation, now time.Time) *store.Nonce {
	return &store.Nonce{KeyID: confirmationNonce, ID: c.ID, Until: now.Add(2 * store.ConfirmationKept)}
}

// askAgain refuses a call whose Confirmation another call has used, and asks the person to confirm this one.
func (x *Executor) askAgain(ctx context.Context, e *execution) error {
	x.used(ctx, e, "")
	charge := e.confirmation.Charge
	e.unconfirmed, e.confirmation = &charge, nil
	return x.askPerson(ctx, e)
}

// used stores that a call has used its Confirmation. If that fails, the nonce still prevents another use.
func (x *Executor) used(ctx context.Context, e *execution, execution string) {
	_ = x.cfg.State.UseConfirmation(context.WithoutCancel(ctx), e.confirmation.Service, e.confirmation.ID, execution)
}
