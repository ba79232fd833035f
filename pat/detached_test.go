package pat

import (
	"bytes"
	"crypto/rsa"
	"encoding/base64"
	"math/big"
	"testing"

	"github.com/uimgate/uimgate/pat/keys"
)

// BenchmarkInvalidDetachedSignature measures the cost of an invalid signature by the largest key after eight policy changes.
func BenchmarkInvalidDetachedSignature(b *testing.B) {
	key, err := keys.New(&rsa.PublicKey{N: new(big.Int).SetBit(big.NewInt(1), 4095, 1), E: 65537})
	if err != nil {
		b.Fatal(err)
	}
	offer, err := NewOffer([]byte(`{"uid": "https://shop.example/policy/1", "a": 1.0}`), "https://shop.example/policy/1")
	if err != nil {
		b.Fatal(err)
	}
	past := []Offer{offer, offer, offer, offer, offer, offer, offer, offer}
	p := Presentation{AgentID: "agent", Key: key, Signed: base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{0x55}, 4096/8))}
	for b.Loop() {
		if _, err := verifyPresented(p, Recipient{Issuer: "shop.example"}, offer, past); err == nil {
			b.Fatal("it verified")
		}
	}
}
