package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	mrp "github.com/uimgate/uimgate/internal/wire/mrp/client"
)

// socket serves WebSockets that authenticate A. serve gets the number of the connection, from 1.
func socket(t *testing.T, serve func(ctx context.Context, n int32, conn *websocket.Conn)) http.HandlerFunc {
	t.Helper()
	var connections atomic.Int32
	return func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.CloseNow() }()
		_, first, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		auth, refused := wire.ReadAuthFrame(first)
		if refused != nil || auth.VerifySocket() != nil || auth.Key != keyA {
			t.Errorf("%s: %v", first, refused)
			return
		}
		put(r.Context(), conn, `{"type":"auth_result","status":"ok","public_key":"`+keyA.String()+`"}`)
		serve(r.Context(), connections.Add(1), conn)
	}
}

func put(ctx context.Context, conn *websocket.Conn, text string) {
	_ = conn.Write(ctx, websocket.MessageText, []byte(text))
}

func push(ctx context.Context, conn *websocket.Conn, message string) {
	put(ctx, conn, `{"type":"message","message":`+message+`}`)
}

// acks reads n acks and returns their message ids. It returns fewer if the connection ends.
func acks(ctx context.Context, conn *websocket.Conn, n int) (ids []string) {
	for len(ids) < n {
		_, text, err := conn.Read(ctx)
		var f struct {
			Type      string `json:"type"`
			MessageID string `json:"message_id"`
		}
		if err != nil || json.Unmarshal(text, &f) != nil {
			return ids
		}
		if f.Type == "ack" {
			ids = append(ids, f.MessageID)
		}
	}
	return ids
}

// The client handles a message once and acknowledges it each time, if it arrives before and after a reconnect.
func TestListen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	got := make(chan []string, 2)
	s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/ws": socket(t, func(ctx context.Context, n int32, conn *websocket.Conn) {
		if n == 1 {
			put(ctx, conn, `{"type":"welcome"}`)
			put(ctx, conn, `{"type":"error","error":{"code":"bad_request","message":"x"}}`)
			push(ctx, conn, message("msg_x", func(m *wire.Message) { m.Recipient, m.Sender = keyB, keyA }))
			push(ctx, conn, "null")
			push(ctx, conn, message("msg_1", nil))
			got <- acks(ctx, conn, 1)
			return
		}
		push(ctx, conn, message("msg_1", nil))
		push(ctx, conn, message("msg_2", nil))
		got <- acks(ctx, conn, 2)
		cancel()
		acks(ctx, conn, 1)
	})})
	var mu sync.Mutex
	var handled []string
	err := client(t, s).Listen(ctx, mrp.ListenOptions{}, func(_ context.Context, m wire.Message) error {
		mu.Lock()
		defer mu.Unlock()
		handled = append(handled, m.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(append(<-got, <-got...), " "); all != "msg_1 msg_1 msg_2" {
		t.Errorf("acknowledged %s, want %q", all, "msg_1 msg_1 msg_2")
	}
	mu.Lock()
	defer mu.Unlock()
	if strings.Join(handled, " ") != "msg_1 msg_2" {
		t.Errorf("handled %v", handled)
	}
}

// The client calls a failing handler three times and does not acknowledge the message. It continues with other messages.
func TestFailingHandlers(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/ws": socket(t, func(ctx context.Context, _ int32, conn *websocket.Conn) {
		push(ctx, conn, message("msg_1", nil))
		push(ctx, conn, message("msg_2", nil))
		if ids := acks(ctx, conn, 1); !slices.Equal(ids, []string{"msg_2"}) {
			t.Errorf("acknowledged %v, want %+v", ids, []string{"msg_2"})
		}
		cancel()
		acks(ctx, conn, 1)
	})})
	var attempts, failed atomic.Int32
	err := client(t, s).Listen(ctx, mrp.ListenOptions{Failed: func(m wire.Message, err error) {
		if m.ID != "msg_1" || err == nil {
			t.Errorf("got %s: %v; want %q, an error", m.ID, err, "msg_1")
		}
		failed.Add(1)
	}}, func(_ context.Context, m wire.Message) error {
		if m.ID == "msg_1" {
			attempts.Add(1)
			return errors.New("no")
		}
		return nil
	})
	if err != nil || attempts.Load() != 3 || failed.Load() != 1 {
		t.Errorf("%v, tried %d times, failed %d", err, attempts.Load(), failed.Load())
	}
}

