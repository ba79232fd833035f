// Package httpclient is the connection through which skills send requests to HTTP servers, for example to the webhook of an agent. Like the
// framework's connection http_client, it exchanges messages with skills, component to component: a skill sends a request of the protocol
// http to ID, and receives the response, or the status 600 if there is no response.
//
// Servers are not trusted: only https is used, addresses of private networks are refused, and redirects are not followed.
package httpclient

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/fetch"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// ID is the public id of the connection. The connection must be added to a runtime with ConnectionOptions.Inside.
var ID = wire.PublicID{Author: "uimgate", Name: "http_client", Version: "1.0.0"}

const (
	// workers limits the requests in progress.
	workers = 8
	// maxBody limits the body of a response, so that the response fits into an envelope.
	maxBody = 1 << 20
	// statusFailed and textFailed are sent if there is no response, as in the framework.
	statusFailed = 600
	textFailed   = "HTTPConnection request error."
)

// A Connection sends requests to servers.
type Connection struct {
	client    *fetch.Client
	dialogues *dialogue.Dialogues

	out runtime.SendQueue
}

// New returns a connection that sends requests with client.
func New(client *fetch.Client, now func() time.Time) *Connection {
	return &Connection{client: client, dialogues: dialogue.New(ID.String(), dialogue.DefaultLimits, now)}
}

// ID returns the public id of the connection.
func (c *Connection) ID() wire.PublicID { return ID }

// Confidential returns true: the response stays inside the process.
func (c *Connection) Confidential() bool { return true }

// State returns the current state of the connection.
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
		working.Go(func() {
			port.Deliver(ctx, queue, func(ctx context.Context, e wire.Envelope) error { return c.exchange(ctx, e, port) })
		})
	}
	working.Wait()
	c.out.Close(port, runtime.ErrDown)
	return nil
}

// exchange sends a skill's request to a server, and passes the response to the skill. It returns an error if the request is invalid or
// the runtime does not accept the response. If the server fails, the response has statusFailed.
func (c *Connection) exchange(ctx context.Context, e wire.Envelope, port *runtime.Port) error {
	named := e.To // may name another version of the connection; the reply must come from that id
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
		response.Status, response.StatusText = answer.Status, http.StatusText(answer.Status)
		response.Header, response.Body = answer.Header, answer.Body
	}
	back, err := turn.Dialogue.Reply(turn.Message.ID, response)
	if err != nil {
		return err
	}
	back.Sender = named
	return port.Receive(ctx, back)
}
