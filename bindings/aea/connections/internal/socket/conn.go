package socket

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/connlimit"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// A Conn is a connection that carries frames. One goroutine may read, and any number may write.
type Conn struct {
	net.Conn
	framing wire.FrameFormat
	bounds  Bounds
	port    *runtime.Port
	r       *bufio.Reader
	writing sync.Mutex
}

// NewConn returns a Conn for an accepted connection, and starts the time for the greeting.
func (l *Listener) NewConn(ctx context.Context, c net.Conn, f wire.FrameFormat, port *runtime.Port) *Conn {
	_ = c.SetDeadline(until(ctx, l.Bounds.Greeting))
	return &Conn{Conn: c, framing: f, bounds: l.Bounds, port: port, r: bufio.NewReader(c)}
}

// Keep records that the agent has just proved its address or sent an envelope. See connlimit.Conn.Keep.
func (c *Conn) Keep() {
	raw := c.Conn
	if secure, ok := raw.(interface{ NetConn() net.Conn }); ok { // TLS
		raw = secure.NetConn()
	}
	if accepted, ok := raw.(*connlimit.Conn); ok {
		accepted.Keep()
	}
}

// Greeted ends the greeting: after it, the connection may be idle.
func (c *Conn) Greeted() { _ = c.SetDeadline(time.Time{}) }

// until returns the time after d, or the deadline of ctx if it is earlier.
func until(ctx context.Context, d time.Duration) time.Time {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	at, _ := ctx.Deadline()
	return at
}

// Greet reads the first frame, of at most maxBytes bytes, within the time for the greeting.
func (c *Conn) Greet(maxBytes int) ([]byte, error) {
	return c.framing.Read(io.LimitReader(c.r, int64(maxBytes)+4))
}

// maxSkipped is the maximum length in bytes of a frame that Read skips because the frame is too long.
const maxSkipped = 64 << 20

// Read waits without a deadline for a frame to begin, and then reads it. The caller must call done when it no longer uses the frame, even
// after an error. skipped reports that an error concerns only this frame, and the next one can be read: after wire.ErrEmptyFrame, and
// after a wire.LongFrameError of at most maxSkipped.
func (c *Conn) Read(ctx context.Context) (frame []byte, done func(), skipped bool, err error) {
	if _, err := c.r.Peek(1); err != nil {
		return nil, func() {}, false, err
	}
	at := until(ctx, c.bounds.Frame)
	ctx, cancel := context.WithDeadline(ctx, at)
	defer cancel()
	_ = c.SetReadDeadline(at)
	defer func() { _ = c.SetReadDeadline(time.Time{}) }()
	r, done := c.port.Reader(ctx, c.r)
	frame, err = c.framing.Read(r)
	if long, ok := errors.AsType[wire.LongFrameError](err); ok && long <= maxSkipped {
		_, ended := io.CopyN(io.Discard, c.r, int64(long))
		return nil, done, ended == nil, err
	}
	return frame, done, errors.Is(err, wire.ErrEmptyFrame), err
}

// IsEnd reports whether an error means that one side closed the connection between two frames.
func IsEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET)
}

// Write writes one frame within Bounds.Write. After an error, the connection must not be written to.
func (c *Conn) Write(ctx context.Context, content []byte) error {
	frame, err := c.framing.Append(nil, content)
	if err != nil {
		return err
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.SetWriteDeadline(until(ctx, c.bounds.Write))
	_, err = c.Conn.Write(frame)
	return err
}

// Answer is like Write, but within the time for the greeting.
func (c *Conn) Answer(content []byte) error {
	frame, err := c.framing.Append(nil, content)
	if err == nil {
		_, err = c.Conn.Write(frame)
	}
	return err
}
