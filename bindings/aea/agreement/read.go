// Package agreement implements the agreements of agents of the AEA framework. In a negotiation, an agent signs a text of five lines that
// names the gateway, the agent, the policy and an offer of the gateway. It signs with the key of its address. Text, signature and key are
// the complete evidence, and can be verified at any time:
//
//	a, err := agreement.Read(text, signature, key)
//
// Only the gateway knows whether it made the offer, and until when the offer is valid.
package agreement

import (
	"cmp"
	"errors"

	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// An Agreement is a text that an agent signed with its key.
type Agreement = identity.Agreement

// The errors of this package.
var (
	// ErrKey means that a string is not a public key in the format of its ledger, or that the ledger is not fetchai, cosmos or ethereum.
	ErrKey = errors.New("not a public key in the format of its ledger")
	// ErrSignature means that a string is not an agreement, or that the agent's key did not sign the agreement.
	ErrSignature = errors.New("not an agreement signed with the agent's key")
)

// ParseKey parses a public key in the ledger's encoding. An empty ledger means fetchai, the default of the framework. The error is
// ErrKey.
func ParseKey(ledger, text string) (identity.PublicKey, error) {
	key, err := identity.ParsePublicKey(cmp.Or(identity.Ledger(ledger), identity.Fetchai), text)
	if err != nil {
		return identity.PublicKey{}, ErrKey
	}
	return key, nil
}

// Read parses an agreement, and verifies that the point on secp256k1 is the agent's key and that this key made the signature. The ledger
// of the agent's address determines the formats of the key and the signature. The error is ErrSignature.
func Read(text []byte, signature string, point []byte) (Agreement, error) {
	a, ok := identity.ParseAgreement(text)
	if key, known := keyOf(a.Agent, point); ok && known && a.SignedBy(key, signature) {
		return a, nil
	}
	return Agreement{}, ErrSignature
}

// keyOf returns the key at a point, and whether the address is derived from that key.
func keyOf(address string, point []byte) (identity.PublicKey, bool) {
	ledger, known := identity.LedgerOf(address)
	if !known {
		return identity.PublicKey{}, false
	}
	key, err := identity.ParsePoint(ledger, point)
	return key, err == nil && key.Address() == address
}

// IsAddress reports whether text is the address of an agent.
func IsAddress(text string) bool {
	_, ok := identity.LedgerOf(text)
	return ok
}
