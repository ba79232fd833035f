package pat

import (
	"bytes"
	"context"
	"encoding/hex"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat/negotiated"
)

const formNegotiated = "aea-1"

// A NegotiatedRequest is an offer of the gateway that an agent of the AEA framework accepts in a negotiation, with its
// signature. The agent's id is its address, which comes of its key; that is on secp256k1, and signs agreements in this form
// alone.
type NegotiatedRequest struct {
	Gateway string // address of the service among those agents
	Agent   string // address from which the acceptance came
	// Nonce names the offer, and Until is when that ends, at most 15 minutes ahead. The caller has made the offer to this agent,
	// with a nonce that nobody can guess.
	Nonce        string
	Until        time.Time
	PolicySHA256 string // of the policy as the agent has read it, in hexadecimal digits; see Offer.SHA256
	Ledger       string // empty: fetchai
	PublicKey    string // as the ledger writes it
	Signature    string // as the ledger writes it
	Scope        []string
	// Admit is that of IssueRequest.
	Admit func() error
}

// IssueNegotiated is Issue for an offer that was accepted: a fresh agreement, because the nonce is the gateway's own and is
// used once. Errors: of kind ErrUnsupportedKey, ErrBadSignature, ErrPolicyMismatch, ErrAgreementStale once the offer has ended,
// and those of Issue that follow.
func (i *Issuer) IssueNegotiated(ctx context.Context, r NegotiatedRequest) (Issued, error) {
	scope, err := normalScope(r.Scope)
	if err != nil {
		return Issued{}, err
	}
	v := verified{agentID: AgentID(r.Agent), offer: i.terms.Offer()}
	err = verifying.inTurn(ctx, func() (err error) {
		v.key, v.accepted, err = verifyNegotiated(r, v.offer)
		return err
	})
	if err != nil {
		return Issued{}, err
	}
	return i.keep(ctx, v, scope, r.Admit)
}

// verifyNegotiated verifies the acceptance of an offer, but for its time.
func verifyNegotiated(r NegotiatedRequest, current Offer) (Key, Accepted, error) {
	spki, err := negotiated.ParseKey(r.Ledger, r.PublicKey)
	if err != nil {
		return Key{}, Accepted{}, keyErrorf(ErrUnsupportedKey, "%v", err)
	}
	text := negotiated.Agreement{Gateway: r.Gateway, Agent: r.Agent, PolicySHA256: r.PolicySHA256, Nonce: r.Nonce}.Text()
	if _, err := negotiated.Read(text, r.Signature, spki); err != nil {
		return Key{}, Accepted{}, errorOfKind(ErrBadSignature, "%v", err)
	}
	if r.PolicySHA256 != current.SHA256() {
		return Key{}, Accepted{}, &PolicyMismatchError{UID: current.UID, Digest: current.Digest}
	}
	key, ok := negotiatedKey(AgentID(r.Agent), spki)
	if !ok {
		return Key{}, Accepted{}, ErrBadSignature
	}
	return key, Accepted{
		Assurance: Fresh, Form: formNegotiated, Signed: text, Signature: []byte(r.Signature), Nonce: r.Nonce, Expires: r.Until,
		UID: current.UID, Digest: current.Digest,
	}, nil
}

// verifyNegotiatedEvidence verifies a stored agreement again. When it was made it does not say, nor that the gateway whose
// address it names was the one of this service. The error is of kind ErrBadExport.
func verifyNegotiatedEvidence(a Agreement, p PolicyDocument) error {
	if _, err := offerOf(a, p); err != nil {
		return err
	}
	offer, err := NewOffer(p.Bytes, p.UID)
	if err != nil {
		return errorOfKind(ErrBadExport, "%v", err)
	}
	signed, err := negotiated.Read(a.Signed, string(a.Signature), a.PublicKey)
	if err != nil {
		return errorOfKind(ErrBadExport, "the signature: %v", err)
	}
	key, err := a.Key()
	switch {
	case err != nil || key.Thumbprint() != a.KeyID || signed.Agent != string(a.AgentID):
		return errorOfKind(ErrBadExport, "the public key is not the one the agreement names")
	case !slices.ContainsFunc(offer.forms, func(f form) bool { return hex.EncodeToString(f.sum[:]) == signed.PolicySHA256 }):
		return errorOfKind(ErrBadExport, "the policy document is not the one that was signed")
	case a.Assurance != Fresh || a.Nonce != signed.Nonce || len(a.Scope) > 0:
		return errorOfKind(ErrBadExport, "the agreement is not the one that was signed")
	}
	return nil
}

// negotiatedKey returns the key of a negotiation, if it is that of the agent's address. It verifies no JWS and no detached
// signature: only acceptances of offers prove it.
func negotiatedKey(id AgentID, spki []byte) (Key, bool) {
	members, ok := negotiated.Members(string(id), spki)
	return outsideKey(id, bytes.Clone(spki), members), ok
}
