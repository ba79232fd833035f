package payments

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// An EventError means that an event cannot be read. Its text has no values of the event.
type EventError struct {
	Pointer string // JSON pointer to the member
	Problem string
}

func (e *EventError) Error() string { return e.Pointer + ": " + e.Problem }

// maxReference is the maximum length of the reference of a payment, in bytes.
const maxReference = 200

// ReadEvent returns the payment that an event describes: an event of Stripe (https://docs.stripe.com/api/events), or an object with amount,
// currency, agent, reference and kind. ignored means that the event describes no payment. The error is an *EventError. The Service of the
// payment is empty. Its AgentID is empty if an event of Stripe does not name an agent; see RefundOf.
func ReadEvent(tree strictjson.Object) (p store.Payment, ignored bool, err error) {
	if tree.Text("object") == "event" {
		return readStripe(tree)
	}
	p = store.Payment{Rail: store.RailCard, State: store.PaymentCredited, Kind: store.PaymentKind(tree.Text("kind"))}
	for _, name := range tree.Names() {
		if !slices.Contains([]string{"amount", "currency", "agent", "reference", "kind"}, name) {
			return p, false, &EventError{"/" + strictjson.Escape(name), "is not a member of an event: use amount, currency, agent, reference and kind"}
		}
	}
	switch {
	case !tree.Has("kind"):
		p.Kind = store.PaymentTopUp
	case p.Kind != store.PaymentTopUp && p.Kind != store.PaymentRefund:
		return p, false, &EventError{"/kind", "must be top-up or refund"}
	}
	if p.Amount, err = money.New(tree.Text("amount"), tree.Text("currency")); err != nil || p.Amount.Nano == 0 {
		return p, false, &EventError{"/amount", `must be a decimal number above zero as text, such as "5.00", with a currency such as "EUR"`}
	}
	if p.AgentID = pat.AgentID(tree.Text("agent")); !agentID(p.AgentID) {
		return p, false, &EventError{"/agent", "must be an agent id: 1 to 200 visible ASCII characters"}
	}
	p.Reference, err = reference(tree.Text("reference"), "/reference")
	return p, false, err
}

// readStripe reads an event of Stripe about a checkout session that was paid, or about a payment that was returned.
func readStripe(tree strictjson.Object) (p store.Payment, ignored bool, err error) {
	p = store.Payment{Rail: store.RailCard, State: store.PaymentCredited, Kind: store.PaymentTopUp}
	switch tree.Text("type") {
	case "checkout.session.completed", "checkout.session.async_payment_succeeded":
	case "charge.refunded":
		return readStripeRefund(tree.Object("data"))
	default:
		return p, true, nil
	}
	session := tree.Object("data").Object("object")
	if session.Text("payment_status") != "paid" { // nothing was paid yet: another event follows
		return p, true, nil
	}
	p.AgentID = pat.AgentID(session.Text("client_reference_id"))
	if p.AgentID == "" {
		p.AgentID = pat.AgentID(session.Object("metadata").Text("agent_id"))
	}
	if p.AgentID != "" && !agentID(p.AgentID) {
		return p, false, &EventError{"/data/object/client_reference_id", "must be an agent id: 1 to 200 visible ASCII characters"}
	}
	if p.Amount, err = stripeAmount(session.Number("amount_total").String(), session.Text("currency")); err != nil {
		return p, false, &EventError{"/data/object/amount_total", "must be a positive integer number of minor units of currency"}
	}
	id := session.Text("payment_intent")
	if id == "" { // a session without a payment intent, such as a subscription
		id = session.Text("id")
	}
	p.Reference, err = reference(id, "/data/object/payment_intent")
	return p, false, err
}

// refunded is the separator in the reference of a refund, between the reference of the payment and the total that was returned so far.
const refunded = ":refunded:"

// readStripeRefund reads the data of an event charge.refunded. The event states how much of the payment was returned so far; the refund is
// the growth of this total. AgentID is empty, because the agent is that of the payment that RefundOf names.
func readStripeRefund(data strictjson.Object) (p store.Payment, ignored bool, err error) {
	p = store.Payment{Rail: store.RailCard, State: store.PaymentCredited, Kind: store.PaymentRefund}
	charge := data.Object("object")
	currency, total := charge.Text("currency"), charge.Number("amount_refunded").String()
	if p.Amount, err = stripeAmount(total, currency); err != nil {
		return p, false, &EventError{"/data/object/amount_refunded", "must be a positive integer number of minor units of currency"}
	}
	if before := data.Object("previous_attributes").Number("amount_refunded").String(); before != "" && before != "0" {
		had, err := stripeAmount(before, currency)
		if err != nil || had.Nano >= p.Amount.Nano {
			return p, false, &EventError{"/data/previous_attributes/amount_refunded", "must be an integer below amount_refunded"}
		}
		p.Amount.Nano -= had.Nano
	}
	id := charge.Text("payment_intent")
	if id == "" {
		return p, false, &EventError{"/data/object/payment_intent", "must be the id of a payment"}
	}
	p.Reference, err = reference(id+refunded+total, "/data/object/payment_intent")
	return p, false, err
}

// RefundOf returns the reference of the payment to which a refund from ReadEvent belongs. ok is false if the refund names its agent
// itself.
func RefundOf(p *store.Payment) (reference string, ok bool) {
	reference, _, ok = strings.Cut(p.Reference, refunded)
	return reference, ok && p.Kind == store.PaymentRefund && p.AgentID == ""
}

// The currencies whose amounts Stripe states in whole units or in thousandths: https://docs.stripe.com/currencies.
var (
	stripeWhole       = strings.Fields("BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF")
	stripeThousandths = strings.Fields("BHD JOD KWD OMR TND")
)

func stripeAmount(number, currency string) (money.Amount, error) {
	currency = strings.ToUpper(currency)
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > money.MaxUnits*1000 {
		return money.Amount{}, fmt.Errorf("reading an amount: %w", money.ErrAmount)
	}
	exponent := "e-2"
	if slices.Contains(stripeWhole, currency) {
		exponent = "e0"
	} else if slices.Contains(stripeThousandths, currency) {
		exponent = "e-3"
	}
	return money.New(strconv.FormatInt(n, 10)+exponent, currency)
}

func reference(text, pointer string) (string, error) {
	if text == "" || len(text) > maxReference || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", &EventError{pointer, "must be the unique name of the payment: 1 to 200 visible ASCII characters"}
	}
	return text, nil
}

func agentID(id pat.AgentID) bool {
	return id != "" && len(id) <= maxReference && !strings.ContainsFunc(string(id), func(r rune) bool { return r <= ' ' || r > '~' })
}
