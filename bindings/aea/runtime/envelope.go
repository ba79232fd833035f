package runtime

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
)

// An Envelope is an envelope with its context, as the mailbox and the connections exchange it.
type Envelope struct {
	wire.Envelope
	Context EnvelopeContext
}

// An EnvelopeContext names the connection on which an envelope arrived, or over which it must be sent. The EnvelopeContext never leaves the
// process. The other part of the framework's envelope context, the URI, is sent with the envelope.
type EnvelopeContext struct {
	ConnectionID wire.PublicID // zero: none
	// back receives the replies to an envelope that arrived through Port.ReceiveFrom. If it is nil, replies go to the peer with the address.
	back *Queue
	// peer is the queue of the peer that sent an envelope. It is closed when the peer leaves. nil: the connection has no such queue.
	peer *Queue
}

// Limits are the limits of a runtime. Each must be at least 1. InBox, OutBox and Reading are each also limited to a sixteenth of the
// agent's share of the memory that the process may use; all agents of the process have equal shares. Each agent always has space for one
// envelope.
type Limits struct {
	// InBox limits the envelopes that wait or are being processed, in bytes, and PerSender limits those of one sender. Each envelope counts
	// as at least 64 KiB, so these also limit the number of envelopes.
	InBox, PerSender int64
	// OutBox limits the queued envelopes, in bytes, and PerPeer limits those for one peer. Each envelope counts as at least 4 KiB. Relayed
	// envelopes take at most half of OutBox; PerPeer limits them separately, for one receiver and for one sender.
	OutBox, PerPeer int64
	// Reading limits the bytes of incomplete frames, not counting the first 64 KiB of each frame.
	Reading int64
	// Workers limits the envelopes that are processed concurrently.
	Workers int
	// Handler is how long the runtime waits for a handler of a skill that is not patient. 0 means 30 seconds.
	Handler time.Duration
	// Tasks limits the waiting tasks and behaviours, and TaskWorkers the running ones. If a limit is at least four, one
	// skill never uses all of it.
	Tasks, TaskWorkers int
	// Routes limits the peers whose last connection is remembered. A connection is remembered for RouteAge after the last envelope of the
	// peer.
	Routes   int
	RouteAge time.Duration
	// Errors limits the errors that are sent to one sender.
	Errors limit.Rate
	// Relay limits the envelopes that one sender may send to other agents.
	Relay     limit.Rate
	Dialogues dialogue.Limits
	// Drain limits how long a stopping runtime processes accepted envelopes, waits for tasks to end, and then sends queued envelopes. It
	// spends at most three seconds on the last step.
	Drain time.Duration
}

// DefaultLimits are the limits of a gateway. At any time, 64 small envelopes of one sender may wait or be processed, and
// 1024 of all senders together; 1024 small envelopes may be queued for one peer, and 16384 for all peers together.
var DefaultLimits = Limits{
	InBox: 64 << 20, PerSender: 4 << 20, OutBox: 64 << 20, PerPeer: 4 << 20, Reading: 64 << 20,
	Workers: 64, Handler: 30 * time.Second, Tasks: 256, TaskWorkers: 16,
	Routes: 16384, RouteAge: time.Hour, Errors: limit.Rate{Max: 10, Period: limit.Minute}, Relay: limit.Rate{Max: 600, Period: limit.Minute},
	Dialogues: dialogue.DefaultLimits,
	Drain:     20 * time.Second,
}

// within reduces the limits so that they fit into the memory of the runtime, in bytes.
func (l Limits) within(bytes int64) Limits {
	l.InBox, l.OutBox, l.Reading = min(l.InBox, bytes/16), min(l.OutBox, bytes/16), min(l.Reading, bytes/16)
	return l
}

// The minimum number of bytes that an envelope counts as. A received envelope counts as more than a sent one, because it will be processed.
const (
	minReceived = 64 << 10
	minSent     = 4 << 10
)

// weight returns the number of bytes that an envelope counts as: its size, or least if that is larger.
func weight(e wire.Envelope, least int64) int64 {
	return max(least, int64(len(e.Message)+len(e.To)+len(e.Sender)+len(e.URI)))
}
