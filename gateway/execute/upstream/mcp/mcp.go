// Package mcp calls the tools of a server of the Model Context Protocol, for services whose upstream is such a server. The server is
// reached over Streamable HTTP, or runs as a child process and is reached over its standard input and output.
//
//	s, err := mcp.New(mcp.Config{…})               // does not connect
//	reply, written, err := s.Call(ctx, call, admit) // admit is called right before the first byte
//	tools, err := s.Tools(ctx)
//
// The client of the official SDK is not used, because it does not report whether a byte of a request was sent, sends some requests again,
// and rounds numbers. See docs/design/dependencies.md for the details.
//
// Revisions: 2026-07-28, in which every request is independent, and those from 2024-11-05 to 2025-11-25, which begin with initialize.
package mcp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream/internal/pool"
)

// A Config describes a server. Either Conns or Command is set. All other fields except Auth are required.
type Config struct {
	// Conns are the connections to a server over Streamable HTTP, and Target is the path of its endpoint. The pool must keep the header fields
	// in HeaderNames.
	Conns  *pool.Pool
	Target string
	// Auth returns the header fields that authenticate the gateway in requests that prepare calls. nil: none.
	Auth func(ctx context.Context) (pool.Fields, error)
	// Command starts a server as a child process.
	Command Command
	// Sessions is the number of sessions that calls share. With a Command, each session has its own process.
	Sessions   int
	MaxMessage int64 // maximum size of a message and of a response, in bytes
	Now        func() time.Time
	Version    string // version of this client
}

// HeaderNames are the names of the response header fields that this package reads.
var HeaderNames = []string{contentType, contentEncoding, sessionID}

// A Call is one call to a tool.
type Call struct {
	Tool      string
	Arguments []byte      // a JSON object
	Header    pool.Fields // header fields of the request; ignored by servers that run as child processes
	Meta      pool.Fields // members of _meta, for every server
	// Progress receives the notifications about the progress of the call, on the goroutine of Call. It may be called several times for one
	// call of an agent, and the values may decrease. If Progress is nil, the server is not asked for notifications.
	Progress func(Progress)
}

// A Reply is a complete response of the server.
type Reply struct {
	Status int         // HTTP status; 200 if the server runs as a child process
	Header pool.Fields // the header fields of the HTTP response
	Result []byte      // a JSON object; nil if the server returned an error
	Err    *Error      // the JSON-RPC error; nil: none
	Body   []byte      // the body of an HTTP response that is neither 2xx nor JSON-RPC
	// Dropped means that the server may not know the session. The next Call uses a new session.
	Dropped bool
	// Forgotten means that the server certainly does not know the session or its revision, so it has not executed the call. Dropped is
	// true too.
	Forgotten bool
}

// An Error is an error response of JSON-RPC 2.0, section 5.1.
type Error struct {
	Code    int64
	Message string // the message of the server, which may contain anything
}

func (e *Error) Error() string {
	return "the server returned the JSON-RPC error " + strconv.FormatInt(e.Code, 10)
}

// Errors of Call and Tools. Their messages contain nothing that the server sent.
var (
	// ErrTooLong means that a response is longer than Config.MaxMessage.
	ErrTooLong = errors.New("the response is too long")
	// ErrNoMemory means that there was not enough memory for the response.
	ErrNoMemory = errors.New("the gateway did not have enough memory for the response")
	// ErrNoResponse means that the gateway stopped reading before the response began, because other messages were too long, or because there
	// was not enough memory. The outcome is not known.
	ErrNoResponse = errors.New("the gateway stopped reading before the response began")
	// ErrNotMCP means that a response is not an MCP response.
	ErrNotMCP = errors.New("the response is not an MCP response")
	// ErrRevision means that the server supports no revision of MCP that this package supports.
	ErrRevision = errors.New("the server and the gateway support no common revision of MCP")
	// ErrNotRunning means that the server, a child process, is not running, and the pause before its next start has not ended.
	ErrNotRunning = errors.New("the server is not running")
)

// A Server is an MCP server. It is safe for concurrent use.
type Server struct {
	cfg   Config
	slots []*slot
	ids   atomic.Int64
}

// A slot holds one session.
type slot struct {
	server    *Server
	transport transport
	using     atomic.Int64
	lock      chan struct{} // held while the session is being opened
	current   atomic.Pointer[session]
}

// A session contains what client and server have agreed on.
type session struct {
	revision string
	id       string // Mcp-Session-Id; empty: the server has no sessions
	of       any    // the process of the session; nil for Streamable HTTP
}

// modern reports whether every request is independent.
func (s *session) modern() bool { return s.revision >= stateless }

// A transport carries messages to the server and back.
type transport interface {
	// send sends one message, and waits for the response if the message is a request. It calls admit right before the first byte. written
	// reports whether a byte may have reached the server. The error of admit is returned as it is.
	send(ctx context.Context, to *session, m message, admit func() error) (r Reply, written bool, err error)
	// begin returns the connection state to which a new session belongs, such as a process.
	begin(ctx context.Context) (any, error)
	// good reports whether a session may still exist.
	good(s *session) bool
	doubt(s *session) // checks soon whether the server still responds
	doubtOpening()    // like doubt, if no session could be opened in time
	state() State
	close()
	idle()                   // called when no call is in progress
	end(ctx context.Context) // waits until closed processes have ended; when ctx ends, it ends them by force
}

