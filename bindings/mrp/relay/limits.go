package relay

import (
	"cmp"

	"github.com/uimgate/uimgate/internal/limit"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// Limits restrict the use of a relay. The pages of the protocol state the limits of one agent, except Others, Waiters and Frames.
type Limits struct {
	Sends  int // messages per minute
	Polls  int // polls per minute
	Others int // all other signed requests, per minute

	Sockets int // concurrent WebSockets of one agent
	Waiters int // concurrent long polls of one agent
	// Frames limits the frames per minute that have no effect, on all sockets of one agent: frames that are neither messages within Sends
	// nor acknowledgements. A large frame counts as several.
	Frames int

	Blob      int64 // bytes of one blob
	Blobs     int64 // blobs of one agent
	BlobBytes int64 // bytes of all blobs of one agent
	AllBlobs  int64 // bytes of the blobs of all agents

	Intake     int64 // bytes of uploads in progress, which have no owner yet
	IntakeEach int64 // bytes of uploads in progress from one client address

	Answers     int64 // bytes of large responses in progress
	AnswersEach int64 // bytes of large responses in progress to one client address

	Waiting  int64 // messages that wait for one agent
	Unknown  int64 // messages that wait for a key without an agent
	Messages int64 // stored messages
	Bytes    int64 // bytes of all stored messages

	AllSockets int // concurrent WebSockets of all agents

	// UnknownSenders limits the requests from one client address, and Newcomers limits the agents that these requests create.
	UnknownSenders, Newcomers limit.Rate
}

// DefaultLimits returns the limits of a relay whose operator sets none.
func DefaultLimits() Limits {
	return Limits{
		Sends: 30, Polls: 120, Others: 300, Sockets: 2, Waiters: 4, Frames: 3_000,
		Blob: wire.MaxBlob, Blobs: 100, BlobBytes: 1 << 30, AllBlobs: 10 << 30, Intake: 4 << 30, IntakeEach: 512 << 20,
		Answers: 128 << 20, AnswersEach: 32 << 20,
		Waiting: 10_000, Unknown: 1_000, Messages: 20_000_000, Bytes: 20 << 30, AllSockets: 10_000,
		UnknownSenders: limit.Rate{Max: 3_000, Period: "minute"}, Newcomers: limit.Rate{Max: 60, Period: "hour"},
	}
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	return Limits{
		Sends: cmp.Or(l.Sends, d.Sends), Polls: cmp.Or(l.Polls, d.Polls), Others: cmp.Or(l.Others, d.Others),
		Sockets: cmp.Or(l.Sockets, d.Sockets), Waiters: cmp.Or(l.Waiters, d.Waiters),
		Frames: cmp.Or(l.Frames, d.Frames),
		Blob:   cmp.Or(l.Blob, d.Blob), Blobs: cmp.Or(l.Blobs, d.Blobs), BlobBytes: cmp.Or(l.BlobBytes, d.BlobBytes),
		AllBlobs: cmp.Or(l.AllBlobs, d.AllBlobs), Waiting: cmp.Or(l.Waiting, d.Waiting), Unknown: cmp.Or(l.Unknown, d.Unknown),
		Intake: cmp.Or(l.Intake, d.Intake), IntakeEach: cmp.Or(l.IntakeEach, d.IntakeEach),
		Answers: cmp.Or(l.Answers, d.Answers), AnswersEach: cmp.Or(l.AnswersEach, d.AnswersEach),
		Messages: cmp.Or(l.Messages, d.Messages), Bytes: cmp.Or(l.Bytes, d.Bytes), AllSockets: cmp.Or(l.AllSockets, d.AllSockets),
		UnknownSenders: cmp.Or(l.UnknownSenders, d.UnknownSenders), Newcomers: cmp.Or(l.Newcomers, d.Newcomers),
	}
}
