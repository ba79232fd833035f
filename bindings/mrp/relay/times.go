package relay

import (
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// times are how long the other end of a connection may take for what it does.
type times struct {
	body  time.Duration // for the body of a request to come, and for the rest of a frame that has begun
	blob  time.Duration // for a blob to come, or to go
	write time.Duration // for an answer or one frame to go
	mib   time.Duration // for each MiB of a blob or an answer, besides: a large one goes over a slow line as well
	greet time.Duration // for the first frame of a WebSocket
	ping  time.Duration // between two pings of a WebSocket
	pong  time.Duration // for the answer to one
	post  time.Duration // for the answer of a webhook
}

// usual are the times of a relay: a silence of a minute ends a WebSocket.
var usual = times{
	body: 30 * time.Second, blob: 10 * time.Minute, write: 30 * time.Second, mib: 10 * time.Second, greet: wire.AuthWithin,
	ping: 30 * time.Second, pong: 30 * time.Second, post: wire.AuthWithin,
}

// with is how long what has so many bytes may take, where the smallest may take as long as least.
func (t times) with(least time.Duration, bytes int64) time.Duration {
	return least + time.Duration(max(bytes, 0)>>20)*t.mib
}
