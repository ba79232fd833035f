package relay

import (
	"context"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/uimgate/uimgate/bindings/mrp/wire"
	"github.com/uimgate/uimgate/store/mail"
)

// An inbox is what the sockets of one agent share: which message is on which of them.
type inbox struct {
	key wire.Key

	mu      sync.Mutex
	sockets map[*socket]int // how many messages are on each
	flying  map[string]*flight
}

// A flight is a message that was written to a socket and is not acknowledged.
type flight struct {
	mail.Message
	on *socket
	at time.Time
}

// enter joins the sockets of an agent, unless it has as many as it may.
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
		return nil, wire.Refuse(wire.RateLimited, "the agent has as many WebSockets as it may")
	}
	box.sockets[s] = 0
	return box, nil
}

// exit leaves. What was on the socket and not acknowledged goes to another one, or comes again.
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

// hangUp ends the sockets of an agent.
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
		go func() { _ = s.Close(websocket.StatusPolicyViolation, why) }() // it waits for the other side
	}
}

// claim takes messages for a socket: those that are on none.
func (b *inbox) claim(r *Relay, ctx context.Context, s *socket) ([]mail.Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room := inFlight - b.sockets[s]
	if room <= 0 {
		return nil, nil
	}
	if n := len(b.sockets); n > 1 { // the other one gets its share
		room = min(room, (inFlight+n-1)/n)
	}
	list, err := r.fresh(ctx, b.key, func(id string) bool { return b.flying[id] != nil }, room)
	for _, m := range list {
		b.flying[m.ID] = &flight{Message: m, on: s, at: r.now()}
		b.sockets[s]++
	}
	return list, err
}

// flight returns that of a message.
func (b *inbox) flight(id string) *flight {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.flying[id]
}

// land ends flights. It is called once their messages were delivered: until then they are not to be taken for new ones.
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

// old are the flights on a socket that have lasted so long that they count as delivered.
func (b *inbox) old(s *socket, now time.Time) (list []*flight) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.flying {
		if f.on == s && now.Sub(f.at) >= assumed {
			list = append(list, f)
		}
	}
	return list
}

// arrived notes that messages on sockets have reached the agent.
func (r *Relay) arrived(ctx context.Context, b *inbox, flights ...*flight) {
	var list []mail.Message
	for _, f := range flights {
		list = append(list, f.Message)
	}
	r.delivered(ctx, b.key, "socket", list)
	b.land(flights...)
	r.hub.wake(b.key) // there is room on the socket
}

// push writes messages to a socket, oldest first, as they come, until it ends. Everybody is asked now and then whether they are
// there; what a socket was written half a minute ago counts as delivered then.
func (r *Relay) push(ctx context.Context, box *inbox, s *socket) {
	woken, leave := r.hub.join(box.key)
	defer leave()
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		list, err := box.claim(r, ctx, s)
		for _, m := range list {
			out := messageOf(m)
			text, err := wire.AppendMessage(nil, &out)
			if err != nil || s.write(ctx, text) != nil {
				return
			}
		}
		if err == nil && len(list) > 0 {
			continue
		}
		select {
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
