package agreement

import (
	"fmt"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

const form = "aea-1"

// Form returns the form of agreement of agents of the AEA framework. The ids of these agents are addresses.
func Form() pat.Form {
	return pat.Form{
		Names: []string{form}, IsAddress: IsAddress,
		Kept: func(a pat.Agreement) pat.Evidence { return storedAgreement{a} },
		Owns: func(id pat.AgentID, key keys.Key) bool {
			point, written := keys.PointOf(key.SPKI())
			if !written {
				return false
			}
			_, ok := keyOf(string(id), point)
			return ok
		},
	}
}

// Evidence is an agreement that an agent made in a negotiation by signing an offer of the gateway. The agent's id is its address, which
// is derived from its key; such a key can sign agreements only in this form. The agreement is fresh: the gateway chose its nonce, which
// can be used once.
type Evidence struct {
	Agreement // PolicySHA256 is the digest of the policy that the agent read; see pat.Offer.SHA256

	// Until is when the offer expires, at most 15 minutes from now. The caller must have made the offer to this agent, with an unguessable
	// nonce.
	Until     time.Time
	Ledger    string // empty: fetchai
	PublicKey string // in the ledger's encoding
	Signature string // in the ledger's encoding
}

// Verify implements pat.Evidence.
func (e Evidence) Verify(_ string, offer pat.Offer) (pat.Signer, pat.Acceptance, error) {
	public, err := ParseKey(e.Ledger, e.PublicKey)
	if err != nil {
		return pat.Signer{}, pat.Acceptance{}, keys.Unsupported(err.Error())
	}
	text := e.Text()
	if _, err := Read(text, e.Signature, public.Point()); err != nil {
		return pat.Signer{}, pat.Acceptance{}, fmt.Errorf("%w: %w", pat.ErrBadSignature, err)
	}
	if e.PolicySHA256 != offer.SHA256() {
		return pat.Signer{}, pat.Acceptance{}, &pat.PolicyMismatchError{UID: offer.UID, Digest: offer.Digest}
	}
	signer := pat.Signer{ID: pat.AgentID(e.Agent), Key: keys.AddressKey(e.Agent, public.Point())}
	return signer, pat.Acceptance{Form: form, Signed: text, Signature: []byte(e.Signature), Nonce: e.Nonce, Expires: e.Until}, nil
}

// A storedAgreement is an agreement that was accepted earlier. It proves neither when it was made, nor that the gateway that it names
// belonged to this service.
type storedAgreement struct{ agreement pat.Agreement }

// Verify implements pat.Evidence.
func (k storedAgreement) Verify(_ string, offer pat.Offer) (pat.Signer, pat.Acceptance, error) {
	point, written := keys.PointOf(k.agreement.PublicKey)
	if !written {
		return pat.Signer{}, pat.Acceptance{}, keys.Unsupported(ErrKey.Error())
	}
	a, err := Read(k.agreement.Signed, string(k.agreement.Signature), point)
	if err != nil {
		return pat.Signer{}, pat.Acceptance{}, fmt.Errorf("%w: %w", pat.ErrBadSignature, err)
	}
	if !offer.HasSHA256(a.PolicySHA256) {
		return pat.Signer{}, pat.Acceptance{}, &pat.PolicyMismatchError{UID: offer.UID, Digest: offer.Digest}
	}
	signer := pat.Signer{ID: pat.AgentID(a.Agent), Key: keys.AddressKey(a.Agent, point)}
	return signer, pat.Acceptance{Form: form, Signed: k.agreement.Signed, Nonce: a.Nonce}, nil
}
