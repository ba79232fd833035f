package relay

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/membudget"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// Parameters of WebSockets that the pages of the protocol leave open.
const (
	inFlight = 100              // the maximum number of unacknowledged messages on a socket
	assumed  = 30 * time.Second // the age at which a message on an open socket counts as delivered
	maxFirst = 4 << 10          // the maximum bytes of the first frame, whose sender is not yet authenticated
	largeAt  = 64 << 10         // a frame counts once more for each largeAt bytes
	// earlyPings is the maximum number of pings before the first frame.
	earlyPings = 10
)

// A socket is an agent's WebSocket.
type socket struct {
	*websocket.Conn
	key    wire.Key
	client string
	times  times
	early  int // pings before the first frame
}

var errNoise = errors.New("too many frames that carry no message")

// socket accepts a WebSocket, and serves it until it ends. The agent must authenticate itself in the first frame, within times.greet.
func (r *Relay) socket(w http.ResponseWriter, req *http.Request) {
	ctx, end := context.WithCancel(context.WithoutCancel(req.Context()))
	defer end()
	place := r.enterPlace(end)
	if place == nil {
		e := wire.Refuse(wire.RateLimited, "the relay has the maximum number of WebSockets: poll instead, or try again later")
		e.RetryAfter = time.Minute
		r.refuse(w, e)
		return
	}
	defer r.leavePlace(place)
	s := &socket{client: r.options.Client(req), times: r.times}
	// Web pages of any origin may connect, because they must sign like all other clients.
	conn, err := websocket.Accept(w, req, &websocket.AcceptOptions{
		InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled, OnPingReceived: func(context.Context, []byte) bool {
			quiet := r.quiet(s, 1)
			if !quiet {
				end() // this ends the socket, because another goroutine is reading from it
			}
			return quiet
		},
	})
	if err != nil {
		return // Accept has already responded
	}
	done := make(chan struct{})
	if !r.during(func() { <-done }) {
		_ = conn.Close(websocket.StatusGoingAway, "the relay is shutting down")
		return
	}
	defer close(done)
	defer func() { _ = conn.CloseNow() }()
	s.Conn = conn
	go func() { // stops the reading of frames when the relay shuts down
		select {
		case <-r.stop:
			_ = conn.Close(websocket.StatusGoingAway, "the relay is shutting down")
			end()
		case <-ctx.Done():
		}
	}()
	refused := r.greet(ctx, s)
	if refused == nil && !place.known() {
		return
	}
	if refused != nil {
		r.meter.refused(refused.Code)
		_ = s.send(ctx, wire.Reply{Type: wire.FrameAuthed, Status: wire.ResponseError, Error: refused})
		_ = conn.Close(websocket.StatusPolicyViolation, string(refused.Code))
		return
	}
	connlimit.Of(req.Context()).Keep()
	r.serve(ctx, end, s)
}

// enterPlace counts a socket. It returns nil if there are too many, or if the relay is shutting down.
func (r *Relay) enterPlace(end context.CancelFunc) *openSocket {
	if r.ending() {
		return nil
	}
	place := r.socketLimit.enter(end)
	if place != nil {
		r.meter.sockets.Inc()
	}
	return place
}

func (r *Relay) leavePlace(place *openSocket) {
	place.leave()
	r.meter.sockets.Dec()
}

// quiet counts n frames without effect, and returns false if there are too many.
func (r *Relay) quiet(s *socket, n int) bool {
	if s.key == (wire.Key{}) { // the agent is not authenticated yet
		s.early += n
		return s.early <= earlyPings
	}
	_, ok := r.rates.takeSome(s.key, useFrame, n)
	return ok
}

