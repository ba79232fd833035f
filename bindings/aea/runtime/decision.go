package runtime

import (
	"context"

	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// A DecisionMaker is what handlers ask for what they may not do themselves: it alone holds the key of the agent. What decides
// about agreements and calls is the pipeline of the gateway; the skill that asks for that names an interface of its own, of which
// this one is the part that every agent has.
type DecisionMaker interface {
	// Address is that of the agent.
	Address() string
	// PublicKey returns the agent's key as its ledger writes it.
	PublicKey() identity.PublicKey
	// Sign signs a message as identity.PublicKey.Verify reads it.
	Sign(ctx context.Context, message []byte) (signature string, err error)
}

// NewDecisionMaker returns the DecisionMaker of an agent whose key is in this process.
func NewDecisionMaker(key identity.Key, ledger identity.Ledger) DecisionMaker {
	return keeper{key, ledger}
}

type keeper struct {
	key    identity.Key
	ledger identity.Ledger
}

func (k keeper) Address() string               { return k.PublicKey().Address() }
func (k keeper) PublicKey() identity.PublicKey { return k.key.Public(k.ledger) }

func (k keeper) Sign(_ context.Context, message []byte) (string, error) {
	signature := k.key.Sign(k.ledger, message)
	if signature == "" {
		return "", identity.ErrKey
	}
	return signature, nil
}
