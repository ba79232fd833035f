package pat

import (
	"context"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat/keys"
)

// TypeConfirmation is the typ of the record of a person's confirmation.
const TypeConfirmation = "uim-confirmation+jwt"

// Confirmed is the assurance in the record of a confirmation: a person has confirmed one exact call, on a page of the gateway. It is weaker
// evidence than a signature by the agent.
const Confirmed = "confirmed"

// A ConfirmationRequest is a call that a person has confirmed, with what the gateway observed about the person.
type ConfirmationRequest struct {
	ID           string // of the confirmation
	AgentID      AgentID
	Agreement    AgreementID // the consent
	Intent       string
	Digest       string       // of the call; see ExecuteDigest
	Charge       money.Amount // zero: the call costs nothing
	PolicyDigest string
	Page         string // the digest of the content that the page showed
	Address      string // the network of the person's browser
	UserAgent    string // the User-Agent of the browser, shortened
}

// A ConfirmationRecord is the payload of the record of a confirmation, which the gateway signs with a key of its PATs. Its typ is
// TypeConfirmation. It states what the gateway observed, and does not contain the parameters of the call.
type ConfirmationRecord struct {
	Issuer    string      `json:"iss"`
	ID        string      `json:"jti"`
	IssuedAt  int64       `json:"iat"`
	AgentID   AgentID     `json:"sub"`
	Agreement AgreementID `json:"agr"`
	Assurance string      `json:"assurance"` // Confirmed
	Intent    string      `json:"intent"`
	Digest    string      `json:"digest"`
	Amount    string      `json:"amount,omitempty"` // a decimal
	Currency  string      `json:"currency,omitempty"`
	Policy    string      `json:"pol"`
	Page      string      `json:"page"`
	Address   string      `json:"address"`
	UserAgent string      `json:"user_agent"`
}

// Confirmation signs the record of a confirmation.
func (i *Issuer) Confirmation(ctx context.Context, r ConfirmationRequest) (string, error) {
	key, err := i.keys.PrivateKey(ctx)
	if err != nil {
		return "", err
	}
	record := ConfirmationRecord{
		Issuer: i.rules.Issuer, ID: r.ID, IssuedAt: i.now().Unix(), AgentID: r.AgentID, Agreement: r.Agreement, Assurance: Confirmed,
		Intent: r.Intent, Digest: r.Digest, Policy: r.PolicyDigest, Page: r.Page, Address: r.Address, UserAgent: r.UserAgent,
	}
	if !r.Charge.IsZero() {
		record.Amount, record.Currency = r.Charge.Decimal(), r.Charge.Currency
	}
	return keys.SignJWS(key.Private, map[string]any{"typ": TypeConfirmation, "kid": key.ID}, record)
}
