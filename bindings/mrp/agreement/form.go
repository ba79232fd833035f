// Package agreement has the form of the ids of MRP agents. Their agreements are JWSs, so the form has no agreement of its own.
package agreement

import (
	"crypto/ed25519"
	"encoding/base64"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// Form returns the form. The id of an agent is its Ed25519 public key. The form has no Names, because agents sign agreements as JWSs.
func Form() pat.Form { return pat.Form{IsAddress: isAddress, Owns: owns} }

// isAddress reports whether an id has the form of an address: an Ed25519 key in base64url. A lenient decoder accepts several spellings of
// one key, so isAddress accepts all of them.
func isAddress(id string) bool {
	b, err := base64.RawURLEncoding.DecodeString(id)
	return err == nil && len(b) == ed25519.PublicKeySize && len(id) == base64.RawURLEncoding.EncodedLen(len(b))
}

// owns reports whether an id is the key itself or the thumbprint of the key, which has the same form.
func owns(id pat.AgentID, key keys.Key) bool {
	public, _ := key.Public().(ed25519.PublicKey)
	return string(id) == base64.RawURLEncoding.EncodeToString(public) || string(id) == string(key.Thumbprint())
}
