package pool

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
)

// An Answer is the response to one request. It is valid until the connection is released.
type Answer struct {
	Status int
	// Length is the announced length of the body, in bytes; -1: not announced. For HEAD, it is the length that the response to GET would have.
	Length int64
	Header Fields // the fields in Config.Keep, in the order of the response
	// Body reads the body from the connection. It returns io.EOF only if the body is complete.
	Body io.Reader
}

// Answer reads the head of the response. It skips informational responses, except 101, after which the connection cannot be used again.
func (c *Conn) Answer() (*Answer, error) {
	for {
		h, err := c.readHead()
		if err != nil {
			return nil, fromEOF(err)
		}
		switch {
		case h.status >= 200 || h.status == http.StatusSwitchingProtocols:
			c.begin(&h)
			return &c.answer, nil
		case h.chunked || h.length > 0: // otherwise the bytes of the body would be read as the response
			return nil, errInterim
		}
	}
}

// errInterim means that an informational response announces a body, which it must not have. See RFC 9110, section 15.2.
var errInterim = errors.New("an informational response announces a body")

// begin prepares the connection for reading the body after a head. See RFC 9112, section 6.3.
func (c *Conn) begin(h *head) {
	c.answer = Answer{Status: h.status, Length: h.length, Header: h.fields, Body: (*body)(c)}
	c.keeps = h.status >= 200 && !h.closes && (!h.old || h.keepsAlive) && (!h.chunked || h.length < 0)
	c.left = unbounded
	switch {
	case c.method == http.MethodHead:
		c.ended = io.EOF
	case h.status < 200 || h.status == http.StatusNoContent || h.status == http.StatusNotModified:
		c.answer.Length, c.ended = 0, io.EOF
		// A service that announces a body with status 204 may send it later: RFC 9112 6.1 and 6.2.
		c.keeps = c.keeps && (h.status != http.StatusNoContent || !h.chunked && h.length <= 0)
	case h.chunked:
		c.answer.Length, c.chunks = -1, httputil.NewChunkedReader(c.in)
	case h.length == 0:
		c.ended = io.EOF
	case h.length < 0: // the body ends when the connection is closed
		c.keeps = false
	}
	c.rest = c.answer.Length
}

// A body reads the body of a response from its Conn.
type body Conn

func (b *body) Read(p []byte) (n int, err error) {
	if b.ended == nil {
		n, b.ended = (*Conn)(b).readBody(p)
	}
	return n, b.ended
}

func (c *Conn) readBody(p []byte) (n int, err error) {
	if c.chunks != nil {
		if n, err = c.chunks.Read(p); errors.Is(err, io.EOF) {
			return n, c.readTrailer()
		}
		return n, err
	}
	if c.rest < 0 {
		return c.in.Read(p)
	}
	n, err = c.in.Read(p[:min(int64(len(p)), c.rest)])
	if c.rest -= int64(n); c.rest == 0 {
		return n, io.EOF
	}
	return n, fromEOF(err)
}

// maxTrailer is the maximum size of the trailer after the last chunk, in bytes.
const maxTrailer = 4 << 10

var errTrailer = errors.New("the trailer of the response is malformed, too long, or contains fields that are not permitted there")

// readTrailer reads and discards the fields after the last chunk. It returns io.EOF if the trailer is complete. See RFC 9112, section
// 7.1.2.
func (c *Conn) readTrailer() error {
	c.left = maxTrailer
	for size := 0; ; {
		line, end, err := c.line()
		if err != nil {
			return fromEOF(err)
		}
		if size += len(line) + len(end); end != "\r\n" || size > maxTrailer {
			return errTrailer
		}
		if len(line) == 0 {
			return io.EOF
		}
		if _, _, err := fieldOf(line); err != nil {
			return errTrailer
		}
	}
}

// line reads one line. It returns the line without its ending, and the ending, which is CRLF or LF. The line is valid until the next read.
func (c *Conn) line() (line []byte, end string, err error) {
	line, err = c.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		c.long = c.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			c.long = append(c.long, line...)
			line, err = c.in.ReadSlice('\n')
		}
		c.long = append(c.long, line...)
		line = c.long
	}
	if err != nil {
		return nil, "", err
	}
	if n := len(line) - 2; n >= 0 && line[n] == '\r' {
		return line[:n], "\r\n", nil
	}
	return line[:len(line)-1], "\n", nil
}

// fromEOF converts io.EOF into io.ErrUnexpectedEOF. It returns all other errors unchanged.
func fromEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
