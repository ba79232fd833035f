package pool

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Conn is a connection that carries one request at a time. It is not safe for concurrent use.
type Conn struct {
	pool  *Pool
	conn  net.Conn
	raw   net.Conn // the connection below TLS; without TLS, equal to conn
	peek  *peeker  // peeker of raw; nil: not supported
	in    *bufio.Reader
	left  int64        // number of bytes that may still be read for the head
	out   bytes.Buffer // the head of the request, and a short body
	since time.Time    // start of the idle time

	stop    func() bool   // stops watching ctx
	method  string        // method of the request in progress
	writing chan struct{} // closed when the body has been written; nil: no body is being written
	used    bool          // whether an earlier request used the connection

	answer Answer    // current response
	fields [8]Field  // backing array of answer.Header
	long   []byte    // buffer for a line of the response that is longer than the buffer of in
	chunks io.Reader // reader of the body, if the body is chunked
	rest   int64     // number of remaining bytes of the body; -1: the body ends when the connection is closed
	ended  error     // error that ended the body: io.EOF if the body is complete; nil: the body has not ended
	keeps  bool      // whether the service keeps the connection open after the response
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

// plain reports whether the connection does not use TLS.
func (c *Conn) plain() bool { return c.raw == c.conn }

// clean reports whether the peer has neither closed the connection nor sent anything after its last response. It does not wait.
func (c *Conn) clean() bool {
	if !c.plain() && c.used {
		// With this deadline, TLS returns the data that it has already buffered, but does not read from the network.
		if c.conn.SetReadDeadline(past) != nil {
			return false
		}
		var b [1]byte
		n, err := c.conn.Read(b[:])
		if timeout, ok := errors.AsType[net.Error](err); n > 0 || !ok || !timeout.Timeout() || c.conn.SetReadDeadline(time.Time{}) != nil {
			return false
		}
	}
	// After a handshake, there may be TLS records without content.
	return c.peek == nil || c.peek.pristine(c.plain() || c.used)
}

// A Request is a request to send. Header must not contain Host, Content-Length or Connection, and its field values must be valid (RFC 9110
// 5.5).
type Request struct {
	Method  string
	Target  []byte
	Header  Fields
	Body    []byte
	HasBody bool
}

// shortBody is the maximum size, in bytes, of a body that is written completely before the response is read.
const shortBody = 64 << 10

// ErrNotNow means that the service has closed the connection, or has sent data without a request. Nothing was sent.
var ErrNotNow = errors.New("the service closed the idle connection, or sent data on it without a request")

// Send sends a request. It calls admit right before it writes the first byte. If admit returns an error, Send writes nothing and returns
// that error. written reports whether a byte may have reached the service.
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
		// With TLS, a part of a record may have been sent although Write reports 0 bytes.
		return n > 0 || !c.plain(), err
	}
	if beside {
		c.writing = make(chan struct{})
		go func(done chan struct{}) {
			defer close(done)
			_, _ = c.conn.Write(r.Body) // if this fails, reading the response fails, too
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

// errRequest means that Header violates the rules of Request. It does not quote the field.
var errRequest = errors.New("a header field cannot be sent")

// Release returns the connection to the pool. It closes the connection if request and response are not complete, if the service does not
// keep the connection open, or if the pool does not take it. The Conn must not be used afterwards.
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

// reusable reports whether the connection can carry another request: request and response are complete, and no further bytes have arrived.
func (c *Conn) reusable() bool {
	return errors.Is(c.ended, io.EOF) && c.keeps && c.written() && c.in.Buffered() == 0
}

// written reports whether no body is being written in the background. It does not wait.
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

// abandon closes the connection immediately, and waits until the body is no longer in use.
func (c *Conn) abandon() {
	_ = c.raw.Close()
	if c.writing != nil {
		<-c.writing
	}
}

// close closes an idle connection. With TLS, it sends close_notify.
func (c *Conn) close() { _ = c.conn.Close() }

const unbounded = -1

// A headBound reads from the connection. It returns errLongHead if a head is longer than the maximum.
type headBound struct{ c *Conn }

var errLongHead = errors.New("the head of the response is too long")

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
	host, _, _ = strings.Cut(host, "%") // RFC 6874: the zone has a meaning only on this machine
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == "" {
		return host
	}
	return host + ":" + port
}
