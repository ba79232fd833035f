package pool

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Errors of an invalid head. They do not quote the head.
var (
	errStatusLine = errors.New("the response does not start with a status line of HTTP/1")
	errField      = errors.New("the head of the response has a malformed field")
	errLength     = errors.New("the Content-Length of the response is invalid, or there are several")
	errCoding     = errors.New("the Transfer-Encoding of the response is not chunked, or its HTTP version does not permit it")
)

// A head is the parsed head of a response.
type head struct {
	status  int
	old     bool   // HTTP/1.0
	fields  Fields // the kept fields
	length  int64  // Content-Length; -1: none
	digits  int    // number of digits of Content-Length
	codings int    // number of Transfer-Encoding fields
	chunked bool
	trailer bool // the Trailer field announces fields that frame a message
	// The Connection field contains close, or keep-alive, which HTTP/1.0 requires for persistent connections.
	closes, keepsAlive bool
}

// readHead reads a status line, header fields and the empty line after them. See RFC 9112, sections 4 and 5. It accepts lines that end with
// LF alone (2.2), but rejects fields that continue on the next line.
func (c *Conn) readHead() (head, error) {
	h := head{length: -1, fields: c.fields[:0]}
	line, _, err := c.line()
	if err != nil {
		return h, err
	}
	if err := h.statusLine(line); err != nil {
		return h, err
	}
	for {
		line, _, err := c.line()
		if err != nil {
			return h, err
		}
		if len(line) == 0 {
			return h, h.check()
		}
		name, value, err := fieldOf(line)
		if err != nil {
			return h, err
		}
		if err := h.add(name, value, c.pool.cfg.Keep); err != nil {
			return h, err
		}
	}
}

// statusLine parses a line such as "HTTP/1.1 200 OK". The reason phrase and the space before it may be missing.
func (h *head) statusLine(line []byte) error {
	const version, code, end = len("HTTP/1."), len("HTTP/1.1 "), len("HTTP/1.1 200")
	if len(line) < end || string(line[:version]) != "HTTP/1." || line[version] < '0' || line[version] > '9' || line[code-1] != ' ' ||
		len(line) > end && line[end] != ' ' || !isText(line) {
		return errStatusLine
	}
	status, err := strconv.ParseUint(string(line[code:end]), 10, 16)
	if err != nil || status < 100 {
		return errStatusLine
	}
	h.status, h.old = int(status), line[version] == '0'
	return nil
}

// add interprets a header field that determines the length of the body or the use of the connection, and keeps a field that is in keep.
func (h *head) add(name, value []byte, keep []string) error {
	switch {
	case is(name, "Content-Length"):
		n, err := strconv.ParseUint(string(value), 10, 63)
		if err != nil || h.length >= 0 && (h.length != int64(n) || h.digits != len(value)) {
			return errLength
		}
		h.length, h.digits = int64(n), len(value)
	case is(name, "Transfer-Encoding"):
		h.codings++
		h.chunked = is(value, "chunked")
	case is(name, "Connection"):
		h.closes = h.closes || lists(value, "close")
		h.keepsAlive = h.keepsAlive || lists(value, "keep-alive")
	case is(name, "Trailer"):
		h.trailer = h.trailer || lists(value, "Content-Length") || lists(value, "Transfer-Encoding") || lists(value, "Trailer")
	default:
		for _, kept := range keep {
			if is(name, kept) {
				h.fields = append(h.fields, Field{kept, text(value)})
			}
		}
	}
	return nil
}

// check checks the fields for consistency. It accepts a response with both Content-Length and chunks: the chunks determine the length, and
// begin closes the connection afterwards. It rejects chunks in HTTP/1.0. See RFC 9112, section 6.1.
func (h *head) check() error {
	switch {
	case h.codings > 1, h.codings == 1 && (!h.chunked || h.old):
		return errCoding
	case h.chunked && h.trailer: // RFC 9110 6.5.1
		return errTrailer
	default:
		return nil
	}
}

// fieldOf parses a field line: a token, a colon, and a value without control characters.
func fieldOf(line []byte) (name, value []byte, err error) {
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(name) == 0 || !isText(value) {
		return nil, nil, errField
	}
	for _, b := range name {
		if !httpguts.IsTokenRune(rune(b)) {
			return nil, nil, errField
		}
	}
	return name, bytes.Trim(value, " \t"), nil
}

// isText reports whether a value contains no control characters except tabs. See RFC 9110, section 5.5.
func isText(s []byte) bool {
	for _, b := range s {
		if b < ' ' && b != '\t' || b == 0x7f {
			return false
		}
	}
	return true
}

// is reports whether s equals an ASCII string, ignoring case. Because the lengths must be equal, no letter outside ASCII can match.
func is(s []byte, ascii string) bool {
	return len(s) == len(ascii) && strings.EqualFold(string(s), ascii)
}

// lists reports whether a comma-separated list contains a token.
func lists(list []byte, token string) bool {
	for one := range bytes.SplitSeq(list, []byte(",")) {
		if is(bytes.Trim(one, " \t"), token) {
			return true
		}
	}
	return false
}

// text converts a value into a string. It does not allocate for the most common media type.
func text(value []byte) string {
	const usual = "application/json"
	if string(value) == usual {
		return usual
	}
	return string(value)
}
