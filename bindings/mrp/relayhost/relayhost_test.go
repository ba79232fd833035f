package relayhost_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"go.uber.org/zap"

	"github.com/uimgate/uimgate/bindings/mrp/relayhost"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// start starts a relay with these bounds and returns its address.
func start(t *testing.T, header time.Duration, all, perAddress int) string {
	t.Helper()
	dir := t.TempDir()
	sqlitetest.Empty.Copy(t, filepath.Join(dir, "state.db"))
	state, err := sqlstore.Open(t.Context(), filepath.Join(dir, "state.db"), sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h, err := relayhost.New(relayhost.Options{
		Listener: ln, State: state, Blobs: filepath.Join(dir, "blobs"), Settings: *relayhost.Defaults(), Drain: time.Second, Log: zap.NewNop(),
	}.Bounded(header, all, perAddress))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := errors.Join(<-ended, state.Close()); err != nil {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// from dials with a given local address.
func from(t *testing.T, address, to string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	conn, err := d.DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// An agent is an honest client at one address.
type agent struct {
	*testing.T
	key    ed25519.PrivateKey
	relay  string
	client *http.Client
}

func newAgent(t *testing.T, address, relay string) *agent {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: d.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &agent{T: t, key: key, relay: relay, client: &http.Client{Transport: transport}}
}

// polls reports whether a poll of the agent succeeds.
func (a *agent) polls() bool {
	a.Helper()
	r, err := http.NewRequestWithContext(a.Context(), http.MethodGet, "http://"+a.relay+"/v1/messages", nil)
	if err != nil {
		a.Fatal(err)
	}
	wire.Sign(r.Header, a.key, time.Now(), http.MethodGet, "/v1/messages", wire.Sum(nil))
	got, err := a.client.Do(r)
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, got.Body)
	_ = got.Body.Close()
	return got.StatusCode == http.StatusOK
}

// ended waits until the relay has closed a connection.
func ended(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, conn); err != nil && errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// A connection ends if its headers arrive a byte at a time, or never.
func TestSlowHeaders(t *testing.T) {
	t.Parallel()
	relay := start(t, 200*time.Millisecond, 100, 100)
	for name, begin := range map[string]string{
		"nothing": "", "an incomplete line": "GET /v1", "a header without end": "GET /v1/health HTTP/1.1\r\nHost: x\r\nX: ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := from(t, "127.0.0.1", relay)
			_, err := fmt.Fprint(conn, begin)
			go func() {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for ; err == nil && begin != ""; <-tick.C {
					_, err = fmt.Fprint(conn, "x")
				}
			}()
			ended(t, conn)
		})
	}
}

// Clients that hold connections, from one address or from many, block neither connected agents nor new ones.
func TestHeldConnections(t *testing.T) {
	t.Parallel()
	const all, perAddress = 12, 4
	relay := start(t, time.Minute, all, perAddress)
	there := newAgent(t, "127.0.0.2", relay)
	if !there.polls() {
		t.Fatal("an agent is not served")
	}
	listening := newAgent(t, "127.0.0.3", relay)
	socket, _, err := websocket.Dial(t.Context(), "ws://"+relay+"/v1/ws", &websocket.DialOptions{HTTPClient: listening.client})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = socket.CloseNow() }()
	say := func(frame string, want string) {
		t.Helper()
		if err := socket.Write(t.Context(), websocket.MessageText, []byte(frame)); err != nil {
			t.Fatal(err)
		}
		if _, got, err := socket.Read(t.Context()); err != nil || !strings.Contains(string(got), want) {
			t.Fatalf("got %s, %v", got, err)
		}
	}
	first := wire.SignSocket(listening.key, time.Now())
	say(fmt.Sprintf(`{"type":"auth","public_key":%q,"timestamp":%q,"signature":%q}`, first.PublicKey, first.Timestamp, first.Signature), `"ok"`)

	var held []net.Conn
	for range perAddress + 2 { // the last two are refused
		held = append(held, from(t, "127.0.0.4", relay))
	}
	for _, conn := range held[perAddress:] {
		ended(t, conn)
	}
	for n := range 6 {
		for range perAddress {
			conn := from(t, fmt.Sprintf("127.0.0.%d", 10+n), relay)
			if _, err := fmt.Fprint(conn, "POST /v1/messages HTTP/1.1\r\n"); err != nil {
				t.Fatal(err)
			}
		}
	}
	ended(t, held[0]) // closed to make room
	if !there.polls() {
		t.Error("a connected agent is blocked")
	}
	say(`{"type":"ping"}`, "pong")
	for n := range 3 {
		if !newAgent(t, fmt.Sprintf("127.0.0.%d", 100+n), relay).polls() {
			t.Error("a new agent is blocked")
		}
	}
}
