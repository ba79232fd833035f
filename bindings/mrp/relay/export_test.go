package relay

import (
	"context"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// Swept deletes expired records once.
func (r *Relay) Swept(ctx context.Context) { r.sweepOnce(ctx) }

// Cleaned deletes files without an owner once.
func (r *Relay) Cleaned(ctx context.Context) { r.cleanOnce(ctx) }

// Answering returns how many bytes of large responses are in progress.
func (r *Relay) Answering() int64 {
	r.answers.mu.Lock()
	defer r.answers.mu.Unlock()
	return r.answers.all
}

// Waiting returns how many polls of an agent are waiting.
func (r *Relay) Waiting(key wire.Key) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiters[key]
}

// HasSocket reports whether an agent has a WebSocket.
func (r *Relay) HasSocket(key wire.Key) bool { return r.hasSocket(key) }

// Post starts to post due messages without waiting for the next tick.
func (r *Relay) Post(ctx context.Context) { r.postDue(ctx) }

// Times are shorter times, for tests that would otherwise take long.
type Times struct{ Body, Blob, Write, MiB, Greet, Ping, Post time.Duration }

// Hurry sets the times of a relay. A time that is 0 keeps its default, except MiB.
func Hurry(t Times) func(*Options) {
	return func(o *Options) {
		o.times = usual
		o.times.mib = t.MiB
		for d, of := range map[*time.Duration]time.Duration{
			&o.times.body: t.Body, &o.times.blob: t.Blob, &o.times.write: t.Write, &o.times.greet: t.Greet,
			&o.times.ping: t.Ping, &o.times.pong: t.Ping, &o.times.post: t.Post,
		} {
			if of > 0 {
				*d = of
			}
		}
	}
}
