package mrp

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

// errNoSocket means that a relay has no WebSocket, or a proxy in front of it blocks WebSockets.
var errNoSocket = errors.New("the relay takes no WebSocket")

const (
	pingEvery  = 30 * time.Second
	pingWithin = time.Minute
	writeTime  = 10 * time.Second
)

// A socket is an authenticated WebSocket.
type socket struct{ conn *websocket.Conn }

// A frame is a frame that a relay sends.
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
		return fmt.Errorf("%w: a frame has an error without code", ErrAnswer)
	}
	return &wire.Error{Code: wire.Code(tree.Text("code")), Message: shown(tree.Text("message"), maxText), Details: tree.Object("details")}
}

// dial opens a WebSocket. The error is errNoSocket, a *wire.Error, a *StatusError, or one of the connection.
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
		err = fmt.Errorf("%w: the relay takes us for another", ErrAnswer)
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

// notDialled returns the reason why no WebSocket was opened. The library's text may quote the relay.
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
		return frame{}, fmt.Errorf("%w: a frame is not a text", ErrAnswer)
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

// ack notifies the relay that a message was processed. It may be lost: the message then arrives again and is recognized.
func (s *socket) ack(ctx context.Context, id string) {
	_ = s.write(ctx, struct {
		Type      string `json:"type"`
		MessageID string `json:"message_id"`
	}{wire.FrameAck, id})
}

// keep sends pings until ctx ends or the relay does not answer; then it closes the connection.
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
