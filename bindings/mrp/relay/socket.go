package relay

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/uimgate/uimgate/bindings/mrp/wire"
	"github.com/uimgate/uimgate/internal/memory"
	"github.com/uimgate/uimgate/store/mail"
)

// How WebSockets are kept, which the pages of the protocol leave open but for the number of sockets and the time for the first frame.
const (
	pingEvery  = 30 * time.Second
	pingWithin = 30 * time.Second // so that a silence of a minute ends a socket
	writeTime  = 30 * time.Second // for one frame
	inFlight   = 100              // messages on a socket that have not been acknowledged
	assumed    = 30 * time.Second // then a message on a socket that is open counts as delivered
	maxFirst   = 4 << 10          // bytes of the first frame: nobody is known yet
)

// A socket is an agent's WebSocket.
type socket struct {
	*websocket.Conn
	key    wire.Key
	client string
}

// socket takes a WebSocket. The agent says who it is in the first frame, within ten seconds.
func (r *Relay) socket(w http.ResponseWriter, req *http.Request) {
	if !r.place() {
		e := wire.Refuse(wire.RateLimited, "the relay has as many WebSockets as it may: poll, or try again later")
		e.RetryAfter = time.Minute
		r.refuse(w, e)
		return
	}
	defer r.leavePlace()
	// Programs in browsers are welcome from everywhere: nothing is known of them before they sign.
	conn, err := websocket.Accept(w, req, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has answered
	}
	done := make(chan struct{})
	if !r.during(func() { <-done }) {
		_ = conn.Close(websocket.StatusGoingAway, "the relay is ending")
		return
	}
	defer close(done)
	defer func() { _ = conn.CloseNow() }()
	s := &socket{Conn: conn, client: r.options.Client(req)}
	ctx, cancel := context.WithCancel(context.WithoutCancel(req.Context()))
	defer cancel()
	go func() { // the reading of a frame ends with the relay
		select {
		case <-r.stop:
			_ = conn.Close(websocket.StatusGoingAway, "the relay is ending")
			cancel()
		case <-ctx.Done():
		}
	}()
	if refused := r.greet(ctx, s); refused != nil {
		r.meter.refused(refused.Code)
		_ = s.say(ctx, wire.Reply{Type: wire.FrameAuthed, Status: wire.ResponseError, Error: refused})
		_ = conn.Close(websocket.StatusPolicyViolation, string(refused.Code))
		return
	}
	r.serve(ctx, cancel, s)
}

// place counts a socket, unless there are as many as may be.
func (r *Relay) place() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining || r.count >= r.limits.AllSockets {
		return false
	}
	r.count++
	r.meter.sockets.Inc()
	return true
}

func (r *Relay) leavePlace() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count--
	r.meter.sockets.Dec()
}

// greet reads the first frame.
func (r *Relay) greet(ctx context.Context, s *socket) *wire.Error {
	ctx, cancel := context.WithTimeout(ctx, wire.AuthWithin)
	defer cancel()
	s.SetReadLimit(maxFirst)
	kind, frame, err := s.Read(ctx)
	if err != nil || kind != websocket.MessageText {
		return wire.Refuse(wire.Unauthorized, "the first frame has to come within 10 seconds, as text of type auth")
	}
	auth, refused := wire.ReadAuthFrame(frame)
	if refused == nil {
		refused = auth.InTime(r.now(), r.options.Tolerance)
	}
	if refused == nil {
		refused = auth.VerifySocket()
	}
	if refused == nil {
		_, refused = r.known(ctx, auth, s.client)
	}
	s.key = auth.Key
	return refused
}

// serve pushes messages and reads frames until the socket ends.
func (r *Relay) serve(ctx context.Context, cancel context.CancelFunc, s *socket) {
	box, refused := r.enter(s)
	if refused != nil {
		r.meter.refused(refused.Code)
		_ = s.say(ctx, wire.Reply{Type: wire.FrameAuthed, Status: wire.ResponseError, Error: refused})
		_ = s.Close(websocket.StatusPolicyViolation, string(refused.Code))
		return
	}
	defer r.exit(box, s)
	if s.say(ctx, wire.Reply{Type: wire.FrameAuthed, Status: wire.ResponseOK, PublicKey: &s.key}) != nil {
		return
	}
	s.SetReadLimit(wire.MaxRequest)
	pushing := make(chan struct{})
	go func() {
		defer close(pushing)
		defer cancel()
		r.push(ctx, box, s)
	}()
	defer func() { <-pushing }()
	defer cancel()
	for {
		if r.frame(ctx, box, s) != nil {
			return
		}
	}
}

