package billing

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A PaymentQuery selects payments of a service.
type PaymentQuery struct {
	Service string `query:"service"`
	api.PageRequest
	AgentID pat.AgentID        `query:"agent_id"`                                                // empty: all agents
	State   store.PaymentState `query:"state" enum:"unclaimed,settling,unknown,credited,failed"` // empty: all
}

// A Payment is an amount that an agent has paid, or is paying, by card or x402.
type Payment struct {
	Reference   string             `json:"reference"`
	AgentID     pat.AgentID        `json:"agent_id"` // empty: the sender named none
	Rail        string             `json:"rail"`     // card or x402
	Kind        store.PaymentKind  `json:"kind"`
	Amount      string             `json:"amount"`
	Currency    string             `json:"currency"`
	State       store.PaymentState `json:"state"`
	Transaction string             `json:"transaction,omitempty"`
	Reason      string             `json:"reason,omitempty"` // why the payment failed or waits
	BegunAt     time.Time          `json:"begun_at"`
	ChangedAt   time.Time          `json:"changed_at"`
}

// ChangedID returns the id of the changed record for the audit stream.
func (p Payment) ChangedID() string { return p.Reference }

func showPayment(p store.Payment) Payment {
	return Payment{
		Reference: p.Reference, AgentID: p.AgentID, Rail: p.Rail, Kind: p.Kind, Amount: p.Amount.Decimal(), Currency: p.Amount.Currency,
		State: p.State, Transaction: p.Tx, Reason: p.Reason, BegunAt: p.BegunAt.UTC(), ChangedAt: p.ChangedAt.UTC(),
	}
}

// Payments lists the payments of a service, the newest first.
func (o *Operations) Payments(ctx context.Context, s *service.Service, q PaymentQuery) (api.Page[Payment], error) {
	list, err := o.Store.Payments(ctx, store.PaymentFilter{
		Service: s.ID, AgentID: q.AgentID, State: q.State, After: q.After, Limit: q.Max(),
	})
	return api.PageOf(list, q.Max(), showPayment, func(p store.Payment) string { return p.Reference }), err
}

// A PaymentResolution is the operator's decision about a payment that waits.
type PaymentResolution struct {
	Service   string             `json:"-" query:"service"`
	Reference string             `json:"reference"`
	State     store.PaymentState `json:"state"` // store.PaymentCredited or store.PaymentFailed
	// AgentID is the agent of an unclaimed payment. If it is empty, the payment keeps the agent that its sender named.
	AgentID pat.AgentID `json:"agent_id,omitempty"`
}

// Details returns the details of the change for the audit stream.
func (r PaymentResolution) Details() map[string]string {
	return map[string]string{"state": string(r.State), "agent": string(r.AgentID)}
}

// ResolvePayment enters a waiting payment in the ledger, or ends it as failed. Errors: pat.ErrNotFound, store.ErrNotFound,
// store.ErrSettled, store.ErrReferenceUsed.
func (o *Operations) ResolvePayment(ctx context.Context, s *service.Service, r PaymentResolution) (Payment, error) {
	if !r.State.Ended() {
		return Payment{}, api.WrongMember("state", "must be credited or failed")
	}
	p, err := o.Store.Payment(ctx, s.ID, r.Reference)
	if err != nil {
		return Payment{}, err
	}
	if p.State.Ended() && p.State != r.State {
		return Payment{}, store.ErrSettled
	}
	if r.AgentID != "" && p.State != store.PaymentUnclaimed && p.AgentID != r.AgentID {
		return Payment{}, api.WrongMember("agent_id", "can be set only for an unclaimed payment")
	}
	agent := cmp.Or(r.AgentID, p.AgentID)
	if r.State == store.PaymentCredited {
		if agent == "" {
			return Payment{}, api.WrongMember("agent_id", "is required: the sender of the payment named no agent")
		}
		if _, err := o.Store.Agent(ctx, s.ID, agent); err != nil { // money for a misspelt id would be lost
			return Payment{}, err
		}
	}
	p, err = o.Store.MovePayment(ctx, s.ID, r.Reference, store.PaymentMove{
		To: r.State, AgentID: r.AgentID,
		Reason: "resolved by the operator",
	})
	if errors.Is(err, store.ErrRefund) {
		return Payment{}, reason.MalformedRequest.Refusal("The refund is more than the agent has paid in.").Because(err)
	}
	if err != nil {
		return Payment{}, err
	}
	return showPayment(p), nil
}