func TestListenWithoutWebSocket(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var polls atomic.Int32
	s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/messages": func(w http.ResponseWriter, r *http.Request) {
		list := ""
		switch n := polls.Add(1); {
		case r.URL.Query().Get("status") == "delivered":
			list = message("msg_0", nil)
		case n == 3:
			list = message("msg_1", nil) + "," + message("msg_0", nil)
		case n == 4:
			w.WriteHeader(http.StatusBadGateway)
			return
		case n == 8:
			list = message("msg_2", nil)
		}
		says(200, `{"messages":[%s],"has_more":false,"next_cursor":null}`, list)(w, r)
	}})
	var mu sync.Mutex
	var handled []string
	err := client(t, s).Listen(ctx, mrp.ListenOptions{Again: true, Parallel: 3}, func(_ context.Context, m wire.Message) error {
		mu.Lock()
		defer mu.Unlock()
		if handled = append(handled, m.ID); m.ID == "msg_2" {
			cancel()
		}
		return nil
	})
	slices.Sort(handled)
	if err != nil || strings.Join(handled, " ") != "msg_0 msg_1 msg_2" {
		t.Errorf("got %v, %v", handled, err)
	}
}

func TestPermanentRefusals(t *testing.T) {
	t.Parallel()
	for code, final := range map[wire.Code]bool{
		wire.InvalidSignature: true, wire.AgentSuspended: true, wire.RateLimited: false, wire.TimestampExpired: false, wire.ReplayDetected: false,
	} {
		t.Run(string(code), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			var requests atomic.Int32
			s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/ws": func(w http.ResponseWriter, r *http.Request) {
				conn, err := websocket.Accept(w, r, nil)
				if err != nil {
					return
				}
				defer func() { _ = conn.CloseNow() }()
				_, _, _ = conn.Read(r.Context())
				if requests.Add(1) == 3 {
					cancel()
				}
				put(r.Context(), conn, `{"type":"auth_result","status":"error","error":{"code":"`+string(code)+`","message":"no"}}`)
			}})
			err := client(t, s).Listen(ctx, mrp.ListenOptions{}, func(context.Context, wire.Message) error { return nil })
			refused, ok := errors.AsType[*wire.Error](err)
			if final && (!ok || refused.Code != code || requests.Load() != 1) || !final && (err != nil || requests.Load() < 3) {
				t.Errorf("%v after %d", err, requests.Load())
			}
		})
	}
}

// If a relay answers the authentication with anything but the agent's key, the client disconnects and tries again.
func TestInvalidFrames(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"another agent": `{"type":"auth_result","status":"ok","public_key":"` + keyB.String() + `"}`, "no agent": `{"type":"auth_result","status":"ok"}`,
		"a message": `{"type":"message","message":` + message("msg_1", nil) + `}`, "nothing": "", "an error without code": `{"type":"auth_result","status":"error"}`,
		"too much": strings.Repeat(" ", 3<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			var requests atomic.Int32
			s := stubRelay(t, map[string]http.HandlerFunc{"GET /v1/ws": func(w http.ResponseWriter, r *http.Request) {
				conn, err := websocket.Accept(w, r, nil)
				if err != nil {
					return
				}
				defer func() { _ = conn.CloseNow() }()
				_, _, _ = conn.Read(r.Context())
				put(r.Context(), conn, first)
				if requests.Add(1) == 3 {
					cancel()
				}
				acks(r.Context(), conn, 1)
			}})
			err := client(t, s).Listen(ctx, mrp.ListenOptions{}, func(_ context.Context, m wire.Message) error {
				t.Errorf("handled %s", m.ID)
				return nil
			})
			if err != nil || requests.Load() < 3 {
				t.Errorf("%v after %d; want no error and at least 3", err, requests.Load())
			}
		})
	}
}
