// Package httpserver is the connection through which HTTP clients reach a skill. Like the framework's connection http_server, it exchanges
// messages with the skill, component to component: a request becomes a message of the http protocol to the skill, and the reply of the
// skill becomes the response. Without a reply within five seconds, the response is 408.
//
// The connection neither encrypts nor authenticates. Therefore it listens on the loopback address unless another address is configured.
package httpserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/connections/internal/socket"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/connlimit"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// ID is the public id of the connection. The connection must be added to a runtime with ConnectionOptions.Inside.
var ID = wire.PublicID{Author: "uimgate", Name: "http_server", Version: "1.0.0"}

const (
	// maxRequests limits the requests in progress. It is below the number of dialogues that a skill keeps open with one component.
	maxRequests = 32
	// maxBody limits the body of a request, in bytes, so that it fits into an envelope.
	maxBody = 1 << 20
	// replyTimeout is how long a skill may take, as in the framework.
	replyTimeout = 5 * time.Second
)

// Bounds limits the connections of clients.
type Bounds = socket.Bounds

// A Connection passes requests to one skill.
type Connection struct {
	*socket.Listener

	skill     wire.PublicID
	dialogues *dialogue.Dialogues
	places    chan struct{} // has a value for each request in progress

	mu      sync.Mutex
	waiting map[string]chan<- protocol.HTTPMessage // by the reference of the dialogue
}

// Listen opens the connection at host:port; the default host is the loopback address. Requests go to the given skill. Errors are those of
// the network.
func Listen(ctx context.Context, address string, skill wire.PublicID, b Bounds, now func() time.Time) (*Connection, error) {
	l, err := socket.Listen(ctx, address, b)
	if err != nil {
		return nil, err
	}
	return &Connection{
		skill: skill, Listener: l, dialogues: dialogue.New(ID.String(), dialogue.DefaultLimits, now), places: make(chan struct{}, maxRequests),
		waiting: map[string]chan<- protocol.HTTPMessage{},
	}, nil
}

// ID returns the public id of the connection.
func (c *Connection) ID() wire.PublicID { return ID }

// Confidential reports whether only this machine can connect.
func (c *Connection) Confidential() bool { return c.Local() }

// State returns the current state of the connection.
func (c *Connection) State() runtime.ConnectionState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return runtime.ConnectionState{Listening: c.Address(), Queued: len(c.waiting)}
}

// Run serves clients until ctx ends.
func (c *Connection) Run(ctx context.Context, port *runtime.Port) error {
	return c.ServeRequests(ctx, port, nil, func(w http.ResponseWriter, r *http.Request) { c.serve(w, r, port) })
}

// serve passes one request to the skill, and writes its reply.
func (c *Connection) serve(w http.ResponseWriter, r *http.Request, port *runtime.Port) {
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	default:
		port.Refused(errTooMany)
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), replyTimeout)
	defer cancel()
	body, done := port.Reader(ctx, http.MaxBytesReader(w, r.Body, maxBody))
	defer done()
	data, err := io.ReadAll(body)
	if err != nil {
		port.Refused(errBody)
		status := http.StatusBadRequest
		if _, long := errors.AsType[*http.MaxBytesError](err); long {
			status = http.StatusRequestEntityTooLarge
		}
		w.WriteHeader(status)
		return
	}
	reply, status := c.ask(ctx, r, data, port)
	if status != 0 {
		w.WriteHeader(status)
		return
	}
	connlimit.Of(r.Context()).Keep()
	for name, values := range reply.Header {
		if !hopByHop(name) {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(reply.Status)
	if _, err := w.Write(reply.Body); err != nil && r.Method != http.MethodHead {
		port.Dropped(1, err)
		return
	}
	port.Sent()
}

// Errors that operators see.
var (
	errTooMany = errors.New("too many requests are in progress")
	errBody    = errors.New("the body of a request cannot be read")
	errReply   = errors.New("a reply of the skill is not a response")
)

// ask sends a request to the skill, and waits for its reply. Without a reply, status is the status of the HTTP response; otherwise it is 0.
func (c *Connection) ask(ctx context.Context, r *http.Request, body []byte, port *runtime.Port) (reply protocol.HTTPMessage, status int) {
	url := *r.URL
	url.Scheme, url.Host = "http", r.Host
	d, e, err := c.dialogues.Start(protocol.HTTP.Specs[0], c.skill.String(), protocol.HTTPMessage{
		Performative: protocol.HTTPRequest, Method: strings.ToLower(r.Method), URL: url.String(), Header: r.Header, Body: body,
	})
	if err != nil {
		port.Refused(err)
		return reply, http.StatusBadRequest
	}
	replies, reference := make(chan protocol.HTTPMessage, 1), d.Label().StarterRef
	c.mu.Lock()
	c.waiting[reference] = replies
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.waiting, reference)
	}()
	if err := port.Receive(ctx, e); err != nil {
		return reply, http.StatusServiceUnavailable
	}
	select {
	case reply = <-replies:
		return reply, 0
	case <-ctx.Done():
		return reply, http.StatusRequestTimeout
	}
}

// Send passes a reply of the skill to the client that waits for it. The error is runtime.ErrNoPeer if the client no
// longer waits, and otherwise that of dialogue.Dialogues.Receive.
func (c *Connection) Send(e wire.Envelope) error {
	e.To = ID.String() // it may name another version of the connection
	turn, err := c.dialogues.Receive(e)
	if err != nil {
		return err
	}
	reply, ok := turn.Content.(protocol.HTTPMessage)
	if !ok || turn.Dialogue == nil || reply.Status < 200 || reply.Status > 999 {
		return errReply
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	reference := turn.Dialogue.Label().StarterRef
	replies := c.waiting[reference]
	if replies == nil {
		return runtime.ErrNoPeer
	}
	delete(c.waiting, reference)
	replies <- reply // it has space for one
	return nil
}

// hopByHop reports whether a header field concerns one connection only (RFC 9110 7.6.1), or the length that the server computes.
func hopByHop(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length":
		return true
	default:
		return false
	}
}
