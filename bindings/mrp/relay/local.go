package relay

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// Evidence is a request as its sender signed it: what proves, to an agent in this process, that the sender's key asked for it.
type Evidence struct {
	Method    string `json:"method"`
	Target    string `json:"target"`
	Timestamp string `json:"timestamp"`
	Signature string `json:"signature"`
	Body      []byte `json:"body"`
}

// evidence is kept with messages to agents in this process alone.
func (r *Relay) evidence(c *call, recipient wire.Key) []byte {
	r.mu.Lock()
	local := r.locals[recipient]
	r.mu.Unlock()
	if !local {
		return nil
	}
	text, err := json.Marshal(Evidence{c.Method, c.target, c.auth.Timestamp, c.auth.Signature.String(), c.body})
	if err != nil {
		return nil
	}
	return text
}

// Verify returns the message that a sender signed, if it did: its request, and what that sends.
func (e Evidence) Verify(sender wire.Key) (wire.Auth, wire.Send, error) {
	a, refused := wire.NewAuth(sender.String(), e.Timestamp, e.Signature)
	if refused == nil {
		refused = a.Verify(e.Method, e.Target, wire.Sum(e.Body))
	}
	if refused != nil {
		return wire.Auth{}, wire.Send{}, refused
	}
	s, refused := wire.ReadSend(e.Body)
	if refused != nil {
		return wire.Auth{}, wire.Send{}, refused
	}
	return a, s, nil
}

// A Local is an agent in the process of its relay, which needs no network and no signature.
type Local struct {
	relay *Relay
	key   wire.Key

	mu    sync.Mutex
	taken map[string]bool // messages that Next has returned, until Done or Again
}

// Local makes an agent of this process, or takes it up again.
func (r *Relay) Local(ctx context.Context, key wire.Key) (*Local, error) {
	r.mu.Lock()
	r.locals[key] = true
	r.mu.Unlock()
	guard := mail.Guard{Key: key, Signed: r.now(), Until: r.now()}
	_, _ = rand.Read(guard.Signature[:]) // it never fails; no request has this signature
	if _, _, err := r.store.Admit(ctx, guard, touch); err != nil {
		return nil, err
	}
	return &Local{relay: r, key: key, taken: map[string]bool{}}, nil
}

// Update changes the agent's profile.
func (l *Local) Update(ctx context.Context, change wire.Change) error {
	a, err := l.relay.store.Agent(ctx, l.key)
	if err != nil {
		return err
	}
	p, refused := recordOf(a, change)
	if refused != nil {
		return refused
	}
	_, err = l.relay.update(ctx, l.key, p)
	return err
}

// Send sends a message; the error may be a *wire.Error.
func (l *Local) Send(ctx context.Context, s wire.Send) (wire.Receipt, error) {
	if s.ContentType == "" {
		s.ContentType = wire.TypeJSON
	}
	if s.ExpiresIn == 0 {
		s.ExpiresIn = int64(wire.DefaultExpiry.Seconds())
	}
	receipt, _, refused := l.relay.take(ctx, l.key, s, nil, nil)
	if refused != nil {
		return wire.Receipt{}, refused
	}
	l.relay.meter.messages.WithLabelValues("local").Inc()
	return receipt, nil
}

// An Arrival is a message that has come, and the request of its sender where this relay took it.
type Arrival struct {
	wire.Message
	Evidence *Evidence
}

// Next waits for messages that have not been delivered, oldest first, and returns at most limit that it has not returned before.
// Those that Done is not called for come again when the process starts anew.
func (l *Local) Next(ctx context.Context, limit int) ([]Arrival, error) {
	woken, leave := l.relay.hub.join(l.key)
	defer leave()
	for {
		list, err := l.take(ctx, limit)
		if err != nil || len(list) > 0 {
			return arrivals(list), err
		}
		select {
		case <-woken:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-l.relay.stop:
			return nil, errDraining
		}
	}
}

// take returns what waits and was not taken yet, and takes it.
func (l *Local) take(ctx context.Context, limit int) (list []mail.Message, _ error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fresh, err := l.relay.fresh(ctx, l.key, func(id string) bool { return l.taken[id] }, limit)
	if err != nil {
		return nil, err
	}
	var bytes int64
	for _, w := range fresh {
		if bytes += w.Size; bytes > maxTaken && len(list) > 0 {
			break // the rest is for the next time
		}
		m, err := l.relay.store.Message(ctx, w.ID)
		switch {
		case errors.Is(err, mail.ErrNotFound) || err == nil && m.Status != mail.Sent:
			continue
		case err != nil && len(list) == 0:
			return nil, err
		case err != nil:
			return list, nil
		}
		l.taken[m.ID] = true
		list = append(list, m)
	}
	return list, nil
}

// maxTaken bounds what Next returns at once, in bytes, but for one message.
const maxTaken = 8 << 20

func arrivals(list []mail.Message) []Arrival {
	out := make([]Arrival, len(list))
	for i, m := range list {
		out[i].Message = messageOf(m)
		if m.Signed != nil {
			var e Evidence
			if json.Unmarshal(m.Signed, &e) == nil {
				out[i].Evidence = &e
			}
		}
	}
	return out
}

// Done notes that a message has been dealt with: it does not come again.
func (l *Local) Done(ctx context.Context, id string) error {
	if err := l.relay.store.Delivered(ctx, l.key, []string{id}); err != nil {
		return err
	}
	l.relay.meter.delivered.WithLabelValues("local").Inc()
	l.Again(id)
	return nil
}

// Again has Next return a message once more, unless it is done.
func (l *Local) Again(id string) {
	l.mu.Lock()
	delete(l.taken, id)
	l.mu.Unlock()
}

// Suspend has an agent refused, with what it has open, or taken again.
func (r *Relay) Suspend(ctx context.Context, key wire.Key, suspended bool) error {
	if err := r.store.Suspend(ctx, key, suspended); err != nil {
		return err
	}
	if suspended {
		r.hangUp(key, "the agent is suspended")
	}
	return nil
}
