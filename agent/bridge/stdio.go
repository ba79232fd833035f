package bridge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uimgate/uimgate/internal/lines"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxMessage = 4 << 20 // bytes of one line
	// Limits of the requests that have no response yet; the SDK does not limit them.
	maxWaiting      = 1000
	maxWaitingBytes = 64 << 20
	// drain is how long calls in progress may still be answered after the host has closed stdin. A host that waits for less time sends a
	// signal, which ends the process immediately.
	drain = 10 * time.Second
)

// A stdio is a transport of one JSON-RPC message per line. See MCP 2026-07-28, basic/transports/stdio. The transport of the SDK ends at the
// first line that is not a message; this one responds with an error and continues.
type stdio struct {
	in  io.Reader
	out io.Writer
}

// Connect implements mcp.Transport.
func (t stdio) Connect(context.Context) (mcp.Connection, error) {
	c := &lineConn{
		out: t.out, unanswered: map[jsonrpc.ID]int{}, cancelled: map[jsonrpc.ID]bool{},
		incoming: make(chan line), closed: make(chan struct{}), idle: make(chan struct{}, 1),
	}
	go c.read(t.in)
	return c, nil
}

// A line is one message, or the error that ends the input.
type line struct {
	message jsonrpc.Message
	err     error
}

type lineConn struct {
	incoming chan line
	closed   chan struct{}
	once     sync.Once

	mu         sync.Mutex // guards out and all following fields
	out        io.Writer
	unanswered map[jsonrpc.ID]int  // size in bytes of each request without a response
	cancelled  map[jsonrpc.ID]bool // requests that the host has cancelled
	held       int                 // total size in bytes of the requests without a response
	waiting    bool                // awaitAnswers waits until unanswered is empty
	idle       chan struct{}       // has a value after unanswered has become empty
}

// read passes the messages of the input to Read until the input or the connection ends. At the end of the input, read calls awaitAnswers
// before it passes io.EOF.
func (c *lineConn) read(in io.Reader) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		text, err := lines.Read(r, maxMessage)
		switch {
		case errors.Is(err, lines.ErrTooLong):
			c.refuse(jsonrpc.CodeInvalidRequest, fmt.Sprintf("a message must not exceed %d bytes", maxMessage))
			continue
		case err != nil:
			c.awaitAnswers()
			c.hand(line{err: io.EOF})
			return
		case len(bytes.TrimSpace(text)) == 0:
			continue
		}
		message, err := decode(text)
		if err != nil {
			if code, ok := errors.AsType[*jsonrpc.Error](err); ok {
				c.refuse(code.Code, code.Message)
			}
			continue
		}
		switch request, _ := message.(*jsonrpc.Request); {
		case request == nil:
		case request.IsCall():
			if refused := c.take(request.ID, len(text)); refused != nil {
				_ = c.write(refused)
				continue
			}
		case request.Method == "notifications/cancelled":
			c.cancel(request.Params)
		}
		if !c.hand(line{message: message}) {
			return
		}
	}
}

// hand passes a line to Read; it returns false once the connection is closed.
func (c *lineConn) hand(l line) bool {
	select {
	case c.incoming <- l:
		return true
	case <-c.closed:
		return false
	}
}

// decode parses one message. It rejects batches and deeply nested messages.
func decode(text []byte) (jsonrpc.Message, error) {
	if _, err := strictjson.DecodeObject(text); err != nil {
		what := "this is not a JSON-RPC message: " + oneLine(err.Error(), maxNote)
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: what}
	}
	message, err := jsonrpc.DecodeMessage(text)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: oneLine(err.Error(), maxNote)}
	}
	return message, nil
}

// Read implements mcp.Connection.
func (c *lineConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case l := <-c.incoming:
		return l.message, l.err
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write implements mcp.Connection. It drops the response to a request that the host has cancelled. See MCP 2026-07-28,
// basic/patterns/cancellation.
func (c *lineConn) Write(_ context.Context, m jsonrpc.Message) error {
	answer, ok := m.(*jsonrpc.Response)
	if ok && c.isCancelled(answer.ID) {
		c.answered(answer.ID)
		return nil
	}
	err := c.write(m)
	if ok {
		c.answered(answer.ID)
	}
	return err
}

// cancel records that the host has cancelled a request. It ignores a request that is unknown or already answered.
func (c *lineConn) cancel(params json.RawMessage) {
	var named struct {
		RequestID any `json:"requestId"`
	}
	if json.Unmarshal(params, &named) != nil {
		return
	}
	id, err := jsonrpc.MakeID(named.RequestID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, waits := c.unanswered[id]; err == nil && waits {
		c.cancelled[id] = true
	}
}

func (c *lineConn) isCancelled(id jsonrpc.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cancelled[id]
}

func (c *lineConn) write(m jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	return c.send(text)
}

func (c *lineConn) send(text []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.out.Write(append(text, '\n'))
	return err
}

// refuse sends an error response without an id.
func (c *lineConn) refuse(code int64, message string) {
	_ = c.send(withoutID(code, message)) // the next Write reports a broken output
}

// withoutID encodes an error response without an id.
func withoutID(code int64, message string) []byte {
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": message},
	})
	if err != nil { // strings can always be encoded
		return nil
	}
	return text
}

// take counts a request and its bytes. If there are too many requests, or another request with this id has no response yet, take
// returns an error response. The response to a repeated id has no id: with the id, the host would take it for the response to the
// other request.
func (c *lineConn) take(id jsonrpc.ID, size int) *jsonrpc.Response {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, used := c.unanswered[id]; used {
		return &jsonrpc.Response{Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInvalidRequest, Message: "another request with this id has no response yet",
		}}
	}
	if len(c.unanswered) >= maxWaiting || c.held+size > maxWaitingBytes {
		return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "too many requests have no response yet: this one was not processed",
		}}
	}
	c.unanswered[id] = size
	c.held += size
	return nil
}

func (c *lineConn) answered(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held -= c.unanswered[id]
	delete(c.cancelled, id)
	if delete(c.unanswered, id); c.waiting && len(c.unanswered) == 0 {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
}

// awaitAnswers waits until every request has its response, but at most for drain.
func (c *lineConn) awaitAnswers() {
	c.mu.Lock()
	c.waiting = true
	left := len(c.unanswered)
	c.mu.Unlock()
	if left == 0 {
		return
	}
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-c.idle:
	case <-c.closed:
	case <-timer.C:
	}
}

// Close implements mcp.Connection.
func (c *lineConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

// SessionID implements mcp.Connection: over stdio there is none.
func (c *lineConn) SessionID() string { return "" }
