package agreement

import (
	"bytes"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/internal/wire/uagents/protocol"
	"github.com/uimgate/uimgate/pat"
)

// A Call is a signed envelope with a message of a model that the operator maps to an intent. According to the documents
// of the service, such a message implies the policy. The envelope proves which agent sent which type of message to
// which address. It names neither the policy nor the intent.
type Call struct {
	Envelope []byte               // as received, at most MaxBytes
	Target   string               // address of the service
	Model    envelope.ModelDigest // the type of the message
}

// Verify implements pat.Evidence. Unlike in other forms, the envelope need not expire.
func (c Call) Verify(string, pat.Offer) (pat.Signer, pat.Acceptance, error) {
	e, signer, accepted, err := readCall(c.Envelope)
	switch {
	case err != nil:
	case c.Target == "" || string(e.Target) != c.Target:
		err = &pat.MisdirectedError{Member: "target", Want: c.Target}
	case e.SchemaDigest != c.Model:
		err = &pat.AgreementError{Member: "schema_digest", Reason: "want the digest of a model of the service"}
	}
	if err != nil {
		return pat.Signer{}, pat.Acceptance{}, err
	}
	return signer, accepted, nil
}

// A storedCall is the envelope of a Call that was accepted earlier. Verify checks neither the target nor the model, because those of that
// time are unknown.
type storedCall []byte

// Verify implements pat.Evidence.
func (k storedCall) Verify(string, pat.Offer) (pat.Signer, pat.Acceptance, error) {
	_, signer, accepted, err := readCall(k)
	return signer, accepted, err
}

// readCall verifies the signature of an envelope whose message is not of a standard model.
func readCall(raw []byte) (envelope.Envelope, pat.Signer, pat.Acceptance, error) {
	e, err := verified(raw)
	if err != nil {
		return envelope.Envelope{}, pat.Signer{}, pat.Acceptance{}, fmt.Errorf("%w: %w", pat.ErrBadSignature, err)
	}
	key, ok := Key(string(e.Sender))
	_, standard := protocol.NameOf(e.SchemaDigest)
	switch {
	case !ok:
		err = pat.ErrBadSignature
	case standard: // such a message has its own meaning, and never implies an agreement
		err = &pat.AgreementError{Member: "schema_digest", Reason: "it is that of a standard model"}
	}
	if err != nil {
		return envelope.Envelope{}, pat.Signer{}, pat.Acceptance{}, err
	}
	accepted := pat.Acceptance{Assurance: pat.Implied, Form: formModel, Signature: bytes.Clone(raw)}
	if e.Expires != nil {
		accepted.Expires = e.Until(time.Time{})
	}
	return e, pat.Signer{ID: pat.AgentID(e.Sender), Key: key}, accepted, nil
}
