package relay_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// A line is an agent's end of a WebSocket.
type line struct {
	*websocket.Conn
	*agent
}

func (h *host) dial() *websocket.Conn {
	h.Helper()
	conn, _, err := websocket.Dial(h.Context(), h.URL+"/v1/ws", nil)
	h.must(err)
	conn.SetReadLimit(4 << 20)
	h.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// connect opens a socket, and authenticates the agent.
func (a *agent) connect() *line {
	a.Helper()
	l := &line{a.dial(), a}
	l.say(wire.SignSocket(a.private, a.at()))
	if r := l.hear(); r.Type != "auth_result" || r.Status != "ok" || *r.PublicKey != a.key() {
		a.Fatalf("got %+v %v", r, r.Error)
	}
	return l
}

func (l *line) say(frame any) {
	l.Helper()
	text, ok := frame.(string)
	if !ok {
		raw, err := json.Marshal(frame)
		l.must(err)
		text = string(raw)
	}
	l.must(l.Write(l.Context(), websocket.MessageText, []byte(text)))
}

func (l *line) hear() wire.Reply {
	l.Helper()
	_, raw, err := l.Read(l.Context())
	l.must(err)
	r, err := wire.ReadReply(raw)
	l.must(err)
	return r
}

// ended waits for the end of the socket and returns its status.
func (l *line) ended() websocket.StatusCode {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
	defer cancel()
	for {
		if _, _, err := l.Read(ctx); err != nil {
			return websocket.CloseStatus(err)
		}
	}
}

func TestSocketDeliversMessages(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent().known(), h.agent().known()
		waiting := []string{a.send(b, `{ "n" : 1 }`), a.send(b, `2`)}
		l := b.connect()
		var got []string
		for range 2 {
			r := l.hear()
			got = append(got, r.Message.ID)
			if string(r.Message.Body) != `{ "n" : 1 }` && string(r.Message.Body) != `2` {
				t.Errorf("got %s", r.Message.Body)
			}
			l.say(`{"type":"ack","message_id":"` + r.Message.ID + `"}`)
		}
		if !slices.Equal(got, waiting) {
			t.Errorf("%v, want %v", got, waiting)
		}
		id := a.send(b, `3`)
		if r := l.hear(); r.Message.ID != id {
			t.Errorf("got %+v, want Message.ID %v", r, id)
		}
		l.say(`{"type":"ping"}`)
		if r := l.hear(); r.Type != "pong" { // the relay has processed the acks
			t.Errorf("got %+v, want Type %q", r, "pong")
		}
		h.must(l.Close(websocket.StatusNormalClosure, ""))
		// The third message was not acknowledged.
		if r := b.connect().hear(); r.Message.ID != id {
			t.Errorf("not delivered again: %+v, want Message.ID %v", r, id)
		}
	}, many)
}

func TestSocketSends(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent().known(), h.agent().known()
		l := a.connect()
		l.say(`{"type":"send","id":"x","message":` + message(b.key(), `1`) + `}`)
		r := l.hear()
		if r.Type != "send_result" || r.ID != "x" || r.Status != "ok" || r.MessageID == "" || r.ExpiresAt == nil {
			t.Errorf("got %+v", r)
		}
		if got := ids(b.poll("")); !slices.Equal(got, []string{r.MessageID}) {
			t.Errorf("got %v, want %+v", got, []string{r.MessageID})
		}
		h.wants(http.StatusOK, "", b.do("PATCH", b.path(), `{"inbox_policy":"closed"}`))
		for frame, code := range map[string]wire.Code{
			`{"type":"send","id":"y","message":` + message(b.key(), `1`) + `}`: "acl_denied",
			`{"type":"send","id":"y","message":{}}`:                            "bad_request",
			`{"type":"send","id":"y","recipient_key":1}`:                       "bad_request",
		} {
			l.say(frame)
			if r := l.hear(); r.ID != "y" || r.Status != "error" || r.Error.Code != code {
				t.Errorf("%s: got %+v %v; want ID %q, Status %q and Code %v", frame, r, r.Error, "y", "error", code)
			}
		}
		for _, frame := range []string{`{"type":"what"}`, `{}`, `nonsense`, `{"type":"ack"}`} {
			l.say(frame)
			if r := l.hear(); r.Type != "error" || r.Error.Code != "bad_request" {
				t.Errorf("%s: got %+v; want Type %q and Error.Code %q", frame, r, "error", "bad_request")
			}
		}
		l.say(`{"type":"ack","message_id":"msg_of_others"}`)
		l.say(`{"type":"ping"}`)
		if r := l.hear(); r.Type != "pong" {
			t.Errorf("got %+v, want Type %q", r, "pong")
		}
	})
}

