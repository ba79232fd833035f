package relay

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"sync"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// Evidence is a request as its sender signed it. It proves to an agent in this process that the request was signed with the sender's key.
type Evidence struct {
	Method    string `json:"method"`
	Target    string `json:"target"`
	Timestamp string `json:"timestamp"`
	Signature string `json:"signature"`
	Body      []byte `json:"body"`
}

// evidence returns the encoded Evidence of a call, or nil if the recipient is not an agent in this process.
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

// Verify returns the authentication and the message of the request if the signature is valid. It does not check the time. The error is a
// *wire.Error.
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

// A Local is an agent in the same process as its relay. It needs neither the network nor signatures.
type Local struct {
	relay *Relay
	key   wire.Key

	mu    sync.Mutex
	taken map[string]bool // ids of messages that Next has returned, until Done or Again is called
}

// Local returns the agent of this process that has the key, and creates it in the store if it is new.
func (r *Relay) Local(ctx context.Context, key wire.Key) (*Local, error) {
	r.mu.Lock()
	r.locals[key] = true
	r.mu.Unlock()
	guard := mail.Guard{Key: key, Signed: r.now(), Until: r.now()}
	_, _ = rand.Read(guard.Signature[:]) // never fails; no request has this signature
	if _, _, err := r.store.Admit(ctx, guard, touch); err != nil {
		return nil, err
	}
	return &Local{relay: r, key: key, taken: map[string]bool{}}, nil
}

// Update changes the agent's profile. If the new capabilities cannot be encoded, the error is a *wire.Error.
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

// Send sends a message. If the relay refuses it, the error is a *wire.Error.
func (l *Local) Send(ctx context.Context, s wire.Send) (wire.Receipt, error) {
	s.ContentType = cmp.Or(s.ContentType, wire.TypeJSON)
	s.ExpiresIn = cmp.Or(s.ExpiresIn, int64(wire.DefaultExpiry.Seconds()))
	receipt, _, refused := l.relay.take(ctx, l.key, s, nil, nil)
	if refused != nil {
		return wire.Receipt{}, refused
	}
	l.relay.meter.messages.WithLabelValues("local").Inc()
	return receipt, nil
}

// An Arrival is a received message. Evidence is the signed request that carried the message, or nil if that request was not stored.
type Arrival struct {
	wire.Message
	Evidence *Evidence
}

// Next waits for undelivered messages, and returns at most limit of them, oldest first. It returns a message a second time only after
// Again, or if the process restarts before Done is called. It returns an error if ctx ends or the relay shuts down.
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

// take returns at most limit waiting messages that are not taken, and marks them as taken. Unlike Next, it does not wait.
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
			break // the rest is left to the next call
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

// maxTaken is the maximum size in bytes of the messages that Next returns in one call. A single message may exceed it.
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

// Done records that a message has been handled, so that Next does not return it again.
func (l *Local) Done(ctx context.Context, id string) error {
	if err := l.relay.store.Delivered(ctx, l.key, []string{id}); err != nil {
		return err
	}
	l.relay.meter.delivered.WithLabelValues("local").Inc()
	l.Again(id)
	return nil
}

// Again makes Next return a message again, unless Done has been called for it.
func (l *Local) Again(id string) {
	l.mu.Lock()
	delete(l.taken, id)
	l.mu.Unlock()
}

// Suspend suspends an agent and closes its WebSockets, or lifts the suspension.
func (r *Relay) Suspend(ctx context.Context, key wire.Key, suspended bool) error {
	if err := r.store.Suspend(ctx, key, suspended); err != nil {
		return err
	}
	if suspended {
		r.hangUp(key, "the agent is suspended")
	}
	return nil
}
