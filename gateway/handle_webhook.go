package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/payments"
	"github.com/uimgate/uimgate/store"
)

// Payments records payments and enters them in the ledger.
type Payments interface {
	// Agent returns an agent, or an error that wraps pat.ErrNotFound.
	Agent(ctx context.Context, service string, id pat.AgentID) (pat.Agent, error)
	// Payment returns a payment, or store.ErrNotFound.
	Payment(ctx context.Context, service, reference string) (store.Payment, error)
	// Pay records a payment: see ledger.Ledger.Pay of store/sqlstore.
	Pay(ctx context.Context, p store.Payment, most money.Amount) (out store.Payment, known bool, err error)
}

const (
	// maxEvent is the maximum size of the body of an event, in bytes.
	maxEvent = 256 << 10
	// eventAgain is the time after which a sender is asked to repeat an event that cannot be entered yet.
	eventAgain = time.Minute
)

// A webhookAnswer is the body of a response to an event.
type webhookAnswer struct {
	Ignored   bool               `json:"ignored,omitempty"` // the event is not about a payment
	Reference string             `json:"reference,omitempty"`
	AgentID   pat.AgentID        `json:"agent_id,omitempty"`
	State     store.PaymentState `json:"state,omitempty"`
	Repeated  bool               `json:"repeated,omitempty"` // the payment was entered before
}

// creditWebhook handles POST /api/credit/webhook: the events of a hosted checkout, signed with the secret of payments.webhook. An event
// that was entered before has no effect. The gateway keeps a payment for an unknown agent, and a refund that is too large, for the
// operator.
func (s *Server) creditWebhook(c echo.Context) error {
	x, r := exchangeOf(c), c.Request()
	of := x.service
	hook := of.Payments.Webhook
	if hook == nil {
		return reason.NoSuchPath.Refusal("This service accepts no payments by webhook.")
	}
	signature := r.Header.Get("UIM-Signature")
	if signature == "" {
		signature = r.Header.Get("Stripe-Signature")
	}
	if signature == "" { // before the body is read
		return notSigned(payments.ErrSignatureMissing)
	}
	body, err := wire.ReadJSON(r, maxEvent)
	if err != nil {
		return err
	}
	if err := hook.Verify(signature, body, s.Now()); err != nil {
		return notSigned(err)
	}
	tree, err := wire.ObjectOf(body)
	if err != nil {
		return err
	}
	p, ignored, err := payments.ReadEvent(tree)
	if problem, ok := errors.AsType[*payments.EventError](err); ok {
		return reason.InvalidParameter.Refusal("The event cannot be read: "+problem.Error()+".").With("pointer", problem.Pointer)
	}
	if ignored {
		return c.JSON(http.StatusOK, webhookAnswer{Ignored: true})
	}
	p.Service = of.ID
	if paid, ok := payments.RefundOf(&p); ok {
		had, err := s.Ledger.Payment(r.Context(), of.ID, paid)
		if errors.Is(err, store.ErrNotFound) || err == nil && had.State != store.PaymentCredited {
			return reason.NoSuchRecord.Refusal("The payment that this event refunds is not entered yet. "+
				"Send this event again after the event of that payment.").With("reference", paid)
		} else if err != nil {
			return refusal.For(err)
		}
		p.AgentID = had.AgentID
	}
	out, known, err := s.pay(r.Context(), p)
	if err != nil {
		return err
	}
	if !known {
		s.Metrics.Payment(out.Rail, out.State)
	}
	s.Log.Info("payment", zap.String("service", of.ID), zap.String("agent_id", string(out.AgentID)), zap.String("rail", out.Rail),
		zap.String("kind", string(out.Kind)), zap.Stringer("amount", out.Amount), zap.String("state", string(out.State)), zap.Bool("known",
			known))
	return c.JSON(http.StatusOK, webhookAnswer{Reference: out.Reference, AgentID: out.AgentID, State: out.State, Repeated: known})
}

// pay enters a payment in the ledger or, if it cannot be entered, keeps it for the operator and returns the refusal.
func (s *Server) pay(ctx context.Context, p store.Payment) (out store.Payment, known bool, err error) {
	unknown := p.AgentID == ""
	if !unknown {
		_, err := s.Ledger.Agent(ctx, p.Service, p.AgentID)
		if unknown = errors.Is(err, pat.ErrNotFound); err != nil && !unknown {
			return p, false, refusal.For(err)
		}
	}
	if unknown {
		return s.keep(ctx, p, "the service has no such agent", reason.NoSuchRecord.Refusal(
			"The service has no such agent. The payment is kept for the operator: see uimgate usage payments --state unclaimed."))
	}
	out, known, err = s.Ledger.Pay(ctx, p, money.Amount{})
	switch {
	case errors.Is(err, store.ErrRefund):
		return s.keep(ctx, p, "the refund is more than the agent has paid in", reason.PaymentUnknown.Refusal(
			"The refund is more than the agent has paid in so far. It is kept for the operator. "+
				"If the event of an earlier payment has not been sent yet, send this event again after it.").After(eventAgain))
	case errors.Is(err, store.ErrReferenceUsed):
		return out, known, reason.PaymentUsed.Refusal("").Because(err)
	case errors.Is(err, money.ErrAmount):
		return out, known, reason.InvalidParameter.Refusal("The balance of the agent would be out of range.").With("pointer",
			"/amount").Because(err)
	case err != nil:
		return out, known, refusal.For(err)
	}
	return out, known, nil
}

// keep records a payment as unclaimed, and returns f. If the operator has already decided about it, keep returns the decision instead.
func (s *Server) keep(ctx context.Context, p store.Payment, why string, f *reason.Refusal) (out store.Payment, known bool, err error) {
	p.State, p.Reason = store.PaymentUnclaimed, why
	out, known, err = s.Ledger.Pay(ctx, p, money.Amount{})
	if errors.Is(err, store.ErrReferenceUsed) {
		if had, gone := s.Ledger.Payment(ctx, p.Service, p.Reference); gone == nil && had.State.Ended() && had.Amount == p.Amount &&
			had.Kind == p.Kind {
			return had, true, nil
		}
		return out, known, reason.PaymentUsed.Refusal("").Because(err)
	}
	if err != nil {
		return out, known, refusal.For(err)
	}
	if out.State.Ended() {
		return out, known, nil
	}
	if !known {
		s.Metrics.Payment(out.Rail, out.State)
		s.Log.Warn("payment cannot be entered", zap.String("service", p.Service), zap.String("rail", p.Rail), zap.String("kind", string(p.Kind)),
			zap.Stringer("amount", p.Amount), zap.String("why", why))
	}
	return out, known, f.With("reference", p.Reference)
}

// notSigned returns the refusal of an event whose signature is not accepted.
func notSigned(err error) error {
	return reason.BadSignature.Refusal("The event is not accepted: "+err.Error()+".").
		With("suggestion", "Sign t.body with the secret of payments.webhook, by HMAC-SHA-256, and send it as UIM-Signature: t=SECONDS,v1=HEX.").
		Because(err)
}