// greet reads the first frame, and authenticates the agent.
func (r *Relay) greet(ctx context.Context, s *socket) *wire.Error {
	ctx, cancel := context.WithTimeout(ctx, s.times.greet)
	defer cancel()
	s.SetReadLimit(maxFirst)
	kind, frame, err := s.Read(ctx)
	if err != nil || kind != websocket.MessageText {
		return wire.Refuse(wire.Unauthorized, "the first frame must be a text frame of type auth, and must arrive within 10 seconds")
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
func (r *Relay) serve(ctx context.Context, end context.CancelFunc, s *socket) {
	box, refused := r.enter(s)
	if refused != nil {
		r.meter.refused(refused.Code)
		_ = s.send(ctx, wire.Reply{Type: wire.FrameAuthed, Status: wire.ResponseError, Error: refused})
		_ = s.Close(websocket.StatusPolicyViolation, string(refused.Code))
		return
	}
	defer r.exit(box, s)
	if s.send(ctx, wire.Reply{Type: wire.FrameAuthed, Status: wire.ResponseOK, PublicKey: &s.key}) != nil {
		return
	}
	s.SetReadLimit(wire.MaxRequest)
	pushing := make(chan struct{})
	go func() {
		defer close(pushing)
		defer end()
		r.push(ctx, box, s)
	}()
	defer func() { <-pushing }()
	defer end()
	for {
		if err := r.frame(ctx, box, s); err != nil {
			if errors.Is(err, errNoise) {
				_ = s.Close(websocket.StatusPolicyViolation, err.Error())
			}
			return
		}
	}
}

// frame reads and handles one frame. The agent may wait any length of time before it sends a frame, but must complete the frame within
// times.body after the first byte, because the received part occupies memory. An error ends the socket.
func (r *Relay) frame(ctx context.Context, box *inbox, s *socket) error {
	reading, late := context.WithCancel(ctx)
	defer late()
	kind, from, err := s.Reader(reading)
	if err != nil {
		return err
	}
	defer time.AfterFunc(s.times.body, late).Stop()
	if kind != websocket.MessageText {
		_ = s.Close(websocket.StatusUnsupportedData, "frames must be text frames")
		return errSilent
	}
	share := r.budget.Open()
	defer share.Close()
	share.Known()
	text, err := io.ReadAll(membudget.NewReader(from, share.Take))
	if errors.Is(err, membudget.ErrExhausted) {
		_ = s.Close(websocket.StatusTryAgainLater, "the relay does not have enough memory for the frame")
		return err
	}
	if err != nil {
		return err
	}
	return r.hear(ctx, box, s, text)
}

// hear handles the content of a frame. An error ends the socket.
func (r *Relay) hear(ctx context.Context, box *inbox, s *socket, frame []byte) error {
	f, refused := wire.ReadFrame(frame)
	if refused != nil && f.Type != wire.FrameSend {
		r.meter.refused(refused.Code)
		return r.answer(ctx, s, frame, wire.Reply{Type: wire.FrameError, Error: refused})
	}
	switch f.Type {
	case wire.FrameAck:
		if flown := box.flight(f.MessageID); flown != nil {
			r.arrived(ctx, box, flown)
			return nil
		}
		return r.unrequested(s, frame)
	case wire.FrameSend:
		reply := r.sendFrame(ctx, s, f, refused)
		if reply.Error != nil {
			return r.answer(ctx, s, frame, reply)
		}
		return s.send(ctx, reply)
	case wire.FramePing:
		return r.answer(ctx, s, frame, wire.Reply{Type: wire.FramePong})
	case wire.FramePong:
		return r.unrequested(s, frame)
	default:
		return r.answer(ctx, s, frame, wire.Reply{
			Type: wire.FrameError, Error: wire.Refuse(wire.BadRequest, "type must be one of ack, send, ping"),
		})
	}
}

// unrequested counts a frame without effect. It returns errNoise if there are too many; the error ends the socket.
func (r *Relay) unrequested(s *socket, frame []byte) error {
	if !r.quiet(s, 1+len(frame)/largeAt) {
		return errNoise
	}
	return nil
}

// answer counts a frame without effect, and responds to it.
func (r *Relay) answer(ctx context.Context, s *socket, frame []byte, reply wire.Reply) error {
	if err := r.unrequested(s, frame); err != nil {
		return err
	}
	return s.send(ctx, reply)
}

// sendFrame accepts a message in a frame, under the same rules as a message in a request. refused is the error in the frame, or nil.
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
		receipt, _, refused = r.take(ctx, s.key, f.Send, nil, nil)
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

// active returns an error if the agent of an open socket has been suspended or deleted, or if the store is unavailable.
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

// send writes a frame.
func (s *socket) send(ctx context.Context, reply wire.Reply) error {
	text, err := json.Marshal(reply)
	if err != nil {
		return err
	}
	return s.write(ctx, text)
}

func (s *socket) write(ctx context.Context, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, s.times.write)
	defer cancel()
	return s.Write(ctx, websocket.MessageText, text)
}

var errSilent = errors.New("the agent does not respond")

// alive pings the agent. It returns errSilent if the agent does not respond within times.pong.
func (s *socket) alive(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.times.pong)
	defer cancel()
	if s.Ping(ctx) != nil {
		return errSilent
	}
	return nil
}