func TestSendRateOnSocket(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", func(o *relay.Options) { o.Limits.Sends = 2 })
	a, b := h.agent().known(), h.agent().known()
	l := a.connect()
	for i, want := range []string{"ok", "ok", "error"} {
		l.say(fmt.Sprintf(`{"type":"send","id":"%d","message":%s}`, i, message(b.key(), `1`)))
		if r := l.hear(); r.Status != want {
			t.Errorf("got %+v, want Status %v", r, want)
		}
	}
	h.wants(http.StatusTooManyRequests, "rate_limit_exceeded", a.do("POST", "/v1/messages", message(b.key(), `1`)))
}

func TestRefusedSockets(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	a := h.agent().known()
	good := wire.SignSocket(a.private, a.at())
	for name, c := range map[string]struct {
		frame any
		code  wire.Code
	}{
		"nonsense":          {"nonsense", "unauthorized"},
		"another type":      {`{"type":"send"}`, "unauthorized"},
		"another's":         {wire.AuthFrame{Type: "auth", PublicKey: h.agent().key().String(), Timestamp: good.Timestamp, Signature: good.Signature}, "invalid_signature"},
		"another time":      {wire.AuthFrame{Type: "auth", PublicKey: good.PublicKey, Timestamp: wire.Timestamp(a.at()), Signature: good.Signature}, "invalid_signature"},
		"long ago":          {wire.SignSocket(a.private, h.now().Add(-6*time.Minute)), "timestamp_expired"},
		"more than an auth": {`{"type":"auth","x":"` + strings.Repeat("x", 8<<10) + `"}`, ""},
		"a request's":       {signedAsRequest(a), "invalid_signature"},
	} {
		l := &line{h.dial(), a}
		l.say(c.frame)
		_, raw, err := l.Read(t.Context())
		if c.code == "" {
			if err == nil && !strings.Contains(string(raw), "unauthorized") {
				t.Errorf("%s: %s", name, raw)
			}
			continue
		}
		h.must(err)
		if r, err := wire.ReadReply(raw); err != nil || r.Type != "auth_result" || r.Status != "error" || r.Error.Code != c.code {
			t.Errorf("%s: %s", name, raw)
		}
		if status := l.ended(); status != websocket.StatusPolicyViolation {
			t.Errorf("%s: %v, want %v", name, status, websocket.StatusPolicyViolation)
		}
	}
	l := &line{h.dial(), a}
	l.say(good)
	l.hear()
	l = &line{h.dial(), a}
	l.say(good)
	if r := l.hear(); r.Error == nil || r.Error.Code != "replay_detected" {
		t.Errorf("got %+v", r)
	}
}

// signedAsRequest returns a first frame with the signature of a request.
func signedAsRequest(a *agent) wire.AuthFrame {
	r := a.request("GET", "/v1/ws", "")
	return wire.AuthFrame{
		Type: "auth", PublicKey: r.Header.Get(wire.HeaderKey), Timestamp: r.Header.Get(wire.HeaderTimestamp),
		Signature: r.Header.Get(wire.HeaderSignature),
	}
}

func TestThreeSockets(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", many)
	a, b := h.agent().known(), h.agent().known()
	lines := []*line{b.connect(), b.connect()}
	third := &line{h.dial(), b}
	third.say(wire.SignSocket(b.private, b.at()))
	if r := third.hear(); r.Error == nil || r.Error.Code != "rate_limit_exceeded" || third.ended() != websocket.StatusPolicyViolation {
		t.Errorf("got %+v", r)
	}
	// Each message goes to one of the two.
	const n = 40
	sent := map[string]bool{}
	for i := range n {
		sent[a.send(b, fmt.Sprint(i))] = true
	}
	came := make(chan string, 2*n)
	for _, l := range lines {
		go func() {
			for {
				_, raw, err := l.Read(t.Context())
				if err != nil {
					return
				}
				r, _ := wire.ReadReply(raw)
				came <- r.Message.ID
				_ = l.Write(t.Context(), websocket.MessageText, []byte(`{"type":"ack","message_id":"`+r.Message.ID+`"}`))
			}
		}()
	}
	for range n {
		id := <-came
		if !sent[id] {
			t.Errorf("%s was delivered twice, or never sent", id)
		}
		delete(sent, id)
	}
	// After one socket is closed, another may be opened.
	_ = lines[0].CloseNow()
	h.eventually("a place", func() bool {
		l := &line{h.dial(), b}
		l.say(wire.SignSocket(b.private, b.at()))
		return l.hear().Status == "ok"
	})
}

