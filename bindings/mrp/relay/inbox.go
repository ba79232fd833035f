package relay

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coder/websocket"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// An inbox records which message is in flight on which socket of one agent.
type inbox struct {
	key wire.Key

	claiming sync.Mutex // one claim at a time; unlike mu, it is held while the store is read

	mu      sync.Mutex
	sockets map[*socket]int // the number of messages in flight on each socket
	flying  map[string]*flight
}

// A flight is an unacknowledged message on a socket. It does not contain the message itself, because otherwise agents that do not read
// would fill the memory.
type flight struct {
	mail.WaitingMessage
	on *socket
	at time.Time // when the message was written; zero: not yet
}

// enter adds a socket to the inbox of its agent, and returns the inbox. It returns an error if the agent already has the maximum number of
// sockets.
func (r *Relay) enter(s *socket) (*inbox, *wire.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	box := r.sockets[s.key]
	if box == nil {
		box = &inbox{key: s.key, sockets: map[*socket]int{}, flying: map[string]*flight{}}
		r.sockets[s.key] = box
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	if len(box.sockets) >= r.limits.Sockets {
		return nil, wire.Refuse(wire.RateLimited, "the agent has the maximum number of WebSockets: close one first")
	}
	box.sockets[s] = 0
	return box, nil
}

// exit removes a socket. The unacknowledged messages of the socket can then be claimed again.
func (r *Relay) exit(box *inbox, s *socket) {
	r.mu.Lock()
	box.mu.Lock()
	delete(box.sockets, s)
	for id, f := range box.flying {
		if f.on == s {
			delete(box.flying, id)
		}
	}
	if len(box.sockets) == 0 {
		delete(r.sockets, box.key)
	}
	box.mu.Unlock()
	r.mu.Unlock()
	r.hub.wake(box.key)
}

func (r *Relay) hasSocket(key wire.Key) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sockets[key] != nil
}

// hangUp closes the sockets of an agent.
func (r *Relay) hangUp(key wire.Key, why string) {
	r.mu.Lock()
	box := r.sockets[key]
	r.mu.Unlock()
	if box == nil {
		return
	}
	box.mu.Lock()
	defer box.mu.Unlock()
	for s := range box.sockets {
		go func() { _ = s.Close(websocket.StatusPolicyViolation, why) }() // Close waits for the peer
	}
}

// claim claims messages for a socket. It skips messages that are already in flight on a socket.
func (b *inbox) claim(r *Relay, ctx context.Context, s *socket) (list []*flight, _ error) {
	b.claiming.Lock()
	defer b.claiming.Unlock()
	room := b.room(s)
	if room <= 0 {
		return nil, nil
	}
	fresh, err := r.fresh(ctx, b.key, func(id string) bool { return b.flight(id) != nil }, room)
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range fresh {
		f := &flight{WaitingMessage: w, on: s}
		list = append(list, f)
		b.flying[w.ID] = f
		b.sockets[s]++
	}
	return list, err
}

// room returns how many more messages may be in flight on a socket.
func (b *inbox) room(s *socket) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	room := inFlight - b.sockets[s]
	if n := len(b.sockets); n > 1 { // leave a share to each of the other sockets
		room = min(room, (inFlight+n-1)/n)
	}
	return room
}

// flight returns the flight of a message, or nil.
func (b *inbox) flight(id string) *flight {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.flying[id]
}

// land ends flights, so that their messages can be claimed again. Delivered messages must be stored as delivered before land is called.
func (b *inbox) land(ended ...*flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range ended {
		if b.flying[f.ID] != f {
			continue
		}
		delete(b.flying, f.ID)
		if _, open := b.sockets[f.on]; open {
			b.sockets[f.on]--
		}
	}
}

// wrote records that the message of a flight was written.
func (b *inbox) wrote(f *flight, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f.at = now
}

// old returns the flights on a socket that count as delivered because of their age.
func (b *inbox) old(s *socket, now time.Time) (list []*flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.flying {
		if f.on == s && !f.at.IsZero() && now.Sub(f.at) >= assumed {
			list = append(list, f)
		}
	}
	return list
}

// arrived records that messages have reached the agent.
func (r *Relay) arrived(ctx context.Context, b *inbox, flights ...*flight) {
	ids := make([]string, len(flights))
	for i, f := range flights {
		ids[i] = f.ID
	}
	r.delivered(ctx, b.key, "socket", ids)
	b.land(flights...)
	r.hub.wake(b.key) // the socket has space for more messages
}

// push writes messages to a socket, oldest first, until the socket ends. It also records old flights as delivered, and pings the agent at
// regular intervals. It returns if the agent does not respond, is suspended or has been deleted.
func (r *Relay) push(ctx context.Context, box *inbox, s *socket) {
	woken, leave := r.hub.join(box.key)
	defer leave()
	ping := time.NewTicker(s.times.ping)
	defer ping.Stop()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		list, err := box.claim(r, ctx, s)
		for i, f := range list {
			if err = r.bring(ctx, box, s, f); err != nil {
				box.land(list[i:]...)
				break
			}
		}
		switch {
		case errors.Is(err, errUnwritten):
			return
		case err == nil && len(list) > 0:
			continue
		}
		select { // after an error, the loop tries again at the next tick of look
		case <-woken:
		case <-look.C:
			if old := box.old(s, r.now()); len(old) > 0 {
				r.arrived(ctx, box, old...)
			}
		case <-ping.C:
			if s.alive(ctx) != nil || r.active(ctx, box.key) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// errUnwritten means that a socket can no longer be written to.
var errUnwritten = errors.New("the message could not be written")

// bring writes the message of a flight, unless the message was delivered or deleted in the meantime. While the message is written, it
// counts against the memory budget. If the budget is exhausted, bring returns an error, and push tries again later.
func (r *Relay) bring(ctx context.Context, box *inbox, s *socket, f *flight) error {
	share := r.budget.Open()
	defer share.Close()
	share.Known()
	if err := share.Take(2 * f.Size); err != nil { // the message, and its frame
		return err
	}
	m, err := r.store.Message(ctx, f.ID)
	switch {
	case errors.Is(err, mail.ErrNotFound) || err == nil && m.Status != mail.Sent:
		box.land(f)
		return nil
	case err != nil:
		return err
	}
	out := messageOf(m)
	text, err := wire.AppendMessage(nil, &out)
	if err != nil {
		return err
	}
	if s.write(ctx, text) != nil {
		return errUnwritten
	}
	box.wrote(f, r.now())
	return nil
}
