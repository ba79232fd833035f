package runtime

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
)

// An Envelope is what the mailbox and the connections exchange.
type Envelope struct {
	wire.Envelope
	Context EnvelopeContext
}

// An EnvelopeContext names the connection that an envelope arrived on, or must leave by. It never leaves the process: the other half of
// the framework's envelope context, its URI, is on the wire.
type EnvelopeContext struct {
	ConnectionID wire.PublicID // zero: none
	// back receives the replies to an envelope that arrived by Port.ReceiveFrom; nil: they go to the peer with the address.
	back *Queue
}

// Limits bound the resources of a runtime. Each is at least 1. InBox, OutBox and Reading are also each bounded by a sixteenth of the
// memory that the process may use, shared among its agents, but there is always space for one envelope.
type Limits struct {
	// InBox bounds the envelopes that wait or are being processed, in bytes, and PerSender those of one sender. Each counts as at least
	// 64 KiB, so these also bound their number.
	InBox, PerSender int64
	// OutBox bounds the queued envelopes, in bytes, and PerPeer those to one peer. Each counts as at least 4 KiB. Relayed envelopes take
	// at most half of OutBox; PerPeer also bounds those to one peer and those of one sender.
	OutBox, PerPeer int64
	// Reading bounds the bytes of incomplete frames, beyond the first 64 KiB of each.
	Reading int64
	// Workers bounds the envelopes that are processed concurrently.
	Workers int
	// Tasks bounds the waiting tasks, and TaskWorkers the running ones.
	Tasks, TaskWorkers int
	// Routes bounds the peers whose last connection is remembered, for RouteAge since their last envelope.
	Routes   int
	RouteAge time.Duration
	// Errors bounds the errors sent to one sender.
	Errors limit.Rate
	// Relay bounds the envelopes of one sender to other agents.
	Relay     limit.Rate
	Dialogues dialogue.Limits
	// Drain bounds how long a stopping runtime processes accepted envelopes and waits for tasks to end; then it waits up to three seconds
	// until queued envelopes have been sent.
	Drain time.Duration
}

// DefaultLimits are the limits of a gateway: at a time, a sender may have 64 small envelopes, and all senders together 1024; 1024 may be
// queued for one peer, and 16384 for all.
var DefaultLimits = Limits{
	InBox: 64 << 20, PerSender: 4 << 20, OutBox: 64 << 20, PerPeer: 4 << 20, Reading: 64 << 20,
	Workers: 64, Tasks: 256, TaskWorkers: 16,
	Routes: 16384, RouteAge: time.Hour, Errors: limit.Rate{Max: 10, Period: limit.Minute}, Relay: limit.Rate{Max: 600, Period: limit.Minute},
	Dialogues: dialogue.DefaultLimits,
	Drain:     20 * time.Second,
}

// within bounds the limits by the memory of the process.
func (l Limits) within(bytes int64) Limits {
	l.InBox, l.OutBox, l.Reading = min(l.InBox, bytes/16), min(l.OutBox, bytes/16), min(l.Reading, bytes/16)
	return l
}

// What the smallest envelope counts for, in bytes: a received one will be processed, a sent one only waits.
const (
	minReceived = 64 << 10
	minSent     = 4 << 10
)

// weight returns what an envelope counts for, in bytes.
func weight(e wire.Envelope, least int64) int64 {
	return max(least, int64(len(e.Message)+len(e.To)+len(e.Sender)+len(e.URI)))
}
