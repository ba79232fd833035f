package mrp

import (
	"context"
	"crypto/ed25519"
	"errors"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/internal/delay"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/client"
)

// A remote is the mailbox of an agent at a remote relay. Messages arrive over a WebSocket, or by polling if the relay does not support
// WebSockets. Only the relay vouches for the senders of messages.
type remote struct {
	client *client.Client
	come   chan wire.Message

	mu     sync.Mutex
	dealt  map[string]chan error // the results of messages in progress, by id: nil means done
	broken error                 // why no messages arrive; nil: messages arrive
	change chan struct{}         // closed when broken changes
}

// errAgain makes a message arrive again.
var errAgain = errors.New("the message was not handled")

// newRemote opens a mailbox. Messages arrive only after Run was called.
func newRemote(at string, private ed25519.PrivateKey, now func() time.Time) (*remote, error) {
	c, err := client.New(client.Options{
		Relay: at, Key: private, Now: now, UserAgent: "uimgate",
		AllowInsecure: true, // only the operator can configure the relay
	})
	if err != nil {
		return nil, err
	}
	return &remote{client: c, come: make(chan wire.Message), dealt: map[string]chan error{}, change: make(chan struct{})}, nil
}

// Run receives messages until ctx ends.
func (r *remote) Run(ctx context.Context) {
	defer r.client.Close()
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, longPause) {
		err := r.client.Listen(ctx, client.ListenOptions{Parallel: atOnce + inLine, State: r.state}, r.hand)
		if ctx.Err() != nil {
			return
		}
		r.state(err) // the relay refuses the agent, perhaps only for a time
		if delay.For(ctx, pause) != nil {
			return
		}
	}
}

// state records why no messages arrive; nil means that messages arrive.
func (r *remote) state(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = err
	close(r.change)
	r.change = make(chan struct{})
}

// hand passes a message to a caller of Next, and waits until Done or Again is called for the message. It returns nil after Done, errAgain
// after Again, and the error of ctx if ctx ends first.
func (r *remote) hand(ctx context.Context, m wire.Message) error {
	dealt := make(chan error, 1)
	r.mu.Lock()
	r.dealt[m.ID] = dealt
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.dealt, m.ID)
	}()
	select {
	case r.come <- m:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-dealt:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Next waits for one message. If the relay cannot be reached or refuses the agent while Next waits, Next returns the reason.
func (r *remote) Next(ctx context.Context, _ int) ([]relay.Arrival, error) {
	r.mu.Lock()
	change := r.change
	r.mu.Unlock()
	for {
		select {
		case m := <-r.come:
			return []relay.Arrival{{Message: m}}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-change:
		}
		r.mu.Lock()
		err := r.broken
		change = r.change
		r.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

// Send sends a message, with retries for about a minute.
func (r *remote) Send(ctx context.Context, s wire.Send) (wire.Receipt, error) {
	return r.client.Send(ctx, s)
}

// Update changes the profile.
func (r *remote) Update(ctx context.Context, c wire.Change) error {
	_, err := r.client.Update(ctx, c)
	return err
}

// Done makes the client acknowledge a message to the relay. It does not wait for the acknowledgement, and always returns nil.
func (r *remote) Done(_ context.Context, id string) error {
	r.deal(id, nil)
	return nil
}

// Again makes Next return a message again.
func (r *remote) Again(id string) { r.deal(id, errAgain) }

func (r *remote) deal(id string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if dealt := r.dealt[id]; dealt != nil {
		select {
		case dealt <- err:
		default:
		}
	}
}
