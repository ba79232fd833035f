package pat

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// evidenceWindow is how far ahead Evidence may expire.
const evidenceWindow = 15 * time.Minute

// A Form is how agents of another protocol agree and are named, in addition to the forms of this package itself. It is immutable.
type Form struct {
	// Names are the values of Agreement.Form that belong to it; each belongs to one Form only. None: the protocol has only addresses.
	Names []string
	// Kept returns the Evidence of an agreement that was stored under one of Names.
	Kept func(a Agreement) Evidence
	// IsAddress reports whether an agent id is an address of the protocol. Such an id belongs to the key that Owns names, even before
	// that key has agreed, and whether or not a service accepts agreements in this form.
	IsAddress func(id string) bool
	Owns      func(id AgentID, key keys.Key) bool
}

// Evidence is an agreement in a Form, as an agent has signed it.
type Evidence interface {
	// Verify verifies the signature, and that the agreement is with this issuer and about the offered policy. It does not check the time:
	// Accepted.Expires is the end of the agreement's validity. Errors are of kind ErrBadSignature, ErrBadAgreement,
	// ErrAgreementMisdirected, ErrPolicyMismatch, keys.ErrUnsupported or ErrAgreementStale.
	Verify(issuer string, offer Offer) (Signer, Acceptance, error)
}

// A Signer is the agent that signed.
type Signer struct {
	ID  AgentID
	Key keys.Key
}

// presentedEvidence is an agreement in one of the forms of this package.
type presentedEvidence struct {
	Presentation
	to   Recipient
	past []Offer
}

// Verify implements Evidence.
func (p presentedEvidence) Verify(_ string, offer Offer) (Signer, Acceptance, error) {
	accepted, err := verifyPresented(p.Presentation, p.to, offer, p.past)
	return Signer{p.AgentID, p.Key}, accepted, err
}

// verifyEvidenceOf verifies Evidence, except its time.
func verifyEvidenceOf(e Evidence, issuer string, offer Offer) (Signer, Acceptance, error) {
	if own, ok := e.(presentedEvidence); ok {
		return own.Verify(issuer, offer)
	}
	return verifyForm(e, issuer, offer)
}

// verifyForm verifies Evidence in a Form, except its time.
func verifyForm(e Evidence, issuer string, offer Offer) (Signer, Acceptance, error) {
	signer, accepted, err := e.Verify(issuer, offer)
	if err != nil {
		if mismatch, ok := errors.AsType[*PolicyMismatchError](err); ok {
			mismatch.SignedDigest = bounded(mismatch.SignedDigest)
		}
		return Signer{}, Acceptance{}, err
	}
	if accepted.Scope, err = normalScope(accepted.Scope); err != nil {
		return Signer{}, Acceptance{}, &AgreementError{"scope", err.Error()}
	}
	accepted.Assurance, accepted.UID, accepted.Digest = Fresh, offer.UID, offer.Digest
	return signer, accepted, nil
}

// verifyKept verifies a stored agreement in a Form again. The error is of kind ErrBadExport.
func verifyKept(a Agreement, p PolicyDocument, form Form) error {
	if _, err := offerOf(a, p); err != nil {
		return err
	}
	offer, err := NewOffer(p.Bytes, p.UID)
	if err != nil {
		return errorOfKind(ErrBadExport, "%v", err)
	}
	signer, accepted, err := verifyForm(form.Kept(a), a.Issuer, offer)
	switch {
	case err != nil:
		return errorOfKind(ErrBadExport, "the agreement: %v", err)
	case signer.ID != a.AgentID || !bytes.Equal(signer.Key.SPKI(), a.PublicKey) || signer.Key.Thumbprint() != a.KeyID:
		return errorOfKind(ErrBadExport, "the public key is not the one the agreement names")
	case accepted.Form != a.Form || accepted.Assurance != a.Assurance || accepted.Nonce != a.Nonce || !slices.Equal(accepted.Scope, a.Scope) ||
		!bytes.Equal(accepted.Signed, a.Signed):
		return errorOfKind(ErrBadExport, "the agreement is not the one that was signed")
	case !accepted.Expires.IsZero() && accepted.stale(a.CreatedAt):
		return errorOfKind(ErrBadExport, "the agreement was not made at the time in the bundle")
	}
	return nil
}

// formOf returns the Form for a value of Agreement.Form, and false if it is one of this package.
func formOf(forms []Form, name string) (Form, bool) {
	at := slices.IndexFunc(forms, func(f Form) bool { return slices.Contains(f.Names, name) })
	if at < 0 {
		return Form{}, false
	}
	return forms[at], true
}
