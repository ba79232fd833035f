package runtime

import (
	"errors"
	"sync/atomic"

	"github.com/uimgate/uimgate/internal/ratelimit"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// A relay passes on messages between agents on connections with the option Relay, without reading the messages. It keeps nothing for an
// agent that is not connected.
type relay struct {
	m         *Multiplexer
	perSender *ratelimit.Set
	// tell sends an error to the sender of an envelope, and reports whether the error was sent.
	tell func(Envelope, wire.Message) bool

	relayed, undelivered, held atomic.Uint64
}

// A RelayStatus counts envelopes between agents. It does not count envelopes whose receiver is not connected: they are in
// Status.Unserved, and their sender is notified.
type RelayStatus struct {
	Relayed     uint64 `json:"relayed"`     // queued for the receiver
	Undelivered uint64 `json:"undelivered"` // the queue of the receiver, or the share of the sender, was full
	Held        uint64 `json:"held"`        // the sender exceeded Limits.Relay
}

// pass relays an envelope from a connection that authenticates its sender. If the sender exceeds its limit, or the receiver is connected
// but cannot get the envelope now, pass notifies the sender and returns nil. Errors are ErrStopped, and ErrNoPeer if the receiver is not
// connected; the connection must then notify the sender.
func (r *relay) pass(from *Port, e wire.Envelope) error {
	if r.m.box.InBox.stopped() {
		return ErrStopped
	}
	r.m.routes.set(e.Sender, from.connection.ID(), r.m.now())
	if !r.perSender.Admit(e.Sender, r.m.now()) {
		r.held.Add(1)
		r.refuse(from, e, "The gateway currently relays no more messages from this sender.")
		return nil
	}
	switch err := r.send(e); {
	case err == nil:
		r.relayed.Add(1)
	case errors.Is(err, ErrNoPeer), errors.Is(err, ErrDown):
		r.m.unserved.Add(1)
		return ErrNoPeer
	default:
		r.undelivered.Add(1)
		r.refuse(from, e, "The receiver currently accepts no more messages.")
	}
	return nil
}

// send queues an envelope for its receiver: first at the connection of the receiver's last envelope, then at others. It uses only
// relaying connections, because on others anyone can claim the address of the receiver.
func (r *relay) send(e wire.Envelope) error {
	heard := r.m.routes.get(e.To, r.m.now())
	err := ErrNoPeer
	for _, last := range []bool{true, false} {
		for _, p := range r.m.relaying() {
			if (p.connection.ID() == heard) != last || !p.up.Load() {
				continue
			}
			if err = p.connection.Send(e); !errors.Is(err, ErrNoPeer) {
				return err
			}
		}
	}
	return err
}

// refuse sends an error with the given text to the sender of e, because e is not delivered. The error names the dialogue of e.
func (r *relay) refuse(from *Port, e wire.Envelope, text string) {
	of := Envelope{e, EnvelopeContext{ConnectionID: from.connection.ID()}}
	if mayBeFinal(of) {
		return
	}
	message := protocol.DefaultMessage{Performative: protocol.DefaultError, Code: protocol.CodeInvalidDialogue, Text: text}
	if m, err := wire.DecodeMessage(e.Message); err == nil {
		message.Data = map[string][]byte{"dialogue": []byte(m.StarterRef)}
	}
	of.To = r.m.address
	r.tell(of, wire.Message{ID: 1, Content: message.Encode()})
}

// status returns the counts, or nil if no connection relays.
func (r *relay) status() *RelayStatus {
	if len(r.m.relaying()) == 0 {
		return nil
	}
	return &RelayStatus{Relayed: r.relayed.Load(), Undelivered: r.undelivered.Load(), Held: r.held.Load()}
}

// relaying returns the ports of the connections that relay.
func (m *Multiplexer) relaying() (ports []*Port) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, p := range m.ports {
		if p.options.Relay {
			ports = append(ports, p)
		}
	}
	return ports
}
