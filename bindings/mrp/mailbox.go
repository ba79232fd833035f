package mrp

import (
	"context"
	"crypto/ed25519"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// A mailbox is an agent's place at a relay. It is safe for concurrent use. *relay.Local is one.
type mailbox interface {
	// Update changes the agent's profile.
	Update(ctx context.Context, c wire.Change) error
	// Next waits for messages, and returns at most limit, oldest first. It returns no message twice, unless Again is called for it, or
	// the process restarts before Done was called.
	Next(ctx context.Context, limit int) ([]relay.Arrival, error)
	// Send sends a message. The error may be a *wire.Error: what the relay refuses.
	Send(ctx context.Context, s wire.Send) (wire.Receipt, error)
	// Done records that a message has been processed.
	Done(ctx context.Context, id string) error
	// Again makes Next return a message once more.
	Again(id string)
}

// mailbox opens the mailbox of a key.
func (d *Door) mailbox(ctx context.Context, at string, private ed25519.PrivateKey) (mailbox, error) {
	if at != LocalRelay {
		return newRemote(at, private, d.Now)
	}
	if d.relay == nil {
		return nil, ErrNoRelay
	}
	return d.relay.Relay().Local(ctx, wire.KeyOf(private))
}
