package uagents

import (
	"encoding/hex"

	"github.com/uimgate/uimgate/bindings/uagents/agreement"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/uagents/envelope"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// proved returns the envelope as a proof of key. The signature covers the message, the service and the session, and the envelope is
// accepted only once. If the envelope does not expire, proved returns nil, because the gateway would have to remember the envelope forever.
func (x *exchange) proved() *pat.Proof {
	key, ok := x.key()
	if !ok || x.Expires == nil {
		return nil
	}
	digest := x.Digest()
	return &pat.Proof{Nonce: hex.EncodeToString(digest[:]), Until: x.Until(x.d.now()).Add(pat.ProofWindow), Key: key}
}

// key returns the signing key, which the sender's address encodes.
func (x *exchange) key() (keys.Key, bool) { return agreement.Key(string(x.Sender)) }

// token returns the PAT that a message names. If the message names none, token returns the newest valid PAT of the sender. Such an envelope
// must expire; otherwise anyone who intercepts it could repeat it under every later PAT. The error is a *reason.Refusal.
func (x *exchange) token(named string) (string, error) {
	key, ok := x.key()
	switch {
	case named != "" || !ok:
		return named, nil
	case x.Expires == nil:
		return "", reason.PolicyRequiresVerification.Refusal("An envelope whose message does not name a PAT must expire.")
	}
	token, err := x.Service.Issuance.Current(x.r.Context(), pat.AgentID(x.Sender), key.Thumbprint())
	if err != nil {
		return "", refusal.For(err)
	}
	return token, nil
}

// known returns an error if the sender is a user. A user is not authenticated, so it can neither agree nor call.
func (x *exchange) known() error {
	if x.Sender.Agent() {
		return nil
	}
	return reason.PolicyRequiresVerification.Refusal("A user can neither agree nor call: its identity cannot be verified.").
		With("suggestion", "Send the message from an agent, whose address encodes its key.")
}

// renew handles UIMRenew. The envelope is the proof of the PAT's key, so it must expire, and is accepted only once.
func (x *exchange) renew(message strictjson.Object) (envelope.Envelope, error) {
	if err := x.known(); err != nil {
		return envelope.Envelope{}, err
	}
	m := wire.NewMembers(message)
	named := m.Text("pat", false)
	malformed := m.Done()
	issued, err := x.Renew(x.r.Context(), func() (pat.RenewRequest, error) {
		if malformed != nil {
			return pat.RenewRequest{}, malformed
		}
		proved := x.proved()
		if proved == nil {
			return pat.RenewRequest{}, pat.ErrProofRequired
		}
		token, err := x.token(named)
		return pat.RenewRequest{Token: token, Proved: proved}, err
	})
	if err != nil {
		return envelope.Envelope{}, err
	}
	return x.agreed(issued)
}
