package x402

import (
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// An Outcome is what is known about a settlement.
type Outcome int

// The outcomes.
const (
	Unknown Outcome = iota // the payment may have been made
	Settled                // the payment was made
	Failed                 // the payment was not made, and this authorization does not make it
	Unsent                 // the request did not reach the facilitator
)

// A Settlement is what the facilitator reports about a payment. x402 5.3.
type Settlement struct {
	Outcome     Outcome
	Transaction string // empty: unknown
	Payer       string // as the facilitator states it; empty: unknown
	Network     string // as the facilitator states it; empty: unknown
	Amount      string // atomic units, as the facilitator states them; empty: unknown
	Reason      string // why the payment was not settled, or why the outcome is unknown
}

// maxTransaction bounds the name of a transaction, in characters.
const maxTransaction = 128

// settlementOf reads a response to /settle.
func settlementOf(status int, tree strictjson.Object, repeated bool) Settlement {
	s := Settlement{
		Transaction: lines.Printable(tree.Text("transaction"), maxTransaction), Payer: lines.Printable(tree.Text("payer"), maxTransaction),
		Network: lines.Printable(tree.Text("network"), maxTransaction), Amount: lines.Printable(tree.Text("amount"), maxTransaction),
	}
	switch success, _ := tree["success"].(bool); {
	case success && status == http.StatusOK && s.Transaction != "":
		s.Outcome = Settled
	case !tree.Has("success") || tree["success"] != false:
		s.Reason = "the answer of the facilitator is not a settlement"
	default:
		s.Reason = reasonOf(tree, "errorReason")
		if definite(tree.Text("errorReason"), s.Transaction != "", repeated) {
			s.Outcome = Failed
		}
	}
	return s
}

// Confirms reports whether a settlement agrees with the order that it is for, as far as the facilitator states what it settled.
func (o *Order) Confirms(s *Settlement) bool {
	return (s.Network == "" || s.Network == o.Network) && (s.Payer == "" || strings.EqualFold(s.Payer, o.Payer)) &&
		(s.Amount == "" || s.Amount == o.Atomic)
}

// Judge returns a settlement of the order as it counts: one that does not agree with the order leaves open whether the order was settled.
func (o *Order) Judge(s Settlement) Settlement {
	if s.Outcome == Settled && !o.Confirms(&s) {
		s.Outcome, s.Reason = Unknown, "the facilitator reports the settlement of another payment"
	}
	return s
}

var (
	// wrong are the reasons for which an authorization can never be settled, neither now nor earlier. x402 9.
	wrong = []string{
		"invalid_exact_evm_payload_signature", "invalid_exact_evm_payload_recipient_mismatch",
		"invalid_exact_evm_payload_authorization_value_mismatch", "invalid_network", "invalid_payload", "invalid_payment_requirements",
		"invalid_scheme", "unsupported_scheme", "invalid_x402_version",
	}
	// open are parts of the reasons that leave open whether the payment was made.
	open = []string{"pending", "already", "nonce", "timeout", "timed_out", "unexpected", "unknown", "internal", "unavailable", "duplicate"}
	// reverted are the reasons that state that the transaction had no effect.
	reverted = []string{"invalid_transaction_state", "transaction_failed", "transaction_reverted"}
)

// definite reports whether a failure proves that the payment was not made. sent means that the facilitator names a transaction.
func definite(why string, sent, repeated bool) bool {
	switch {
	case slices.Contains(wrong, why) && !sent:
		return true
	case why == "" || slices.ContainsFunc(open, func(part string) bool { return strings.Contains(why, part) }):
		return false
	case repeated: // an earlier request may have moved the money, which would explain the failure of this one
		return false
	case sent:
		return slices.Contains(reverted, why)
	default:
		return true
	}
}
