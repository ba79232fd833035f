package execute

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

// A WaitingCall is a call that a person is asked to confirm, as its agent sees it. When the call is made, its record has the same id.
type WaitingCall struct {
	Reference
	Intent    string
	Confirmed bool // the person has confirmed the call, and the agent can make it
	// Refusal is CONFIRMATION_REQUIRED. It contains the address of the page while the person can decide. Once the person has refused the call
	// or the time is over, Ended is true and Refusal has no address.
	Refusal *reason.Refusal
	Ended   bool
	Key     IdempotencyKey // the idempotency key with which the agent began the call; empty: none
	Request Request        // the parameters as the client sent them
}

// WaitingID returns the id of the record of a call from the id of its confirmation.
func WaitingID(confirmation string) (string, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(confirmation)
	if err != nil {
		return "", err
	}
	id, err := uuid.FromBytes(b)
	return id.String(), err
}

// confirmationID returns the id of the confirmation of a WaitingCall. It returns false if no WaitingCall can have the id.
func confirmationID(id string) (string, bool) {
	parsed, err := uuid.Parse(id)
	return base64.RawURLEncoding.EncodeToString(parsed[:]), err == nil && parsed.String() == id
}

// madeAs returns the record of a WaitingCall whose record has another id, because a process of an earlier release made the call. The error
// is store.ErrNotFound if there is none in the scope.
func (x *Executor) madeAs(ctx context.Context, scope store.CallScope, id string) (store.Execution, error) {
	confirmation, valid := confirmationID(id)
	if !valid {
		return store.Execution{}, store.ErrNotFound
	}
	c, err := x.cfg.State.Confirmation(ctx, scope.Service, confirmation)
	if err != nil {
		return store.Execution{}, err
	}
	if c.AgentID != scope.AgentID || c.State != store.ConfirmationUsed || c.ExecutionID == "" {
		return store.Execution{}, store.ErrNotFound
	}
	return x.cfg.State.Call(ctx, scope, c.ExecutionID)
}

// Waiting returns a call that began through the same protocol and waits for a confirmation, for the agent whose PAT is in call. If the call
// was made, or its time ended more than ten minutes ago, the error is ErrNoRecord. Other errors are a *reason.Refusal.
func (x *Executor) Waiting(ctx context.Context, call Call, id string) (WaitingCall, error) {
	asks, err := x.identified(ctx, call)
	if err != nil {
		return WaitingCall{}, err
	}
	confirmation, valid := confirmationID(id)
	if !valid {
		return WaitingCall{}, ErrNoRecord
	}
	c, err := x.cfg.State.Confirmation(ctx, asks.service.ID, confirmation)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return WaitingCall{}, ErrNoRecord
	case err != nil:
		return WaitingCall{}, refusal.For(err)
	case c.AgentID != asks.claims.Principal().Record() || c.Door != call.Door || c.State == store.ConfirmationUsed ||
		!asks.claims.Permits(c.Intent):
		return WaitingCall{}, ErrNoRecord
	}
	w := WaitingCall{
		Reference: Reference{ID: id, ContextID: c.ContextID, Since: c.CreatedAt}, Intent: c.Intent, Key: IdempotencyKey(c.Key),
		Request: Request{IntentUID: c.Intent},
	}
	if w.Request.Parameters, err = strictjson.DecodeObject(c.Sent); err != nil {
		return WaitingCall{}, reason.Internal.Refusal("The parameters of the call could not be read.").Because(err)
	}
	switch now := x.cfg.Now(); {
	case c.State == store.ConfirmationRefused:
		w.Ended, w.Refusal = true, reason.ConfirmationRequired.Refusal("The person did not confirm this call.").With("refused", true)
	case !now.Before(c.Until):
		w.Ended, w.Refusal = true, reason.ConfirmationRequired.Refusal("The call was not confirmed and made in time.")
	default:
		w.Confirmed = c.State == store.ConfirmationConfirmed
		address := confirmAddress(asks.service, c.ID)
		w.Refusal = reason.ConfirmationRequired.Refusal("The person must confirm this call.").
			With(DetailConfirmation, c.ID).With(DetailConfirmURL, address).With("until", c.Until.UTC().Format(time.RFC3339)).
			With("suggestion", "Ask the person to open "+address+" in the browser in which they permitted this client. The task then continues.")
		if !c.Charge.IsZero() {
			w.Refusal.Message = "The call costs " + c.Charge.String() + ", and the person must confirm it."
			w.Refusal.With("charge", amountDetail(c.Charge))
		}
	}
	return w, nil
}

// Decided reports whether confirmations have ended, by id: of the agent whose PAT is in call, those on which a person has not decided yet,
// and those created in the last 20 minutes. The error is a *reason.Refusal.
func (x *Executor) Decided(ctx context.Context, call Call) (map[string]bool, error) {
	asks, err := x.identified(ctx, call)
	if err != nil {
		return nil, err
	}
	states, err := x.cfg.State.RecentConfirmations(ctx, asks.service.ID, string(asks.claims.Principal().Record()),
		x.cfg.Now().Add(-2*confirmationTime))
	if err != nil {
		return nil, refusal.For(err)
	}
	decided := make(map[string]bool, len(states))
	for id, state := range states {
		decided[id] = state != store.ConfirmationAsked
	}
	return decided, nil
}
