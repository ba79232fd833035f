// Package mailbox is the connection for agents that poll for their envelopes over HTTPS. Agents use the framework's connection
// p2p_libp2p_mailbox. An agent registers as in package delegate, and gets a token:
//
//	GET  /ssl_signature   the node's proof that the certificate is its own
//	POST /register        an acn.Record: 200 and the token, 400, 429 after too many registrations, or 503 if the node shuts down
//	POST /send_envelope   an envelope: 200, 400 if it is invalid, or 503 if the node cannot queue it in time
//	GET  /get_envelope    200 with an envelope, or with an empty body
//	GET  /unregister      200
//
// The last three require the token in the Session-Id header. Without a valid token, they return 400. An agent reconnects after any status
// other than 200. The node keeps the queued envelopes of an agent while the agent polls, even if the agent registers again. The node drops
// them ten minutes after the agent's last request.
package mailbox

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/connections/internal/socket"
	"github.com/uimgate/uimgate/bindings/aea/node"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/connlimit"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/acn"
)

// ID is the public id of the connection.
var ID = wire.PublicID{Author: "uimgate", Name: "mailbox", Version: "1.0.0"}

const (
	// patience is how long an envelope waits for space in the InBox.
	patience = 4 * time.Second
	// maxRecord is the maximum length in bytes of a registration, which contains eight strings.
	maxRecord = 8 * (acn.MaxText + 4)
)

// Bounds limits the agents' connections.
type Bounds = socket.Bounds

// A Connection listens for agents.
type Connection struct {
	*socket.Listener

	node     *node.Node
	sessions *sessions
	asking   *socket.RegistrationLimit
}

// Listen opens the connection at host:port; the default host is the loopback address. Errors are those of the network.
func Listen(ctx context.Context, address string, n *node.Node, b Bounds, now func() time.Time) (*Connection, error) {
	l, err := socket.Listen(ctx, address, b)
	if err != nil {
		return nil, err
	}
	return &Connection{node: n, Listener: l, sessions: newSessions(now), asking: socket.NewRegistering(now)}, nil
}

// ID returns the public id of the connection.
func (c *Connection) ID() wire.PublicID { return ID }

// Confidential returns true: the agents use TLS, and have proved that they have the keys of their addresses.
func (c *Connection) Confidential() bool { return true }

// Send puts an envelope into the mailbox of its receiver.
func (c *Connection) Send(e wire.Envelope) error { return c.sessions.send(e) }

// State returns the current state of the connection.
func (c *Connection) State() runtime.ConnectionState {
	peers, queued := c.sessions.count()
	return runtime.ConnectionState{Listening: c.Address(), Peers: peers, Queued: queued}
}

// Run serves agents until ctx ends.
func (c *Connection) Run(ctx context.Context, port *runtime.Port) error {
	c.sessions.open(port)
	defer c.sessions.close()
	defer c.asking.Close()
	return c.ServeRequests(ctx, port, c.node.TLS(), c.routes(port).ServeHTTP)
}

func (c *Connection) routes(port *runtime.Port) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /ssl_signature", func(w http.ResponseWriter, _ *http.Request) { answer(w, c.node.Proof()) })
	m.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) { c.register(w, r, port) })
	m.HandleFunc("POST /send_envelope", c.with(func(w http.ResponseWriter, r *http.Request, s *session) { c.take(w, r, s, port) }))
	m.HandleFunc("GET /get_envelope", c.with(func(w http.ResponseWriter, _ *http.Request, s *session) { give(w, s, port) }))
	m.HandleFunc("GET /unregister", c.with(func(_ http.ResponseWriter, _ *http.Request, s *session) { c.sessions.end(s) }))
	return m
}

// with returns a handler that passes the session of a request to serve. If there is no session, the response is 400.
func (c *Connection) with(serve func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s := c.sessions.get(r.Header.Get("Session-Id"))
		if s == nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		connlimit.Of(r.Context()).Keep()
		serve(w, r, s)
	}
}

func answer(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/octet-stream")
	_, _ = w.Write(body)
}

// Errors that operators see.
var (
	errRegister = errors.New("an agent sent an invalid registration")
	errSender   = errors.New("the sender of an envelope is not the registered agent")
)

func (c *Connection) register(w http.ResponseWriter, r *http.Request, port *runtime.Port) {
	if !c.asking.Admit(r.RemoteAddr) {
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRecord))
	if err == nil {
		var record acn.Record
		if record, err = acn.DecodeRecord(body); err == nil && c.node.Register(record) == acn.Success {
			if token := c.sessions.begin(record.Address); token != "" {
				answer(w, []byte(token))
			} else {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return
		}
	}
	port.Refused(errRegister)
	w.WriteHeader(http.StatusBadRequest)
}

// take accepts an envelope from an agent.
func (c *Connection) take(w http.ResponseWriter, r *http.Request, s *session, port *runtime.Port) {
	frame, done := port.Reader(r.Context(), http.MaxBytesReader(w, r.Body, wire.MaxEnvelope))
	defer done()
	data, err := io.ReadAll(frame)
	var e wire.Envelope
	if err == nil {
		e, err = wire.DecodeEnvelope(data)
	}
	if err == nil && e.Sender != s.address {
		err = errSender
	}
	if err != nil {
		port.Refused(err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	switch err := port.ReceiveOf(ctx, e, s.queue); {
	case errors.Is(err, runtime.ErrNoPeer):
		port.NotConnected(e)
	case err != nil:
		w.WriteHeader(http.StatusServiceUnavailable)
	}
}

// give responds with the next envelope for an agent, or with an empty body if there is none.
func give(w http.ResponseWriter, s *session, port *runtime.Port) {
	e, done, ok := s.queue.First()
	if !ok {
		return
	}
	defer done()
	data, err := e.Encode()
	if err == nil {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, err = w.Write(data)
	}
	if err != nil {
		port.Dropped(1, err)
		return
	}
	port.Sent()
}
