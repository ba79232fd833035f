package agreement

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	formEnvelope = "uagents-envelope"
	// formChat is the form of an agreement in a chat message. Such an agreement names the service only by its address.
	formChat = "uagents-chat"
	// formModel is the form of an agreement that a message of an operator's model implies.
	formModel = "uagents-model"
)

// Form returns the form in which agents of the protocol agree. Their ids are addresses.
func Form() pat.Form {
	return pat.Form{
		Names: []string{formEnvelope, formChat, formModel}, InWords: []string{formChat}, IsAddress: IsAddress,
		Kept: func(a pat.Agreement) pat.Evidence {
			if a.Form == formModel {
				return storedCall(a.Signature)
			}
			return storedEnvelope(a.Signature)
		},
		Owns: func(id pat.AgentID, key keys.Key) bool {
			own, ok := Key(string(id))
			return ok && own.Thumbprint() == key.Thumbprint()
		},
	}
}

// Evidence is a signed envelope with an agreement. The id of the agent is its address, which encodes its key. Such a key signs agreements
// only in this form, and never a JWS. The nonce is the digest of the envelope, so that an envelope can be used only once, even if it is
// signed again.
type Evidence struct {
	Envelope []byte // as received
	Target   string // address of the service
}

// Verify implements pat.Evidence.
func (e Evidence) Verify(issuer string, offer pat.Offer) (pat.Signer, pat.Acceptance, error) {
	return verify(e.Envelope, issuer, offer, func(target string) error {
		if e.Target == "" || target != e.Target {
			return &pat.MisdirectedError{Member: "target", Want: e.Target}
		}
		return nil
	})
}

// A storedEnvelope is an envelope with an agreement that was accepted earlier. Verify does not check the target, because the address that
// the service had at that time is unknown.
type storedEnvelope []byte

// Verify implements pat.Evidence.
func (k storedEnvelope) Verify(issuer string, offer pat.Offer) (pat.Signer, pat.Acceptance, error) {
	return verify(k, issuer, offer, func(string) error { return nil })
}

func verify(raw []byte, issuer string, offer pat.Offer, misdirected func(target string) error) (pat.Signer, pat.Acceptance, error) {
	a, err := Read(raw)
	if err != nil {
		if member, ok := errors.AsType[*MemberError](err); ok {
			err = &pat.AgreementError{Member: member.Member, Reason: member.Reason}
		} else {
			err = fmt.Errorf("%w: %w", pat.ErrBadSignature, err)
		}
		return pat.Signer{}, pat.Acceptance{}, err
	}
	key, ok := Key(a.Agent)
	elsewhere := misdirected(a.Target)
	switch {
	case !ok:
		err = pat.ErrBadSignature
	case elsewhere != nil:
		err = elsewhere
	case a.Issuer != issuer && !a.Chat:
		err = &pat.MisdirectedError{Member: "issuer", Want: issuer}
	case a.PolicyDigest != offer.Digest:
		err = &pat.PolicyMismatchError{UID: offer.UID, Digest: offer.Digest, SignedDigest: a.PolicyDigest}
	case a.Expires.IsZero():
		err = pat.ErrAgreementStale
	}
	if err != nil {
		return pat.Signer{}, pat.Acceptance{}, err
	}
	form := formEnvelope
	if a.Chat {
		form = formChat
	}
	return pat.Signer{ID: pat.AgentID(a.Agent), Key: key}, pat.Acceptance{
		Form: form, Signature: bytes.Clone(raw), Nonce: a.ID, Expires: a.Expires, Scope: a.Scope, Plan: a.Plan,
	}, nil
}
