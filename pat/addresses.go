package pat

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/pat/enveloped"
	"github.com/uimgate/uimgate/pat/negotiated"
)

// An addressForm is a form of agent ids that are addresses of another protocol. Such an id belongs to the key it is made of,
// before that key has agreed as well.
type addressForm struct {
	matches func(id string) bool
	ownedBy func(id AgentID, key Key) bool
	// grantable reports whether the operator may give the id to a key that does not own it.
	grantable bool
}

// addressForms has the addresses of each protocol by which agents come. A door whose agents have addresses of another form
// adds a row, whether or not the door is open: an id that is claimed today belongs to the same agent once it is.
var addressForms = []addressForm{
	{enveloped.IsAddress, ownsEnvelopes, true},
	{negotiated.IsAddress, ownsNegotiations, true},
	{isRelayKey, isOwnKey, true},
	{isConsented, func(AgentID, Key) bool { return false }, false},
}

// mayHold returns an *AgentIDTakenError if id is an address that does not belong to key. It belongs to the key it is made of,
// and to those that the operator has given it to, in the configuration or with the agent's record.
func (i *Issuer) mayHold(ctx context.Context, id AgentID, key Key) error {
	at := slices.IndexFunc(addressForms, func(f addressForm) bool { return f.matches(string(id)) })
	if at < 0 || addressForms[at].ownedBy(id, key) {
		return nil
	}
	if !addressForms[at].grantable {
		return idTaken(id, key.Thumbprint())
	}
	granted := Known{AgentID: id, KeyID: key.Thumbprint()}
	if slices.Contains(i.rules.Allow, granted) || slices.Contains(i.rules.Parties, granted) {
		return nil
	}
	agent, err := i.store.Agent(ctx, i.rules.Service, id)
	switch {
	case err != nil && !errors.Is(err, ErrNotFound):
		return fmt.Errorf("looking up the agent: %w", err)
	case err != nil || !slices.Contains(agent.Keys, key.Thumbprint()):
		return idTaken(id, key.Thumbprint())
	}
	return nil
}

// reserved returns the keys that alone may have an id, if key is one of them: those the configuration names, or the key that an
// address is made of.
func (i *Issuer) reserved(id AgentID, key Key) []KeyID {
	if keys := i.verifier.c.Reserved[id]; len(keys) > 0 {
		return keys // key is one of them: admit refuses all others
	}
	for _, f := range addressForms {
		if f.matches(string(id)) && f.ownedBy(id, key) {
			return []KeyID{key.Thumbprint()}
		}
	}
	return nil
}

func ownsEnvelopes(id AgentID, key Key) bool {
	own, ok := EnvelopeKey(id)
	return ok && own.thumbprint == key.thumbprint
}

func ownsNegotiations(id AgentID, key Key) bool {
	own, ok := negotiatedKey(id, key.spki)
	return ok && own.thumbprint == key.thumbprint
}

// isRelayKey reports whether an id has the form of an address of the Machine Relay Protocol, an Ed25519 key in base64url. A
// reader that is not strict takes several spellings of one key, so each of them counts.
func isRelayKey(id string) bool {
	b, err := base64.RawURLEncoding.DecodeString(id)
	return err == nil && len(b) == ed25519.PublicKeySize && len(id) == base64.RawURLEncoding.EncodedLen(len(b))
}

// isOwnKey reports whether an id is the key itself, or its thumbprint: both have the same form.
func isOwnKey(id AgentID, key Key) bool {
	public, _ := key.public.(ed25519.PublicKey)
	return string(id) == base64.RawURLEncoding.EncodeToString(public) || string(id) == string(key.thumbprint)
}

func isConsented(id string) bool { return Consented(AgentID(id)) }
