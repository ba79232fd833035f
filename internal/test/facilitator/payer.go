package facilitatortest

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
)

// A Payer pays with a key.
type Payer struct {
	key *secp256k1.PrivateKey
	now func() time.Time
	// Value, if set, replaces the requested amount, and To replaces the receiver of the authorization.
	Value, To string
	ID        string // the payment-identifier; empty: the payment has none
	Valid     time.Duration
}

// NewPayer returns a Payer with a new key.
func NewPayer(tb testing.TB, now func() time.Time) *Payer {
	tb.Helper()
	key, err := secp256k1.GeneratePrivateKey()
	if err != nil {
		tb.Fatal(err)
	}
	return &Payer{key: key, now: now, Valid: 5 * time.Minute}
}

// Address returns the address of the payer.
func (p *Payer) Address() string { return addressOf(p.key.PubKey()) }

// Pay returns a payment, as JSON, for the first of the terms in the PAYMENT-REQUIRED header.
func (p *Payer) Pay(tb testing.TB, required string) []byte {
	tb.Helper()
	text, err := base64.StdEncoding.DecodeString(required)
	if err != nil || len(text) == 0 {
		tb.Fatalf("no terms: %q", required)
	}
	return p.PayTerms(tb, text)
}

// PayTerms is like Pay, but takes the terms as JSON.
func (p *Payer) PayTerms(tb testing.TB, terms []byte) []byte {
	tb.Helper()
	var asked struct {
		Resource any            `json:"resource"`
		Accepts  []requirements `json:"accepts"`
	}
	if err := json.Unmarshal(terms, &asked); err != nil || len(asked.Accepts) == 0 {
		tb.Fatalf("no terms: %s", terms)
	}
	accepted := asked.Accepts[0]
	nonce := make([]byte, 32)
	_, _ = rand.Read(nonce)
	if p.Value != "" {
		accepted.Amount = p.Value
	}
	a := authorization{
		From: p.Address(), To: accepted.PayTo, Value: accepted.Amount, ValidAfter: strconv.FormatInt(p.now().Add(-time.Minute).Unix(), 10),
		ValidBefore: strconv.FormatInt(p.now().Add(p.Valid).Unix(), 10), Nonce: "0x" + hex.EncodeToString(nonce),
	}
	if p.To != "" {
		a.To = p.To
	}
	compact := ecdsa.SignCompact(p.key, digest(a, accepted), false)
	signature := append(compact[1:], compact[0])
	payment := map[string]any{
		"x402Version": 2, "resource": asked.Resource, "accepted": accepted,
		"payload": map[string]any{"signature": "0x" + hex.EncodeToString(signature), "authorization": a},
	}
	if p.ID != "" {
		payment["extensions"] = map[string]any{"payment-identifier": map[string]any{"info": map[string]any{"required": false, "id": p.ID}}}
	}
	out, err := json.Marshal(payment)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// Header returns a payment as the value of PAYMENT-SIGNATURE.
func Header(payment []byte) string { return base64.StdEncoding.EncodeToString(payment) }
