package runtime

import (
	"context"

	"github.com/uimgate/uimgate/internal/wire/aea/identity"
)

// A DecisionMaker signs for handlers: only it has the key of the agent. It does not decide about agreements and calls; the skill leaves
// these decisions to the pipeline of the gateway.
type DecisionMaker interface {
	// Address returns the address of the agent.
	Address() string
	// PublicKey returns the agent's key in the ledger's encoding.
	PublicKey() identity.PublicKey
	// Sign signs a message so that identity.PublicKey.Verify accepts it.
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
