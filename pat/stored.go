package pat

import (
	"slices"

	"github.com/uimgate/uimgate/pat/keys"
)

// A StoredPolicy verifies the stored agreements to a policy again, as VerifyExport does.
type StoredPolicy struct{ offer Offer }

// NewStoredPolicy returns the StoredPolicy of a document. The error is of kind ErrBadExport if the document does not have its digest.
func NewStoredPolicy(p PolicyDocument) (StoredPolicy, error) {
	digest, err := PolicyDigest(p.Bytes)
	if err != nil || digest != p.Digest {
		return StoredPolicy{}, errorOfKind(ErrBadExport, "the policy document does not have its digest")
	}
	return StoredPolicy{Offer{UID: p.UID, Digest: digest}}, nil
}

// Verify verifies the signature of an agreement to the policy again, if it is a JWS of the agent or the record of a consent. It compares
// the agreement with the text that was signed. It does not verify agreements in other forms. The error is of kind ErrBadExport.
func (p StoredPolicy) Verify(a Agreement) error {
	if !slices.Contains([]string{formJWSAgreement, formJWSPolicy, formConsent}, a.Form) {
		return nil
	}
	key, err := agreedKey(a)
	if err != nil {
		return err
	}
	if a.PolicyDigest != p.offer.Digest || a.PolicyUID != p.offer.UID {
		return errorOfKind(ErrBadExport, "the policy is not the one the agreement names")
	}
	return verifySigned(a, key, p.offer)
}

// agreedKey returns the key of a stored agreement. The error is of kind ErrBadExport if the agreement names another one.
func agreedKey(a Agreement) (keys.Key, error) {
	key, err := keys.ParseSPKI(a.PublicKey)
	if err != nil || (a.Assurance == Consent) != (a.KeyID == "") || a.KeyID != "" && key.Thumbprint() != a.KeyID {
		return keys.Key{}, errorOfKind(ErrBadExport, "the public key is not the one the agreement names")
	}
	return key, nil
}
