package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/strictjson"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// errNoSocket means that a relay does not offer WebSockets, or that a proxy in front of it blocks them.
var errNoSocket = errors.New("the relay does not accept WebSockets")

const (
	pingEvery  = 30 * time.Second
	pingWithin = time.Minute
	writeTime  = 10 * time.Second
)

// A socket is an authenticated WebSocket.
type socket struct{ conn *websocket.Conn }

// A frame is a decoded WebSocket frame from a relay.
type frame struct {
	Type      string          `json:"type"`
	Status    string          `json:"status"`
	PublicKey string          `json:"public_key"`
	Message   json.RawMessage `json:"message"`
	Error     json.RawMessage `json:"error"`
}

// refusal returns the error in a frame.
func (f frame) refusal() error {
	tree, err := strictjson.DecodeObject(f.Error)
	if err != nil || !isCode(tree.Text("code")) {
		return fmt.Errorf("%w: a frame has an error without a valid code", ErrAnswer)
	}
	return &wire.Error{Code: wire.Code(tree.Text("code")), Message: shown(tree.Text("message"), maxText), Details: tree.Object("details")}
}

// dial opens and authenticates a WebSocket. The error is errNoSocket, ErrAnswer, a *wire.Error, a *StatusError or an error of the
// connection.
func (c *Client) dial(ctx context.Context) (*socket, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*wire.AuthWithin)
	defer cancel()
	conn, response, err := websocket.Dial(ctx, c.base.JoinPath("/v1/ws").String(), &websocket.DialOptions{
		HTTPClient: c.fetch.Dialer(), HTTPHeader: http.Header{"User-Agent": {c.o.UserAgent}},
	})
	if err != nil {
		return nil, c.notDialled(response, err)
	}
	conn.SetReadLimit(maxMessage + maxErrorAnswer)
	s := &socket{conn}
	f, err := c.authenticate(ctx, s)
	switch {
	case err != nil:
	case f.Type == wire.FrameAuthed && f.Status == "ok" && f.PublicKey == c.key.String():
		return s, nil
	case f.Type == wire.FrameAuthed && f.Status != "ok":
		err = f.refusal()
		if refused, ok := errors.AsType[*wire.Error](err); ok && refused.Code == wire.TimestampExpired {
			c.follow(response.Header.Get("Date"))
		}
	default:
		err = fmt.Errorf("%w: the relay authenticated a different agent", ErrAnswer)
	}
	_ = conn.CloseNow()
	return nil, err
}

func (c *Client) authenticate(ctx context.Context, s *socket) (frame, error) {
	auth, err := json.Marshal(wire.SignSocket(c.o.Key, c.next()))
	if err != nil {
		return frame{}, err
	}
	if err := s.conn.Write(ctx, websocket.MessageText, auth); err != nil {
		return frame{}, err
	}
	return s.read(ctx)
}

// notDialled returns the error for a WebSocket that could not be opened. If the relay sent a response, the error omits the text of
// the library, which may quote the response.
func (c *Client) notDialled(response *http.Response, err error) error {
	if response == nil || response.StatusCode == http.StatusSwitchingProtocols {
		return &fetch.Error{Origin: fetch.Origin(c.base), Err: err}
	}
	_ = response.Body.Close() // the library has read the available bytes
	switch response.StatusCode {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented, http.StatusUpgradeRequired, http.StatusOK:
		return errNoSocket
	}
	after, _ := fetch.RetryAfter(response.Header)
	return &StatusError{Status: response.StatusCode, RetryAfter: after}
}

// read returns the next frame.
func (s *socket) read(ctx context.Context) (frame, error) {
	kind, document, err := s.conn.Read(ctx)
	if err != nil {
		return frame{}, err
	}
	var f frame
	if kind != websocket.MessageText {
		return frame{}, fmt.Errorf("%w: a frame is not a text frame", ErrAnswer)
	}
	err = unpack(document, &f)
	return f, err
}

func (s *socket) write(ctx context.Context, f any) error {
	document, err := json.Marshal(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, document)
}

// ack notifies the relay that a message was processed. If the notification is lost, the message arrives again, and Seen recognizes
// it.
func (s *socket) ack(ctx context.Context, id string) {
	_ = s.write(ctx, struct {
		Type      string `json:"type"`
		MessageID string `json:"message_id"`
	}{wire.FrameAck, id})
}

// keep sends pings until ctx ends. If the relay does not answer a ping in time, keep closes the connection.
func (s *socket) keep(ctx context.Context) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		within, cancel := context.WithTimeout(ctx, pingWithin)
		err := s.conn.Ping(within)
		cancel()
		if err != nil {
			_ = s.conn.CloseNow()
			return
		}
	}
}
