package mrp

import (
	"context"
	"crypto/ed25519"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// A mailbox receives and sends the messages of an agent at a relay. It is safe for concurrent use. *relay.Local and *remote implement it.
type mailbox interface {
	// Update changes the agent's profile.
	Update(ctx context.Context, c wire.Change) error
	// Next waits for messages, and returns at most limit, oldest first. It returns a message a second time only if Again is called for
	// it, or if the process restarts before Done is called.
	Next(ctx context.Context, limit int) ([]relay.Arrival, error)
	// Send sends a message. If the relay refuses it, the error is a *wire.Error.
	Send(ctx context.Context, s wire.Send) (wire.Receipt, error)
	// Done records that a message has been handled.
	Done(ctx context.Context, id string) error
	// Again makes Next return a message again.
	Again(id string)
}

// mailbox opens the mailbox of a key at a relay, which is LocalRelay or a URL. It returns ErrNoRelay if at is LocalRelay and this process
// runs no relay.
func (d *Door) mailbox(ctx context.Context, at string, private ed25519.PrivateKey) (mailbox, error) {
	if at != LocalRelay {
		return newRemote(at, private, d.Now)
	}
	if d.relay == nil {
		return nil, ErrNoRelay
	}
	return d.relay.Relay().Local(ctx, wire.KeyOf(private))
}
