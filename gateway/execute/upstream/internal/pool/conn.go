package pool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Conn carries one request at a time. It is not safe for concurrent use.
type Conn struct {
	pool  *Pool
	conn  net.Conn
	raw   net.Conn // below TLS; conn itself without TLS
	peek  *peeker  // of raw; nil: not supported
	in    *bufio.Reader
	left  int64        // bytes of the head that may still be read
	out   bytes.Buffer // the head of the request, and a short body
	since time.Time    // idle

	stop    func() bool   // watching ctx
	method  string        // of the request under way
	writing chan struct{} // closed when the body has been written; nil: no body is being written
	used    bool          // by an earlier request

	answer Answer    // in progress
	fields [8]Field  // where its Header begins
	long   []byte    // a line of it that exceeds the buffer
	chunks io.Reader // its body, where that is chunked
	rest   int64     // remaining bytes of its body; -1: until the connection is closed
	ended  error     // how its body ended: io.EOF if it is complete; nil: it has not ended
	keeps  bool      // the service keeps the connection open after it
}

func newConn(p *Pool, conn, raw net.Conn) *Conn {
	c := &Conn{pool: p, conn: conn, raw: raw}
	c.in = bufio.NewReader(headBound{c})
	if tcp, ok := raw.(syscall.Conn); ok {
		if inside, err := tcp.SyscallConn(); err == nil {
			c.peek = newPeeker(inside)
		}
	}
	return c
}

// past is a deadline in the past.
var past = time.Unix(1, 0)

// watch makes every operation on the connection fail at a time, or when ctx ends earlier.
func (c *Conn) watch(ctx context.Context, until time.Time) {
	_ = c.raw.SetDeadline(until) // it fails only on closed connections, on which everything fails
	c.stop = func() bool { return true }
	if ctx.Done() != nil {
		c.stop = context.AfterFunc(ctx, func() { _ = c.raw.SetDeadline(past) })
	}
}

// plain reports whether the connection does without TLS.
func (c *Conn) plain() bool { return c.raw == c.conn }

// clean reports, without waiting, whether the peer has neither closed the connection nor sent anything after its last response.
func (c *Conn) clean() bool {
	if !c.plain() && c.used {
		// With this deadline TLS returns what it has already buffered and reads no more.
		if c.conn.SetReadDeadline(past) != nil {
			return false
		}
		var b [1]byte
		n, err := c.conn.Read(b[:])
		if timeout, ok := errors.AsType[net.Error](err); n > 0 || !ok || !timeout.Timeout() || c.conn.SetReadDeadline(time.Time{}) != nil {
			return false
		}
	}
	// After a handshake there may be TLS records without content.
	return c.peek == nil || c.peek.pristine(c.plain() || c.used)
}

// A Request is a request to send. Header holds no Host, Content-Length or Connection, and only valid field values (RFC 9110 5.5).
type Request struct {
	Method  string
	Target  []byte
	Header  Fields
	Body    []byte
	HasBody bool
}

// shortBody bounds a body that is written completely before the response is read.
const shortBody = 64 << 10

// ErrNotNow is returned by Send if the service has closed the connection, or has sent something unrequested.
var ErrNotNow = errors.New("the service closed the idle connection, or spoke on it unasked")

// Send sends a request. It calls admit right before it writes the first byte, and returns the error of admit unchanged. written reports
// whether a byte may have reached the service: never before admit has permitted it.
func (c *Conn) Send(r Request, admit func() error) (written bool, err error) {
	c.method, c.left = r.Method, c.pool.cfg.MaxHeader
	if err := c.head(r); err != nil {
		return false, err
	}
	beside := len(r.Body) > shortBody
	if !beside {
		c.out.Write(r.Body)
	}
	if !c.used && c.peek != nil && !c.peek.pristine(c.plain()) {
		return false, ErrNotNow
	}
	if err := admit(); err != nil {
		return false, err
	}
	n, err := c.conn.Write(c.out.Bytes())
	if err != nil {
		// Below TLS, part of a record may have gone out although nothing is reported as written.
		return n > 0 || !c.plain(), err
	}
	if beside {
		c.writing = make(chan struct{})
		go func(done chan struct{}) {
			defer close(done)
			_, _ = c.conn.Write(r.Body) // if it fails, no response arrives
		}(c.writing)
	}
	return true, nil
}

func (c *Conn) head(r Request) error {
	c.out.Reset()
	c.out.WriteString(r.Method)
	c.out.WriteString(" ")
	c.out.Write(r.Target)
	for _, s := range [...]string{" HTTP/1.1\r\nHost: ", c.pool.host, "\r\n"} {
		c.out.WriteString(s)
	}
	if r.HasBody || r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		c.out.WriteString("Content-Length: ")
		c.out.Write(strconv.AppendInt(c.out.AvailableBuffer(), int64(len(r.Body)), 10))
		c.out.WriteString("\r\n")
	}
	for _, field := range r.Header {
		if strings.ContainsAny(field.Name, "\r\n:") || strings.ContainsAny(field.Value, "\r\n") {
			return errRequest
		}
		for _, s := range [...]string{field.Name, ": ", field.Value, "\r\n"} {
			c.out.WriteString(s)
		}
	}
	c.out.WriteString("\r\n")
	return nil
}

// errRequest: Header violates the rules of Request. It quotes nothing.
var errRequest = errors.New("a header field cannot be sent")

// Release returns the connection to the pool. It is closed unless request and response are complete, and both sides keep it open.
func (c *Conn) Release() {
	reusable := c.reusable()
	if !c.stop() { // ctx has ended
		reusable = false
	}
	c.answer, c.fields, c.long, c.chunks, c.ended, c.used = Answer{}, [8]Field{}, nil, nil, nil, true
	if c.out.Cap() > 2*shortBody {
		c.out = bytes.Buffer{}
	}
	if !reusable || !c.pool.keep(c) {
		c.abandon()
	}
	<-c.pool.using
}

// reusable reports whether request and response are complete, and nothing arrived beyond.
func (c *Conn) reusable() bool {
	return errors.Is(c.ended, io.EOF) && c.keeps && c.written() && c.in.Buffered() == 0
}

// written reports whether nothing is being written.
func (c *Conn) written() bool {
	if c.writing == nil {
		return true
	}
	select {
	case <-c.writing:
		c.writing = nil
		return true
	default:
		return false
	}
}

// abandon closes the connection immediately, and waits until nothing uses the body any more.
func (c *Conn) abandon() {
	_ = c.raw.Close()
	if c.writing != nil {
		<-c.writing
	}
}

// close ends an idle connection, with TLS's notice.
func (c *Conn) close() { _ = c.conn.Close() }

const unbounded = -1

// A headBound is the reader of the buffer: the connection, up to the maximum length of the head.
type headBound struct{ c *Conn }

var errLongHead = errors.New("the head of the answer is too long")

func (h headBound) Read(p []byte) (int, error) {
	c := h.c
	if c.left == unbounded {
		return c.conn.Read(p)
	}
	if c.left == 0 {
		return 0, errLongHead
	}
	n, err := c.conn.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	return n, err
}

func hostHeader(host, port string) string {
	host, _, _ = strings.Cut(host, "%") // RFC 6874: a zone is meaningless to the peer
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" {
		return host
	}
	return host + ":" + port
}
