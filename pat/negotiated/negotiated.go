// Package negotiated reads agreements that agents of the AEA framework sign in a negotiation: a text of five lines that names
// the gateway, the agent, the policy and an offer of the gateway, signed with the key that the agent's address comes of. Text,
// signature and key are all the evidence there is, and can be read again at any time:
//
//	a, err := negotiated.Read(text, signature, spki)
//
// Whether the offer was made, and until when it is good, is known to whoever has made it.
package negotiated

import (
	"errors"

	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/pat/internal/secp256k1"
)

// An Agreement is what an agent's key has signed.
type Agreement = identity.Agreement

// The errors of this package.
var (
	// ErrKey is of a text that is no public key as the ledger writes it, or of another ledger than fetchai, cosmos and ethereum.
	ErrKey = errors.New("it is no public key as the ledger writes it")
	// ErrSignature is of an agreement that the agent's key has not signed.
	ErrSignature = errors.New("it is no agreement that the agent's key has signed")
)

// ParseKey reads a public key as agents of a ledger write it, and returns it as DER SubjectPublicKeyInfo. No ledger is
// fetchai, the default of the framework. The error is ErrKey.
func ParseKey(ledger, text string) (spki []byte, err error) {
	if ledger == "" {
		ledger = string(identity.Fetchai)
	}
	key, err := identity.ParsePublicKey(identity.Ledger(ledger), text)
	if err != nil {
		return nil, ErrKey
	}
	spki, _ = secp256k1.Info(key.Point())
	return spki, nil
}

// Read verifies the signature of an agreement, and that the key is the agent's. The ledger, which says how both are written,
// is that of the agent's address. The error is ErrSignature.
func Read(text []byte, signature string, spki []byte) (Agreement, error) {
	a, ok := identity.ParseAgreement(text)
	if key, known := keyOf(a.Agent, spki); ok && known && a.SignedBy(key, signature) {
		return a, nil
	}
	return Agreement{}, ErrSignature
}

// keyOf returns the key of an agent, if it is the one of its address.
func keyOf(address string, spki []byte) (identity.PublicKey, bool) {
	ledger, known := identity.LedgerOf(address)
	point, written := secp256k1.Point(spki)
	if !known || !written {
		return identity.PublicKey{}, false
	}
	key, err := identity.ParsePoint(ledger, point)
	return key, err == nil && key.Address() == address
}

// IsAddress reports whether a text is the address of an agent.
func IsAddress(text string) bool {
	_, ok := identity.LedgerOf(text)
	return ok
}

// Members returns those members of a JWK of an agent's key that its thumbprint covers, in their order. ok is false where the
// key is not the one of the address.
func Members(address string, spki []byte) (members []byte, ok bool) {
	key, ok := keyOf(address, spki)
	if !ok {
		return nil, false
	}
	_, members = secp256k1.Info(key.Point())
	return members, true
}
