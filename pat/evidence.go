package pat

import (
	"bytes"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// evidenceWindow is the maximum time until Evidence expires.
const evidenceWindow = 15 * time.Minute

// A Form defines how agents of another protocol agree and are identified, in addition to the forms of this package. It is immutable.
type Form struct {
	// Names are the values of Agreement.Form that belong to this Form; each value belongs to only one Form. If there are none, the protocol
	// has only addresses.
	Names []string
	// InWords are the Names of agreements in words, which name the service only by its address.
	InWords []string
	// Kept returns the Evidence of an agreement that was stored under one of Names.
	Kept func(a Agreement) Evidence
	// IsAddress reports whether an agent id is an address of the protocol. Such an id belongs to the keys for which Owns returns true, even
	// before such a key has agreed, and even if a service does not accept agreements in this Form.
	IsAddress func(id string) bool
	Owns      func(id AgentID, key keys.Key) bool
}

// Evidence is an agreement in a Form, as an agent signed it.
type Evidence interface {
	// Verify verifies the signature, and that the agreement is with this issuer and about the offered policy. It does not check the time;
	// Acceptance.Expires is the end of the validity of the agreement. If Acceptance.Assurance is Implied, the agreement names no policy and
	// has no nonce, and IssueRequest.Scope must name its scope. Any other assurance means Fresh. Errors are of kind ErrBadSignature,
	// ErrBadAgreement, ErrAgreementMisdirected, ErrPolicyMismatch, keys.ErrUnsupported or ErrAgreementStale.
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
	if accepted.Plan != "" {
		if err := (Declaration{PlanName: {accepted.Plan}}).Check(); err != nil {
			return Signer{}, Acceptance{}, &AgreementError{"plan", "it is not printable text of 1 to 200 bytes"}
		}
	}
	if accepted.Assurance != Implied {
		accepted.Assurance = Fresh
	}
	accepted.UID, accepted.Digest = offer.UID, offer.Digest
	return signer, accepted, nil
}

// verifyKept verifies a stored agreement in a Form again. A bundle has the plan only in the evidence, so verifyKept
// sets the plan of a unless a has one. The error is of kind ErrBadExport.
func verifyKept(a *Agreement, p PolicyDocument, form Form) error {
	if _, err := offerOf(*a, p); err != nil {
		return err
	}
	offer, err := NewOffer(p.Bytes, p.UID)
	if err != nil {
		return errorOfKind(ErrBadExport, "%v", err)
	}
	signer, accepted, err := verifyForm(form.Kept(*a), a.Issuer, offer)
	switch {
	case err != nil:
		return errorOfKind(ErrBadExport, "the agreement: %v", err)
	case signer.ID != a.AgentID || !bytes.Equal(signer.Key.SPKI(), a.PublicKey) || signer.Key.Thumbprint() != a.KeyID:
		return errorOfKind(ErrBadExport, "the public key is not the one the agreement names")
	case accepted.Form != a.Form || accepted.Assurance != a.Assurance || accepted.Nonce != a.Nonce || !bytes.Equal(accepted.Signed, a.Signed),
		a.Assurance == Implied && len(a.Scope) == 0, // the scope is not in the evidence
		a.Assurance != Implied && !slices.Equal(accepted.Scope, a.Scope):
		return errorOfKind(ErrBadExport, "the agreement differs from the one that was signed")
	case a.Plan != "" && a.Plan != accepted.Plan:
		return errorOfKind(ErrBadExport, "the plan of the agreement is not the one that was signed")
	case !accepted.Expires.IsZero() && accepted.stale(a.CreatedAt):
		return errorOfKind(ErrBadExport, "the agreement was not made at the time in the bundle")
	}
	a.Plan = accepted.Plan
	return nil
}

// formOf returns the Form to which a value of Agreement.Form belongs. It returns false for the forms of this package.
func formOf(forms []Form, name string) (Form, bool) {
	at := slices.IndexFunc(forms, func(f Form) bool { return slices.Contains(f.Names, name) })
	if at < 0 {
		return Form{}, false
	}
	return forms[at], true
}
