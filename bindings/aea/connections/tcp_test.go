package connections_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings/aea/connections/tcp"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

func tcpListening(t *testing.T, l runtime.Limits, b tcp.Bounds) (*tcp.Connection, *runtime.Runtime) {
	t.Helper()
	c, err := tcp.Listen(t.Context(), ":0", b)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(c.Address(), "127.0.0.1:") || !c.Confidential() {
		t.Errorf("listens at %s", c.Address())
	}
	return c, aeatest.Serve(t, l, c)
}

// TestTranscript replays the frames of the framework's client.
func TestTranscript(t *testing.T) {
	t.Parallel()
	c, _ := tcpListening(t, runtime.Limits{}, tcp.Bounds{})
	conn, err := net.Dial("tcp", c.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, name := range []string{"tcp/hello", "tcp/envelope"} {
		if _, err := conn.Write(aeavectors.Vector(t, vectors, name)); err != nil {
			t.Fatal(err)
		}
	}
	frame, err := wire.TCP.Read(conn)
	if err != nil {
		t.Fatal(err)
	}
	e, err := wire.DecodeEnvelope(frame)
	if err != nil {
		t.Fatal(err)
	}
	m, err := wire.DecodeMessage(e.Message)
	if err != nil {
		t.Fatal(err)
	}
	if e.To != "me" || e.Sender != "gw" || m.ID != -1 || m.Target != 1 || m.StarterRef != "a1" || len(m.ResponderRef) != 64 ||
		!bytes.Equal(m.Content, aeatest.Text("hello").Encode()) {
		t.Errorf("got %+v, %+v", e, m)
	}
}

// TestBadFramesAreDropped checks that the connection survives bad frames, because an agent would stop without it.
func TestBadFramesAreDropped(t *testing.T) {
	t.Parallel()
	c, r := tcpListening(t, runtime.Limits{}, tcp.Bounds{})
	a := aeatest.TCP(t, c.Address(), "me")
	other := a.Hello(t, "x")
	other.Sender = "somebody else"
	component := other
	component.To, component.Sender = "test/echo:1.0.0", "test/other:1.0.0"
	for _, bad := range [][]byte{[]byte("x"), bytes.Repeat([]byte{0x7b}, 1<<20)} {
		aeatest.Frame(t, a.Raw, wire.TCP, bad)
	}
	long := append([]byte{1, 0, 0x30, 0}, make([]byte, 0x300001)...)
	if _, err := a.Raw.Write(append(make([]byte, 8), long...)); err != nil { // two empty frames, and one that is too long
		t.Fatal(err)
	}
	a.Send(t, other)
	a.Send(t, component)
	if text := a.Ask(t, "still there"); text != "still there" {
		t.Errorf("got %q, want %q", text, "still there")
	}
	s := r.Status().Connections[0]
	if s.Refused != 7 || s.Received != 1 || s.Peers != 1 || strings.Contains(s.LastError, "else") {
		t.Errorf("got %+v", s)
	}
}

// TestFramesThatEndTheConnection checks that a connection ends if the start of the next frame or the address of the peer is unknown.
func TestFramesThatEndTheConnection(t *testing.T) {
	t.Parallel()
	c, r := tcpListening(t, runtime.Limits{}, tcp.Bounds{})
	hello := "\x02\x00\x00\x00me"
	for name, sent := range map[string]string{
		"a frame of 4 GB":            hello + "\xff\xff\xff\xff",
		"one byte more than 64 MiB":  hello + "\x01\x00\x00\x04",
		"an empty address":           "\x00\x00\x00\x00",
		"the address of a component": "\x0e\x00\x00\x00shop/skill:any",
		"an address with line feeds": "\x03\x00\x00\x00a\nb",
		"an endless address":         "\x00\x03\x00\x00" + strings.Repeat("a", 768),
		"HTTP":                       "GET / HTTP/1.1\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", c.Address())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, sent); err != nil {
			t.Fatal(err)
		}
		if data, err := io.ReadAll(conn); len(data) > 0 || err != nil && !isReset(err) {
			t.Errorf("%s: %q, %v", name, data, err)
		}
		conn.Close()
	}
	if s := r.Status().Connections[0]; s.Refused != 7 {
		t.Errorf("got %+v, want Refused 7", s)
	}
}