// A message is a request or a notification.
type message struct {
	id     int64 // 0 for a notification
	method string
	name   string // the name of the tool, for the Mcp-Name header
	body   []byte
	header pool.Fields
	// progress receives notifications. nil: the server was not asked for them.
	progress func(Progress)
}

// A State is the state of the processes of a server. It is the zero State for a server over Streamable HTTP.
type State struct {
	Running  int    // the number of processes
	Closing  int    // the number of closed processes that have not ended
	Restarts int    // how often a process was started after the first start
	Failure  string // why a process last ended; empty: none has ended
}

// New returns a Server, without connecting.
func New(cfg Config) (*Server, error) {
	switch {
	case (cfg.Conns == nil) == (cfg.Command.Path == ""):
		return nil, errors.New("want either a URL or a command")
	case cfg.Sessions < 1 || cfg.Sessions > MaxSessions:
		return nil, fmt.Errorf("want 1 to %d sessions", MaxSessions)
	case cfg.MaxMessage <= 0 || cfg.Now == nil:
		return nil, errors.New("the maximum size of messages or the clock is missing")
	}
	s := &Server{cfg: cfg}
	for range cfg.Sessions {
		t := transport(&streamable{server: s})
		if cfg.Conns == nil {
			t = newProcess(cfg)
		}
		s.slots = append(s.slots, &slot{server: s, transport: t, lock: make(chan struct{}, 1)})
	}
	return s, nil
}

// MaxSessions is the maximum number of sessions with one server.
const MaxSessions = 64

// Call calls a tool, in the session that has the fewest calls in progress. It opens the session first if that is necessary. It calls admit
// right before the first byte of the call. If admit returns an error, Call sends nothing and returns that error. written reports whether a
// byte of the call may have reached the server. Without an error, the response is complete.
func (s *Server) Call(ctx context.Context, c Call, admit func() error) (r Reply, written bool, err error) {
	t := s.slots[0]
	for _, other := range s.slots[1:] {
		if other.using.Load() < t.using.Load() {
			t = other
		}
	}
	t.using.Add(1)
	defer t.leave()
	in, err := t.open(ctx)
	if err != nil {
		return Reply{}, false, err
	}
	m, err := s.request(in, "tools/call", c.Tool, c.Meta, c.Progress != nil, func(b *params) {
		b.text("name", c.Tool)
		b.raw("arguments", c.Arguments)
	})
	if err != nil {
		return Reply{}, false, err
	}
	m.header, m.progress = c.Header, c.Progress
	r, written, err = t.transport.send(ctx, in, m, admit)
	switch {
	case err != nil && ctx.Err() != nil && written:
		t.transport.doubt(in)
	case err == nil && r.refusesSession(in):
		r.Dropped, r.Forgotten = true, r.forgets(in)
		t.current.CompareAndSwap(in, nil)
	}
	return r, written, err
}

// leave records that a call has ended.
func (t *slot) leave() {
	if t.using.Add(-1) == 0 {
		t.transport.idle()
	}
}

// refusesSession reports whether the server may not know the session, or may no longer support its revision. Some servers return status 400
// for a session that has ended, and some send an error with the id of the request. An error about unacceptable arguments does not count.
func (r *Reply) refusesSession(s *session) bool {
	if r.Result != nil {
		return false
	}
	invalid := r.Err != nil && r.Err.Code == codeInvalidParams
	return r.forgets(s) || (r.Status == 404 || r.Status == 400) && !invalid
}

// forgets reports whether the response means that the server did not execute the request, because it does not know the session or no longer
// supports its revision. Such a response has status 404, for a request of a session (MCP 2025-11-25, basic/transports, Session Management),
// or the error for an unsupported revision. A tool, or the framework around the server, may send any other status after the tool has had
// effects.
func (r *Reply) forgets(s *session) bool {
	return r.Status == 404 && s.id != "" || r.Err != nil && r.Err.Code == codeUnsupportedRevision
}

// State returns the state of the processes of the server.
func (s *Server) State() State {
	var all State
	for _, t := range s.slots {
		one := t.transport.state()
		all.Running += one.Running
		all.Closing += one.Closing
		all.Restarts += one.Restarts
		if one.Failure != "" {
			all.Failure = one.Failure
		}
	}
	return all
}

// Close ends the processes of the server, each when its calls in progress have ended. Later calls start new ones, which end when
// no call is in progress.
func (s *Server) Close() {
	for _, t := range s.slots {
		t.transport.close()
	}
}

// End closes the Server, and waits until its processes have ended. When ctx ends, it ends them by force.
func (s *Server) End(ctx context.Context) {
	s.Close()
	for _, t := range s.slots {
		t.transport.end(ctx)
	}
}