// frame reads one frame and does what it says. The error is that of the connection.
func (r *Relay) frame(ctx context.Context, box *inbox, s *socket) error {
	kind, from, err := s.Reader(ctx)
	if err != nil {
		return err
	}
	if kind != websocket.MessageText {
		_ = s.Close(websocket.StatusUnsupportedData, "frames are text")
		return errSilent
	}
	share := r.budget.Open()
	defer share.Close()
	text, err := io.ReadAll(memory.NewReader(from, share.Take))
	if errors.Is(err, memory.ErrExhausted) {
		_ = s.Close(websocket.StatusTryAgainLater, "the relay has no memory left for this")
		return err
	}
	if err != nil {
		return err
	}
	return r.hear(ctx, box, s, text)
}

// hear does what a frame says. The error is that of the connection.
func (r *Relay) hear(ctx context.Context, box *inbox, s *socket, frame []byte) error {
	f, refused := wire.ReadFrame(frame)
	if refused != nil && f.Type != wire.FrameSend {
		r.meter.refused(refused.Code)
		return s.say(ctx, wire.Reply{Type: wire.FrameError, Error: refused})
	}
	switch f.Type {
	case wire.FrameAck:
		if flown := box.flight(f.MessageID); flown != nil {
			r.arrived(ctx, box, flown)
		}
		return nil
	case wire.FrameSend:
		return s.say(ctx, r.sendFrame(ctx, s, f, refused))
	case wire.FramePing:
		return s.say(ctx, wire.Reply{Type: wire.FramePong})
	case wire.FramePong:
		return nil
	default:
		return s.say(ctx, wire.Reply{Type: wire.FrameError, Error: wire.Refuse(wire.BadRequest, "frames are of type ack, send or ping")})
	}
}

// sendFrame takes a message of a frame, as one of a request.
func (r *Relay) sendFrame(ctx context.Context, s *socket, f wire.Frame, refused *wire.Error) wire.Reply {
	var receipt wire.Receipt
	if refused == nil {
		if standing, ok := r.rates.take(s.key, useSend); !ok {
			refused = standing.refused()
		}
	}
	if refused == nil {
		refused = r.active(ctx, s.key)
	}
	if refused == nil {
		receipt, _, refused = r.take(ctx, s.key, f.Send, nil)
	}
	if refused != nil {
		r.meter.refused(refused.Code)
		return wire.Reply{Type: wire.FrameSent, ID: f.ID, Status: wire.ResponseError, Error: refused}
	}
	r.meter.messages.WithLabelValues("socket").Inc()
	return wire.Reply{
		Type: wire.FrameSent, ID: f.ID, Status: wire.ResponseOK, MessageID: receipt.MessageID, CreatedAt: &receipt.CreatedAt,
		ExpiresAt: &receipt.ExpiresAt,
	}
}

// active returns an error unless the agent of an open socket may still do something.
func (r *Relay) active(ctx context.Context, key wire.Key) *wire.Error {
	a, err := r.store.Agent(ctx, key)
	switch {
	case err != nil:
		return r.refusal(err, wire.AgentNotFound)
	case a.Status == string(wire.Suspended):
		return r.refusal(mail.ErrSuspended, wire.AgentNotFound)
	default:
		return nil
	}
}

// say writes a frame.
func (s *socket) say(ctx context.Context, reply wire.Reply) error {
	text, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	return s.write(ctx, text)
}

func (s *socket) write(ctx context.Context, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return s.Write(ctx, websocket.MessageText, text)
}

var errSilent = errors.New("the agent does not answer")

// alive asks whether the agent is there.
func (s *socket) alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pingWithin)
	defer cancel()
	if s.Ping(ctx) != nil {
		return errSilent
	}
	return nil
}
