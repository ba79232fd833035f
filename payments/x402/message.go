package x402

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// The header fields of the HTTP transport, in the canonical form of net/http.
const (
	HeaderRequired  = "Payment-Required"
	HeaderSignature = "Payment-Signature"
	HeaderResponse  = "Payment-Response"
)

// The members of _meta of the MCP transport.
const (
	MetaPayment  = "x402/payment"
	MetaRequired = "x402/payment-required"
	MetaResponse = "x402/payment-response"
)

// Requirements are one way to pay. x402 5.1.2.
type Requirements struct {
	Scheme            string `json:"scheme"`
	Network           string `json:"network"`
	Amount            string `json:"amount"` // atomic units of the token, decimal
	Asset             string `json:"asset"`
	PayTo             string `json:"payTo"`
	MaxTimeoutSeconds int    `json:"maxTimeoutSeconds"`
	Extra             Extra  `json:"extra"`
}

// An Extra names the EIP-712 domain of the token.
type Extra struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// A Resource is the thing that is paid for. x402 5.1.2.
type Resource struct {
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
}

// A Quote states the terms of a payment: the PaymentRequired of x402 5.1.
type Quote struct {
	Error    string
	Resource Resource
	Accepts  []Requirements
}

// identifier is how the extension payment-identifier is advertised: specs/extensions/payment_identifier.md.
var identifier = json.RawMessage(`{"payment-identifier":{"info":{"required":false},"schema":{` +
	`"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"required":{"type":"boolean"},` +
	`"id":{"type":"string","minLength":16,"maxLength":128,"pattern":"^[A-Za-z0-9_-]+$"}},"required":["required"]}}}`)

// JSON returns the terms as JSON.
func (r *Quote) JSON() ([]byte, error) {
	return encode(struct {
		Version    int             `json:"x402Version"`
		Error      string          `json:"error,omitempty"`
		Resource   Resource        `json:"resource"`
		Accepts    []Requirements  `json:"accepts"`
		Extensions json.RawMessage `json:"extensions"`
	}{Version, r.Error, r.Resource, r.Accepts, identifier})
}

// A Receipt states how a payment was settled: the SettlementResponse of x402 5.3.
type Receipt struct {
	Success     bool   `json:"success"`
	ErrorReason string `json:"errorReason,omitempty"`
	Payer       string `json:"payer,omitempty"`
	Transaction string `json:"transaction"`
	Network     string `json:"network"`
	Amount      string `json:"amount,omitempty"` // atomic units
}

// JSON returns the receipt as JSON.
func (r *Receipt) JSON() ([]byte, error) { return encode(r) }

// Header returns a JSON document as the value of a header field. Transport http of x402.
func Header(document []byte) string { return base64.StdEncoding.EncodeToString(document) }

// orderBody returns the body that is posted to the facilitator. x402 7.1 and 7.2.
func orderBody(payload []byte, r Requirements) ([]byte, error) {
	return encode(struct {
		Version      int             `json:"x402Version"`
		Payload      json.RawMessage `json:"paymentPayload"`
		Requirements Requirements    `json:"paymentRequirements"`
	}{Version, payload, r})
}

func encode(v any) ([]byte, error) {
	out, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding an x402 message: %w", err)
	}
	return out, nil
}
