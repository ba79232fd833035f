package relay

import (
	"context"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// Swept deletes what is past its time, once.
func (r *Relay) Swept(ctx context.Context) { r.sweepOnce(ctx) }

// Cleaned deletes what is left over, once.
func (r *Relay) Cleaned(ctx context.Context) { r.cleanOnce(ctx) }

// Answering is how many bytes of large answers are being written.
func (r *Relay) Answering() int64 {
	r.answers.mu.Lock()
	defer r.answers.mu.Unlock()
	return r.answers.all
}

// Waiting is how many polls of an agent wait.
func (r *Relay) Waiting(key wire.Key) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiters[key]
}

// HasSocket reports whether an agent has a WebSocket.
func (r *Relay) HasSocket(key wire.Key) bool { return r.hasSocket(key) }

// Post begins to post what is due, without waiting for the next second.
func (r *Relay) Post(ctx context.Context) { r.postDue(ctx) }

// Times are those of Options, for tests that would wait for long.
type Times struct{ Body, Blob, Write, MiB, Greet, Ping, Post time.Duration }

// Hurry has a relay wait as long as this; 0 stays as it is, but for MiB.
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
