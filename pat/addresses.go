package pat

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/pat/keys"
)

// mayHold checks that key may use id. It returns an *AgentIDTakenError if id has the form of a consent, or is an address that does not
// belong to key. All other errors are those of the store. An address belongs to the key that it encodes, and to any key to which the
// operator has assigned it, in the configuration or in the record of the agent.
func (i *Issuer) mayHold(ctx context.Context, id AgentID, key keys.Key) error {
	if Consented(id) { // such an id never belongs to a key, and the operator cannot assign it
		return idTaken(id, key.Thumbprint())
	}
	at := slices.IndexFunc(i.forms, func(f Form) bool { return f.IsAddress(string(id)) })
	if at < 0 || i.forms[at].Owns(id, key) {
		return nil
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

// reserved returns the only keys that may have id, if key is one of them: the keys in the configuration, or the key that an address
// encodes. Otherwise it returns nil.
func (i *Issuer) reserved(id AgentID, key keys.Key) []keys.ID {
	if reserved := i.verifier.c.Reserved[id]; len(reserved) > 0 {
		return reserved // key is one of them, because admit refuses all others
	}
	for _, f := range i.forms {
		if f.IsAddress(string(id)) && f.Owns(id, key) {
			return []keys.ID{key.Thumbprint()}
		}
	}
	return nil
}
