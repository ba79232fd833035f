package relay_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
	"github.com/uimgate/uimgate/internal/membudget"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// The first byte of a frame: its type, and whether it is the last frame of its message. See RFC 6455, section 5.2.
const (
	opMore = 0x0
	opText = 0x1
	opPing = 0x9
	opPong = 0xa
	fin    = 0x80
)

// frame returns the beginning of a frame of a client, masked with zeros, with part of its content.
func frame(first byte, content string, length int) string {
	out := []byte{first}
	switch {
	case length < 126:
		out = append(out, 0x80|byte(length))
	case length < 1<<16:
		out = binary.BigEndian.AppendUint16(append(out, 0x80|126), uint16(length))
	default:
		out = binary.BigEndian.AppendUint64(append(out, 0x80|127), uint64(length))
	}
	return string(append(out, 0, 0, 0, 0)) + content
}

// rawSocket opens a WebSocket of an agent, frame by frame.
func (a *agent) rawSocket() (net.Conn, *bufio.Reader) {
	a.Helper()
	conn := a.raw("GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	from := bufio.NewReader(conn)
	answer, err := http.ReadResponse(from, nil)
	a.must(err)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusSwitchingProtocols {
		a.Fatal(answer.Status)
	}
	first, err := json.Marshal(wire.SignSocket(a.private, a.at()))
	a.must(err)
	_, err = fmt.Fprint(conn, frame(fin|opText, string(first), len(first)))
	a.must(err)
	var head [2]byte
	_, err = io.ReadFull(from, head[:])
	a.must(err)
	reply := make([]byte, head[1])
	_, err = io.ReadFull(from, reply)
	a.must(err)
	if !strings.Contains(string(reply), `"ok"`) {
		a.Fatalf("got %s", reply)
	}
	return conn, from
}

// cut waits until the relay has ended a connection.
func (h *host) cut(conn net.Conn) {
	h.Helper()
	h.must(conn.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := io.Copy(io.Discard, conn); err != nil && !isReset(err) {
		h.Errorf("the connection does not end: %v", err)
	}
}

func isReset(err error) bool { return strings.Contains(err.Error(), "connection reset") }

// An unfinished frame ends with its socket, and releases its memory.
func TestUnfinishedFrames(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, attack := range map[string]struct {
		hurry relay.Times
		begin string
		again string // repeated without end
	}{
		"an incomplete header":        {relay.Times{Ping: 100 * time.Millisecond}, frame(fin|opText, "", size)[:4], ""},
		"an incomplete frame":         {relay.Times{Body: 100 * time.Millisecond}, frame(fin|opText, strings.Repeat("x", size), 2*size-1), ""},
		"a frame, a byte at a time":   {relay.Times{Body: 100 * time.Millisecond}, frame(fin|opText, "", size), "x"},
		"fragments without end":       {relay.Times{Body: 100 * time.Millisecond}, frame(opText, "x", 1), frame(opMore, "x", 1)},
		"fragments without content":   {relay.Times{Body: 100 * time.Millisecond}, frame(opText, "", 0), frame(opMore, "", 0)},
		"fragments, and pongs within": {relay.Times{Body: 100 * time.Millisecond}, frame(opText, "", 0), frame(fin|opPong, "", 0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, "", many, relay.Hurry(attack.hurry), func(o *relay.Options) { o.Budget = membudget.NewBudget(3*size, func() {}) })
			a, b := h.agent().known(), h.agent().known()
			conn, _ := a.rawSocket()
			_, err := fmt.Fprint(conn, attack.begin)
			h.must(err)
			if attack.again != "" {
				go func() {
					for err == nil {
						_, err = fmt.Fprint(conn, attack.again)
					}
				}()
			}
			h.cut(conn)
			large := message(b.key(), `"`+strings.Repeat("x", size/2)+`"`)
			h.eventually("the memory is free", func() bool { return b.do("POST", "/v1/messages", large).Status == http.StatusAccepted })
		})
	}
}

// A flood of frames without effect closes the socket; acknowledgements of messages do not.
func TestFrameFlood(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", many, func(o *relay.Options) { o.Limits.Frames = 20 })
	a := h.agent().known()
	for name, flood := range map[string]string{
		"pings": `{"type":"ping"}`, "pongs": `{"type":"pong"}`, "acknowledgements": `{"type":"ack","message_id":"x"}`,
		"nonsense": `nonsense`, "large frames": strings.Repeat("x", 1<<20), "sends": `{"type":"send","message":{}}`,
	} {
		l := h.agent().known().connect()
		go func() {
			for l.Write(t.Context(), websocket.MessageText, []byte(flood)) == nil {
			}
		}()
		if status := l.ended(); status != websocket.StatusPolicyViolation {
			t.Errorf("%s: %v, want %v", name, status, websocket.StatusPolicyViolation)
		}
	}
	for _, early := range []bool{false, true} {
		conn, _ := a.rawSocket()
		if early {
			conn = h.raw("GET /v1/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
				"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		}
		go func() {
			for {
				if _, err := fmt.Fprint(conn, frame(fin|opPing, "", 0)); err != nil {
					return
				}
			}
		}()
		h.cut(conn)
	}
	b := h.agent().known()
	l := b.connect()
	for range 40 {
		a.send(b, `1`)
		l.say(`{"type":"ack","message_id":"` + l.hear().Message.ID + `"}`)
	}
}

// A peer that reads nothing occupies the memory of one message, however many wait for it, and does not delay others. Unread messages are
// delivered again.
func TestPeerThatNeverReads(t *testing.T) {
	t.Parallel()
	const size, messages = 1 << 20, 12
	h := newHost(t, "", many, relay.Hurry(relay.Times{Write: time.Second}), func(o *relay.Options) {
		o.Budget = membudget.NewBudget(5*size, func() {}) // for one outgoing and one incoming frame
	})
	a, deaf, b := h.agent().known(), h.agent().known(), h.agent().known()
	body := `"` + strings.Repeat("x", size/2) + `"`
	want := map[string]bool{}
	conn, _ := deaf.rawSocket()
	h.must(conn.(*net.TCPConn).SetReadBuffer(4 << 10))
	l := b.connect()
	for range messages {
		want[a.send(deaf, body)] = true
		id := a.send(b, body)
		if r := l.hear(); r.Message.ID != id {
			t.Errorf("received %s, want %s", r.Message.ID, id)
		}
		l.say(`{"type":"ack","message_id":"` + id + `"}`)
	}
	h.eventually("the socket ends", func() bool { return !h.relay.HasSocket(deaf.key()) })
	for len(want) > 0 {
		list := deaf.poll("?limit=2")
		if len(list) == 0 {
			t.Fatalf("%d messages are gone", len(want))
		}
		for _, m := range list {
			delete(want, m.ID)
		}
	}
}

// Unauthenticated sockets are closed to make room for new ones.
func TestSocketsOfStrangersMakeRoom(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", many, func(o *relay.Options) { o.Limits.AllSockets = 3 })
	var silent []*websocket.Conn
	for range 5 {
		silent = append(silent, h.dial())
	}
	one, other := h.agent().known().connect(), h.agent().known().connect()
	for _, conn := range silent[:4] {
		if _, _, err := conn.Read(t.Context()); err == nil {
			t.Error("a replaced socket received a message")
		}
	}
	h.agent().known().connect()
	if _, response, err := websocket.Dial(t.Context(), h.URL+"/v1/ws", nil); err == nil || response.StatusCode != http.StatusTooManyRequests {
		t.Errorf("got %v %v; want an error and StatusCode %v", response, err, http.StatusTooManyRequests)
	}
	for _, l := range []*line{one, other} {
		l.say(`{"type":"ping"}`)
		if r := l.hear(); r.Type != "pong" {
			t.Errorf("got %+v, want Type %q", r, "pong")
		}
	}
}