func isReset(err error) bool { return strings.Contains(err.Error(), "reset") }

// TestDuplicateAddress checks that envelopes go to the peer that connected last, even after the first one has left.
func TestDuplicateAddress(t *testing.T) {
	t.Parallel()
	c, r := tcpListening(t, runtime.Limits{}, tcp.Bounds{})
	first := aeatest.TCP(t, c.Address(), "me")
	first.Ask(t, "one")
	second := aeatest.TCP(t, c.Address(), "me")
	second.Ask(t, "two")
	first.Raw.Close()
	if text := second.Ask(t, "three"); text != "three" {
		t.Errorf("got %q, want %q", text, "three")
	}
	second.Raw.Close()
	third := aeatest.TCP(t, c.Address(), "third")
	third.Ask(t, "x")
	_, e, _ := second.Dialogues.Start(protocol.Default.Specs[0], "me", aeatest.Text("x"))
	e.Sender = aeatest.Self
	e.To = "nobody"
	if err := r.Multiplexer().Send(runtime.Envelope{Envelope: e}); !errors.Is(err, runtime.ErrNoPeer) {
		t.Errorf("got %v, want %v", err, runtime.ErrNoPeer)
	}
}

// TestReplyGoesToSender, and not to a peer that announces the same address later: addresses are not proven, and the reply may be a PAT.
func TestReplyGoesToSender(t *testing.T) {
	t.Parallel()
	c, r := tcpListening(t, runtime.Limits{}, tcp.Bounds{})
	first := aeatest.TCP(t, c.Address(), "me")
	first.Ask(t, "one")
	thief := aeatest.TCP(t, c.Address(), "me")
	thief.Ask(t, "two")
	if text := first.Ask(t, "three"); text != "three" {
		t.Errorf("got %q, want %q", text, "three")
	}
	e := first.Hello(t, "x")
	e.Protocol.Version = "9.9.9" // an error goes back on the same connection as a reply
	first.Send(t, e)
	if answer := first.Next(t, "me"); answer.Sender != aeatest.Self || r.Status().Errors.Answered != 1 {
		t.Errorf("got %+v", answer)
	}
	if text := thief.Ask(t, "four"); text != "four" {
		t.Errorf("got %q, want %q", text, "four")
	}
}

// TestConnectionsAreBounded checks that the number of connections from one address is bounded.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	c, _ := tcpListening(t, runtime.Limits{}, tcp.Bounds{PerAddress: 2})
	for _, name := range []string{"a", "b"} {
		aeatest.TCP(t, c.Address(), name).Ask(t, "x")
	}
	conn, err := net.Dial("tcp", c.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if data, err := io.ReadAll(conn); len(data) > 0 || err != nil && !isReset(err) {
		t.Errorf("got %q, %v", data, err)
	}
}

// TestAgentThatDoesNotRead checks that the connection drops the envelopes of such an agent, and that other agents get their replies.
func TestAgentThatDoesNotRead(t *testing.T) {
	t.Parallel()
	c, r := tcpListening(t, runtime.Limits{}, tcp.Bounds{})
	deaf, other := aeatest.TCP(t, c.Address(), "deaf"), aeatest.TCP(t, c.Address(), "other")
	large := strings.Repeat("x", 1<<20)
	for r.Status().Connections[0].Dropped == 0 { // once the kernel's buffers and the queue are full
		e := deaf.Hello(t, large)
		deaf.Send(t, e)
	}
	if text := other.Ask(t, "hello"); text != "hello" {
		t.Errorf("got %q, want %q", text, "hello")
	}
	if s := r.Status().Connections[0]; s.Queued > 8 {
		t.Errorf("got %+v, want Queued at most 8", s)
	}
}
