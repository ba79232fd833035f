package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

// A PaymentState is the state of a Payment.
type PaymentState string

// The states of payments. A payment in one of the last two states no longer changes.
const (
	PaymentUnclaimed PaymentState = "unclaimed" // received, but it cannot be entered; the operator decides
	PaymentSettling  PaymentState = "settling"  // the facilitator is being asked to settle it
	PaymentUnknown   PaymentState = "unknown"   // the facilitator may have settled it
	PaymentCredited  PaymentState = "credited"  // entered in the ledger
	PaymentFailed    PaymentState = "failed"    // nothing was paid
)

// Ended reports whether the state is final.
func (s PaymentState) Ended() bool { return s == PaymentCredited || s == PaymentFailed }

// A PaymentKind is what a Payment does to the balance of an agent.
type PaymentKind string

// The kinds of payments.
const (
	PaymentTopUp  PaymentKind = "top-up" // adds to the balance
	PaymentRefund PaymentKind = "refund" // takes back from the balance what was topped up
)

// The rails, the ways in which payments reach the gateway.
const (
	RailCard = "card" // by the webhook of a hosted checkout
	RailX402 = "x402"
)

// A Payment is an amount that an agent has paid, or is paying, outside the gateway.
type Payment struct {
	Service   string
	Reference string // unique in the service, also among the references of top-ups
	AgentID   pat.AgentID
	Rail      string
	Kind      PaymentKind
	Amount    money.Amount // above zero
	State     PaymentState
	// Payload is posted to the facilitator again while the state is PaymentSettling or PaymentUnknown. In the state PaymentSettling, it is
	// empty until just before the gateway asks the facilitator to settle the payment. Digest is the digest of the payload.
	Payload   []byte
	Digest    string
	PaymentID string // the payer's id for the payment; unique for each agent; empty: none
	Tx        string // transaction of the facilitator; empty: none
	Reason    string // why the payment failed or waits; empty: unknown
	BegunAt   time.Time
	ChangedAt time.Time
	NextAt    time.Time // when the facilitator is asked next; the zero time: never again
	AskUntil  time.Time // until when the facilitator is asked
}

// Same reports whether two payments are one: whether they have the same agent, rail, kind and amount.
func (p *Payment) Same(o *Payment) bool {
	return p.AgentID == o.AgentID && p.Rail == o.Rail && p.Kind == o.Kind && p.Amount == o.Amount
}

// A PaymentMove changes the state of a Payment.
type PaymentMove struct {
	To      PaymentState
	AgentID pat.AgentID // replaces the agent of an unclaimed payment; empty: the agent remains
	Tx      string      // empty: remains
	Reason  string
	NextAt  time.Time // when the facilitator is asked next; the zero time: never again
	Payload []byte    // nil: remains
	// After, if set, is the value of ChangedAt that the payment must still have. Otherwise the move is refused with ErrPaymentMoved.
	After time.Time
}

// Errors of payments.
var (
	// ErrPaymentMoved means that another process has changed the payment.
	ErrPaymentMoved = errors.New("another process has changed the payment")
	// ErrPaymentIDUsed means that the payer's id for the payment belongs to another payment.
	ErrPaymentIDUsed = errors.New("the id of the payment belongs to another payment")
	// ErrPaymentOpen means that another payment of the agent has not ended.
	ErrPaymentOpen = errors.New("another payment of the agent has not ended")
	// ErrRefund means that a refund is larger than what the agent has paid in.
	ErrRefund = errors.New("the refund is more than the agent has paid in")
)

// An UnspentError means that an agent that pays in would have more unused credit than is allowed.
type UnspentError struct {
	Unspent money.Amount // paid in by the rail of the payment, and not used
	Most    money.Amount // the maximum, together with the payment
}

func (e *UnspentError) Error() string {
	return fmt.Sprintf("the agent has paid in %s that it has not used; with this payment, the maximum is %s", e.Unspent, e.Most)
}

// A PaymentFilter restricts a listing of payments; zero fields restrict nothing.
type PaymentFilter struct {
	Service string
	AgentID pat.AgentID
	State   PaymentState
	After   string // the Reference of the last payment returned
	Limit   int    // 100 if not set, and at most 1000
}