func TestInvalidFrames(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", many)
	b := h.agent().known()
	connect := func() (l *line) { // the relay may still count a socket whose end the agent has seen
		h.eventually("a place", func() bool {
			l = &line{h.dial(), b}
			l.say(wire.SignSocket(b.private, b.at()))
			return l.hear().Status == "ok"
		})
		return l
	}
	l := connect()
	h.must(l.Write(t.Context(), websocket.MessageBinary, []byte("x")))
	if status := l.ended(); status != websocket.StatusUnsupportedData {
		t.Errorf("binary: %v, want %v", status, websocket.StatusUnsupportedData)
	}
	l = connect()
	h.must(l.Write(t.Context(), websocket.MessageText, []byte(strings.Repeat("x", wire.MaxRequest+1))))
	if status := l.ended(); status != websocket.StatusMessageTooBig {
		t.Errorf("large: %v, want %v", status, websocket.StatusMessageTooBig)
	}
	l = connect()
	h.must(h.relay.Suspend(t.Context(), b.key(), true))
	if status := l.ended(); status != websocket.StatusPolicyViolation {
		t.Errorf("suspended: %v, want %v", status, websocket.StatusPolicyViolation)
	}
	h.must(h.relay.Suspend(t.Context(), b.key(), false))
	l = connect()
	h.wants(http.StatusNoContent, "", b.do("DELETE", b.path(), ""))
	if status := l.ended(); status != websocket.StatusPolicyViolation {
		t.Errorf("deleted: %v, want %v", status, websocket.StatusPolicyViolation)
	}
	l = connect()
	go h.stop()
	if status := l.ended(); status != websocket.StatusGoingAway {
		t.Errorf("at shutdown: %v, want %v", status, websocket.StatusGoingAway)
	}
}

// A message that was written 30 seconds ago counts as delivered if the socket is still open.
func TestUnacknowledgedMessages(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", many)
	a, b := h.agent().known(), h.agent().known()
	l := b.connect()
	id := a.send(b, `1`)
	l.hear()
	if got := a.do("GET", "/v1/messages/"+id+"/status", ""); !strings.Contains(string(got.Raw), `"sent"`) {
		t.Errorf("got %s", got.Raw)
	}
	h.eventually("delivered", func() bool {
		h.pass(31 * time.Second) // again, in case the relay recorded the time only after the first
		return strings.Contains(string(a.do("GET", "/v1/messages/"+id+"/status", "").Raw), `"delivered"`)
	})
}

// Messages beyond the limit of a socket wait for acknowledgements.
func TestSocketWindow(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", many)
	a, b := h.agent().known(), h.agent().known()
	for i := range 105 {
		a.send(b, fmt.Sprint(i))
	}
	l := b.connect()
	var first []wire.Reply
	for range 100 {
		first = append(first, l.hear())
	}
	l.say(`{"type":"ping"}`)
	if r := l.hear(); r.Type != "pong" {
		t.Errorf("the 101st message before an acknowledgement: %+v, want Type %q", r, "pong")
	}
	for _, r := range first[:5] {
		l.say(`{"type":"ack","message_id":"` + r.Message.ID + `"}`)
	}
	for range 5 {
		if r := l.hear(); r.Type != "message" {
			t.Errorf("got %+v, want Type %q", r, "message")
		}
	}
}

func TestTotalSocketLimit(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", func(o *relay.Options) { o.Limits.AllSockets = 1 })
	h.agent().known().connect()
	_, response, err := websocket.Dial(t.Context(), h.URL+"/v1/ws", nil)
	if err == nil || response.StatusCode != http.StatusTooManyRequests {
		t.Errorf("got %v %v; want an error and StatusCode %v", response, err, http.StatusTooManyRequests)
	}
}
