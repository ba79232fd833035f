package facilitatortest

import (
	"strconv"
	"strings"
)

// An order is a request to verify or to settle. See x402, section 7.1.
type order struct {
	Version int `json:"x402Version"`
	Payment struct {
		Version int `json:"x402Version"`
		Payload struct {
			Signature     string        `json:"signature"`
			Authorization authorization `json:"authorization"`
		} `json:"payload"`
	} `json:"paymentPayload"`
	Requirements requirements `json:"paymentRequirements"`
}

type authorization struct {
	From        string `json:"from"`
	To          string `json:"to"`
	Value       string `json:"value"`
	ValidAfter  string `json:"validAfter"`
	ValidBefore string `json:"validBefore"`
	Nonce       string `json:"nonce"`
}

type requirements struct {
	Scheme            string            `json:"scheme"`
	Network           string            `json:"network"`
	Amount            string            `json:"amount"`
	Asset             string            `json:"asset"`
	PayTo             string            `json:"payTo"`
	MaxTimeoutSeconds int               `json:"maxTimeoutSeconds"`
	Extra             map[string]string `json:"extra"`
}

func (o *order) authorization() authorization { return o.Payment.Payload.Authorization }

// check returns why an order cannot be settled, as an error code of x402, section 9, or "" if it can.
func (f *Facilitator) check(o *order) string {
	a, r := o.authorization(), o.Requirements
	now := f.Now().Unix()
	after, errAfter := strconv.ParseInt(a.ValidAfter, 10, 64)
	before, errBefore := strconv.ParseInt(a.ValidBefore, 10, 64)
	_, used := f.used(a)
	switch {
	case o.Version != 2 || o.Payment.Version != 2:
		return "invalid_x402_version"
	case r.Scheme != "exact":
		return "unsupported_scheme"
	case r.Network != Network || !strings.EqualFold(r.Asset, Asset):
		return "invalid_network"
	case !strings.EqualFold(a.To, r.PayTo):
		return "invalid_exact_evm_payload_recipient_mismatch"
	case a.Value != r.Amount:
		return "invalid_exact_evm_payload_authorization_value_mismatch"
	case errAfter != nil || after > now:
		return "invalid_exact_evm_payload_authorization_valid_after"
	case errBefore != nil || before <= now:
		return "invalid_exact_evm_payload_authorization_valid_before"
	case signer(a, r, o.Payment.Payload.Signature) != strings.ToLower(a.From):
		return "invalid_exact_evm_payload_signature"
	case used:
		return "invalid_exact_evm_nonce_already_used"
	}
	return ""
}
