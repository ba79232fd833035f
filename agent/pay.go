package agent

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/agent/via"
	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/payments/x402"
)

// A Demand is a service's request for an x402 payment.
type Demand struct {
	// Terms is the PaymentRequired of x402, version 2, as JSON of at most 16 KiB. It is untrusted input.
	Terms []byte
	// Amount is the amount that the service states. Only the terms bind the payer. It is zero if the service states no amount.
	Amount money.Amount
}

// ErrPayment means that a payment for a call was not made. The service refused the call and did not execute it.
var ErrPayment = errors.New("the payment was not made")

// maxTerms is the maximum size of the header with the terms of a payment, in bytes.
const maxTerms = 16 << 10

// demandOf returns the demand in a refusal, or nil if the refusal demands no x402 payment.
func (e *Error) demandOf(h http.Header) *Demand {
	header := h.Get(x402.HeaderRequired)
	if e.Status != http.StatusPaymentRequired || header == "" || len(header) > maxTerms {
		return nil
	}
	terms, err := base64.StdEncoding.DecodeString(header)
	if err != nil {
		return nil
	}
	d := &Demand{Terms: terms}
	asked, _ := strictjson.AsObject(e.Details["payment"])
	if amount, err := money.New(asked.Text("minimum"), asked.Text("currency")); err == nil {
		d.Amount = amount
	}
	return d
}

// pay lets the owner's signer pay a demand. The client sends the payment with all further attempts of the call.
func (s *Service) pay(ctx context.Context, c *call, d *Demand) error {
	payment, err := s.client.o.Pay(ctx, *d)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrPayment, err)
	}
	if err := meets(payment, d.Terms); err != nil {
		return fmt.Errorf("%w: %w", ErrPayment, err)
	}
	c.payment = x402.Header(payment)
	return nil
}

// meets checks that a payment is exactly one of those in the terms.
func meets(payment, terms []byte) error {
	p, err := x402.Read(payment)
	if err != nil {
		return fmt.Errorf("the signer: %w", err)
	}
	tree, err := strictjson.DecodeObject(terms)
	if err != nil {
		return errors.New("the terms of the service are not JSON")
	}
	is := func(v any) bool {
		asked, _ := strictjson.AsObject(v)
		return asked.Text("network") == p.Accepted.Network && strings.EqualFold(asked.Text("asset"), p.Accepted.Asset) &&
			strings.EqualFold(asked.Text("payTo"), p.To) && asked.Text("amount") == p.Value.String()
	}
	if !slices.ContainsFunc(tree.List("accepts"), is) {
		return errors.New("the signer: the payment matches none of the terms of the service")
	}
	return nil
}

// afterDemand decides what to do after a refusal that demands a payment, or that rejects one. ok is false for any other refusal.
func (c *call) afterDemand(e *Error, client *Client) (next step, ok bool) {
	switch {
	case client.o.Pay != nil && e.Is(ErrPolicyRequiresPayment) && !c.carriesPayments(client):
		e.Demand = nil
		e.Suggestion = strings.TrimSpace(e.Suggestion + " " + payElsewhere)
		return step{}, true
	case e.Demand != nil && client.o.Pay != nil && c.payment == "":
		return step{again: true, pay: e.Demand}, true // refused before anything was done
	case e.Is(ErrPaymentUnknown) && c.payment != "":
		return c.await(client, max(e.RetryAfter, inProgressWait)), true // a service does not accept the same payment twice
	}
	return step{}, false
}

// payElsewhere is the advice for an agent that pays, after a refusal through a protocol without payments.
const payElsewhere = "Calls through this protocol carry no payments: repeat the call over HTTP (without --via), or with MCP (--via mcp)."

// carriesPayments reports whether the protocol of the call carries x402 payments: HTTP and MCP do.
func (c *call) carriesPayments(client *Client) bool {
	_, mcp := c.door.(via.MCP)
	return (c.door == nil || mcp) && client.relay == nil
}

// settledBy reports whether a response states that the payment of a call was settled.
func settledBy(a fetch.Answer) bool {
	text, err := base64.StdEncoding.DecodeString(a.Header.Get(x402.HeaderResponse))
	if err != nil || len(text) > maxTerms {
		return false
	}
	tree, err := strictjson.DecodeObject(text)
	return err == nil && tree.Flag("success")
}
