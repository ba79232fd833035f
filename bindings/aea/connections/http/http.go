// Package http is the connection that skills use for requests to HTTP servers, component to component, like the framework's connection
// http_client: for example to the webhook or the HTTP server of an agent. A skill sends a request of the protocol http to the
// connection's ID, and receives the response, or the status 600 if there is none.
//
// Servers are not trusted: only https is used, addresses of private networks are refused, and redirects are not followed.
package http

import (
	"context"
	nethttp "net/http"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/fetch"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// ID names the connection. It is added to a runtime with ConnectionOptions.Inside.
var ID = wire.PublicID{Author: "uimgate", Name: "http", Version: "1.0.0"}

const (
	// workers bounds the requests in progress.
	workers = 8
	// maxBody bounds the body of a response, so that it fits into an envelope.
	maxBody = 1 << 20
	// statusFailed is the status without a response, and textFailed its text, as in the framework.
	statusFailed = 600
	textFailed   = "HTTPConnection request error."
)

// A Connection sends requests to servers.
type Connection struct {
	client    *fetch.Client
	dialogues *dialogue.Dialogues

	out runtime.SendQueue
}

// New returns a connection that uses this client.
func New(client *fetch.Client, now func() time.Time) *Connection {
	return &Connection{client: client, dialogues: dialogue.New(ID.String(), dialogue.DefaultLimits, now)}
}

// ID is the package's ID.
func (c *Connection) ID() wire.PublicID { return ID }

// Confidential returns true: the response stays inside the process.
func (c *Connection) Confidential() bool { return true }

// State returns the present state of the connection.
func (c *Connection) State() runtime.ConnectionState {
	queued, _ := c.out.Len()
	return runtime.ConnectionState{Queued: queued}
}

// Send queues a request. Errors are runtime.ErrFull and runtime.ErrDown.
func (c *Connection) Send(e wire.Envelope) error { return c.out.Put(e) }

// Run sends requests until ctx ends.
func (c *Connection) Run(ctx context.Context, port *runtime.Port) error {
	queue := c.out.Open(port)
	var working sync.WaitGroup
	for range workers {
		working.Go(func() { c.work(ctx, queue, port) })
	}
	working.Wait()
	c.out.Close(port, runtime.ErrDown)
	return nil
}

func (c *Connection) work(ctx context.Context, queue *runtime.Queue, port *runtime.Port) {
	for {
		e, done, err := queue.Take(ctx)
		if err != nil {
			return
		}
		if err = c.exchange(ctx, e, port); err != nil {
			port.Dropped(1, err)
		} else {
			port.Sent()
		}
		done()
	}
}

// exchange sends a skill's request to a server, and passes the response to the skill. An error concerns the request, not the server.
func (c *Connection) exchange(ctx context.Context, e wire.Envelope, port *runtime.Port) error {
	named := e.To // a skill may name another version, and identifies the dialogue by it
	e.To = ID.String()
	turn, err := c.dialogues.Receive(e)
	if err != nil {
		return err
	}
	request, ok := turn.Content.(protocol.HTTPMessage)
	if !ok {
		return protocol.ErrUnhandled
	}
	response := protocol.HTTPMessage{Performative: protocol.HTTPResponse, Status: statusFailed, StatusText: textFailed}
	answer, err := c.client.Do(ctx, fetch.Request{
		Method: request.Method, URL: request.URL, Header: request.Header, Body: request.Body, Max: maxBody,
	})
	if err != nil {
		port.Failed(err)
	} else {
		response.Status, response.StatusText = answer.Status, nethttp.StatusText(answer.Status)
		response.Header, response.Body = answer.Header, answer.Body
	}
	back, err := turn.Dialogue.Reply(turn.Message.ID, response)
	if err != nil {
		return err
	}
	back.Sender = named
	return port.Receive(ctx, back)
}
