package x402

import (
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// An Outcome is the known state of a settlement.
type Outcome int

// The outcomes.
const (
	Unknown Outcome = iota // the payment may have been made
	Settled                // the payment was made
	Failed                 // the payment was not made, and cannot be made with this authorization
	Unsent                 // the request did not reach the facilitator
)

// A Settlement is the report of the facilitator about a payment. x402 5.3.
type Settlement struct {
	Outcome     Outcome
	Transaction string // empty: unknown
	Payer       string // as the facilitator states it; empty: unknown
	Network     string // as the facilitator states it; empty: unknown
	Amount      string // atomic units, as the facilitator states them; empty: unknown
	Reason      string // why the payment was not settled, or why the outcome is unknown
}

// maxTransaction is the maximum length of the name of a transaction, in characters.
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

// Confirms reports whether a settlement agrees with the order that it is for, as far as the facilitator states the settled order.
func (o *Order) Confirms(s *Settlement) bool {
	return (s.Network == "" || s.Network == o.Network) && (s.Payer == "" || strings.EqualFold(s.Payer, o.Payer)) &&
		(s.Amount == "" || s.Amount == o.Atomic)
}

// Judge returns the settlement that counts for the order: if s does not agree with the order, it is unknown whether the order was settled.
func (o *Order) Judge(s Settlement) Settlement {
	if s.Outcome == Settled && !o.Confirms(&s) {
		s.Outcome, s.Reason = Unknown, "the facilitator reports the settlement of another payment"
	}
	return s
}

var (
	// unsettled are the reasons for which a facilitator does not send a transaction: those of x402 9, and the names that the reference
	// facilitator has for them. A facilitator that fails after it has sent the transaction gives none of them.
	unsettled = []string{
		"insufficient_funds", "invalid_exact_evm_insufficient_balance",
		"invalid_exact_evm_payload_signature", "invalid_exact_evm_signature", "invalid_exact_evm_signature_format",
		"invalid_exact_evm_payload_authorization_valid_after", "invalid_exact_evm_payload_authorization_valid_before",
		"invalid_exact_evm_payload_authorization_value", "invalid_exact_evm_payload_authorization_value_mismatch",
		"invalid_exact_evm_authorization_value", "invalid_exact_evm_payload_recipient_mismatch", "invalid_exact_evm_recipient_mismatch",
		"invalid_network", "invalid_exact_evm_network_mismatch", "invalid_scheme", "unsupported_scheme", "invalid_exact_evm_scheme",
		"invalid_payload", "invalid_payment_requirements", "invalid_x402_version", "asset_not_deployed_contract",
		"invalid_exact_evm_missing_eip712_domain", "invalid_exact_evm_token_name_mismatch", "invalid_exact_evm_token_version_mismatch",
		"invalid_exact_evm_eip3009_not_supported",
	}
	// reverted are the reasons that state that the transaction had no effect, if the facilitator names the transaction.
	reverted = []string{
		"invalid_transaction_state", "invalid_exact_evm_transaction_failed", "transaction_failed", "transaction_reverted",
	}
)

// definite reports whether a failure proves that the payment was not made. Reasons that are not listed prove nothing. sent means that the
// facilitator names a transaction.
func definite(why string, sent, repeated bool) bool {
	switch {
	case repeated: // an earlier request may have moved the money, which explains every failure of this one, including a reverted transaction
		return false
	case sent:
		return slices.Contains(reverted, why)
	default:
		return slices.Contains(unsettled, why)
	}
}
