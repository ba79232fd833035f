package pat

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat/enveloped"
)

const (
	formEnvelope = "uagents-envelope"
	// formChat is that of an envelope in which it is said in words; it names the service by its address alone.
	formChat = "uagents-chat"
	// envelopeWindow is how far ahead an envelope with an agreement may expire.
	envelopeWindow = 15 * time.Minute
)

// An EnvelopeRequest is what an agent of the uAgents protocol sends to get a PAT: a signed envelope with UIMAgree. The
// agent's id is its address, and that is its key as well, on secp256k1; such a key signs agreements in this form alone, and
// never a JWS.
type EnvelopeRequest struct {
	Envelope []byte // as it came: it is the evidence
	Target   string // address to which envelopes for the service are sent; not empty
	// Admit is that of IssueRequest.
	Admit func() error
}

// IssueEnvelope is Issue for an envelope: a fresh agreement whose nonce is the digest of the envelope, so that it is used
// once whichever signature it has. Errors: of kind ErrBadSignature where no agent's key signed it, ErrBadAgreement,
// ErrAgreementMisdirected where it is for another target or issuer, ErrPolicyMismatch, ErrAgreementStale where it does not
// expire within 15 minutes or has expired, and those of Issue that follow.
func (i *Issuer) IssueEnvelope(ctx context.Context, r EnvelopeRequest) (Issued, error) {
	if r.Target == "" {
		return Issued{}, &MisdirectedError{Member: "target"}
	}
	v := verified{offer: i.terms.Offer()}
	err := verifying.inTurn(ctx, func() (err error) {
		v.agentID, v.key, v.accepted, err = verifyEnvelope(r.Envelope, Recipient{Issuer: i.rules.Issuer, Target: r.Target}, v.offer)
		return err
	})
	if err != nil {
		return Issued{}, err
	}
	return i.keep(ctx, v, nil, r.Admit)
}

// verifyEnvelope verifies an agreement in an envelope, but for its time.
func verifyEnvelope(raw []byte, to Recipient, current Offer) (AgentID, Key, Accepted, error) {
	a, err := enveloped.Read(raw)
	if err != nil {
		if member, ok := errors.AsType[*enveloped.MemberError](err); ok {
			return "", Key{}, Accepted{}, &AgreementError{member.Member, member.Reason}
		}
		return "", Key{}, Accepted{}, errorOfKind(ErrBadSignature, "%v", err)
	}
	key, ok := EnvelopeKey(AgentID(a.Agent))
	switch {
	case !ok:
		return "", Key{}, Accepted{}, ErrBadSignature
	case to.Target != "" && a.Target != to.Target:
		return "", Key{}, Accepted{}, &MisdirectedError{"target", to.Target}
	case a.Issuer != to.Issuer && !a.Chat:
		return "", Key{}, Accepted{}, &MisdirectedError{"issuer", to.Issuer}
	case a.PolicyDigest != current.Digest:
		return "", Key{}, Accepted{}, &PolicyMismatchError{UID: current.UID, Digest: current.Digest, SignedDigest: bounded(a.PolicyDigest)}
	case a.Expires.IsZero():
		return "", Key{}, Accepted{}, ErrAgreementStale
	}
	scope, err := normalScope(a.Scope)
	if err != nil {
		return "", Key{}, Accepted{}, &AgreementError{"scope", err.Error()}
	}
	form := formEnvelope
	if a.Chat {
		form = formChat
	}
	return AgentID(a.Agent), key, Accepted{
		Assurance: Fresh, Form: form, Signature: bytes.Clone(raw), Nonce: a.ID, Expires: a.Expires, Scope: scope,
		UID: current.UID, Digest: current.Digest,
	}, nil
}

// verifyEnvelopeEvidence verifies a stored envelope again. The error is of kind ErrBadExport.
func verifyEnvelopeEvidence(a Agreement, p PolicyDocument) error {
	offer, err := offerOf(a, p)
	if err != nil {
		return err
	}
	agentID, key, accepted, err := verifyEnvelope(a.Signature, Recipient{Issuer: a.Issuer}, offer)
	switch {
	case err != nil:
		return errorOfKind(ErrBadExport, "the envelope: %v", err)
	case a.Signed != nil:
		return errorOfKind(ErrBadExport, "an envelope holds what it signs; the bundle holds something beside it")
	case agentID != a.AgentID || !bytes.Equal(key.SPKI(), a.PublicKey) || key.Thumbprint() != a.KeyID:
		return errorOfKind(ErrBadExport, "the public key is not the one the agreement names")
	case accepted.Form != a.Form || accepted.Assurance != a.Assurance || accepted.Nonce != a.Nonce || !slices.Equal(accepted.Scope, a.Scope):
		return errorOfKind(ErrBadExport, "the agreement is not the one that was signed")
	case accepted.stale(a.CreatedAt):
		return errorOfKind(ErrBadExport, "the agreement was not made when the bundle says")
	}
	return nil
}

// EnvelopeKey returns the key that an address of the uAgents protocol is, and false where it is none. It verifies no JWS and no
// detached signature: only envelopes prove it.
func EnvelopeKey(id AgentID) (Key, bool) {
	spki, members, ok := enveloped.KeyInfo(string(id))
	return outsideKey(id, spki, members), ok
}

// InChat reports whether the agreement was made in words, and so names the service by its address among uAgents alone.
func (a Agreement) InChat() bool { return a.Form == formChat }
