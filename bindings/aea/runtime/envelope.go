package runtime

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
)

// An Envelope is what mailbox and connections hand each other.
type Envelope struct {
	wire.Envelope
	Context EnvelopeContext
}

// An EnvelopeContext has the connection that an envelope came by, or must leave by. It never leaves the process: the other half of what
// the framework calls the context of an envelope, its URI, is on the wire.
type EnvelopeContext struct {
	ConnectionID wire.PublicID // zero: none is named
	// back receives the answers to an envelope that came by Port.ReceiveFrom; nil: they go to the peer with the address.
	back *Queue
}

// Limits bound what a runtime holds and does. Each is at least 1. InBox, OutBox and Reading are each also bounded by a sixteenth of
// what the process may use of the machine's memory, shared among its agents, but there is always room for one envelope.
type Limits struct {
	// InBox bounds the envelopes that wait or are worked on, in bytes, and PerSender those of one sender. One counts as 64 KiB at
	// least, so these bound their number as well.
	InBox, PerSender int64
	// OutBox bounds the envelopes that wait to be sent, in bytes, and PerPeer those to one peer. One counts as 4 KiB at least. Those
	// that are relayed take at most half of OutBox; of them, PerPeer bounds those to one peer as well, and those of one sender.
	OutBox, PerPeer int64
	// Reading bounds what has come of frames that are not yet whole, beyond the first 64 KiB of each.
	Reading int64
	// Workers bounds the envelopes that are worked on at once.
	Workers int
	// Tasks bounds the tasks that wait, and TaskWorkers those that run.
	Tasks, TaskWorkers int
	// Routes bounds the peers whose last connection is remembered, for RouteAge since their last envelope.
	Routes   int
	RouteAge time.Duration
	// Errors bounds the errors that one sender is sent.
	Errors limit.Rate
	// Relay bounds the envelopes of one sender to other agents.
	Relay     limit.Rate
	Dialogues dialogue.Limits
	// Drain bounds how long the runtime, once it is to stop, works on what it has taken, and waits for tasks to end; then, for three
	// seconds, it waits for what was sent to leave.
	Drain time.Duration
}

// DefaultLimits are those of a gateway: a sender may have 64 small envelopes at once, and all together 1024; 1024 may wait for a
// peer, and 16384 for all.
var DefaultLimits = Limits{
	InBox: 64 << 20, PerSender: 4 << 20, OutBox: 64 << 20, PerPeer: 4 << 20, Reading: 64 << 20,
	Workers: 64, Tasks: 256, TaskWorkers: 16,
	Routes: 16384, RouteAge: time.Hour, Errors: limit.Rate{Max: 10, Period: limit.Minute}, Relay: limit.Rate{Max: 600, Period: limit.Minute},
	Dialogues: dialogue.DefaultLimits,
	Drain:     20 * time.Second,
}

// within bounds what is held by the memory of the process.
func (l Limits) within(bytes int64) Limits {
	l.InBox, l.OutBox, l.Reading = min(l.InBox, bytes/16), min(l.OutBox, bytes/16), min(l.Reading, bytes/16)
	return l
}

// What the smallest envelope counts for, in bytes: one that came will be worked on, one that is sent only waits.
const (
	minReceived = 64 << 10
	minSent     = 4 << 10
)

// weight is what an envelope counts for.
func weight(e wire.Envelope, least int64) int64 {
	return max(least, int64(len(e.Message)+len(e.To)+len(e.Sender)+len(e.URI)))
}
