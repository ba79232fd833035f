package relay

import (
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// times limit how long the peer of a connection may take.
type times struct {
	body  time.Duration // for the body of a request, and for the rest of a frame that has begun
	blob  time.Duration // to send or receive a blob
	write time.Duration // to read a response or one frame
	mib   time.Duration // in addition for each MiB of a blob or a response, for slow connections
	greet time.Duration // for the first frame of a WebSocket
	ping  time.Duration // between two pings of a WebSocket
	pong  time.Duration // for the response to a ping
	post  time.Duration // for the response of a webhook
}

// usual are the default times. With them, a WebSocket ends after its peer has been silent for a minute.
var usual = times{
	body: 30 * time.Second, blob: 10 * time.Minute, write: 30 * time.Second, mib: 10 * time.Second, greet: wire.AuthWithin,
	ping: 30 * time.Second, pong: 30 * time.Second, post: wire.AuthWithin,
}

// with returns how long the transfer of a number of bytes may take: least, plus t.mib for each full MiB.
func (t times) with(least time.Duration, bytes int64) time.Duration {
	return least + time.Duration(max(bytes, 0)>>20)*t.mib
}
