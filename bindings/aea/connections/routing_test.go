package connections_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/connections/delegate"
	"github.com/uimgate/uimgate/bindings/aea/connections/mailbox"
	"github.com/uimgate/uimgate/bindings/aea/connections/stub"
	"github.com/uimgate/uimgate/bindings/aea/connections/tcp"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// connections has all connections of one agent.
type connections struct {
	*runtime.Runtime
	tcp       *tcp.Connection
	delegate  *delegate.Connection
	mailbox   *mailbox.Connection
	directory string
}

func listening(t *testing.T, l runtime.Limits) connections {
	t.Helper()
	plain, err1 := tcp.Listen(t.Context(), ":0", tcp.Bounds{})
	secure, err2 := delegate.Listen(t.Context(), ":0", aeatest.Node(t), delegate.Bounds{}, time.Now)
	request, err3 := mailbox.Listen(t.Context(), ":0", aeatest.Node(t), mailbox.Bounds{}, time.Now)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	for _, name := range []string{"input_file", "output_file"} {
		if err := os.WriteFile(filepath.Join(directory, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return connections{aeatest.Serve(t, l, plain, secure, request, stub.New(directory)), plain, secure, request, directory}
}

func (a connections) byDelegate(t *testing.T, number int) *aeatest.Peer {
	t.Helper()
	return aeatest.Delegate(t, a.delegate.Address(), aeatest.NodeKey, aeatest.Numbered(t, number), identity.Fetchai)
}

// status returns the status of a connection.
func (a connections) status(t *testing.T, id wire.PublicID) runtime.ConnectionStatus {
	t.Helper()
	for _, s := range a.Status().Connections {
		if s.ID == id.String() {
			return s
		}
	}
	t.Fatalf("no connection %s", id)
	return runtime.ConnectionStatus{}
}

// TestRepliesUseSameConnection checks that replies to an agent with two connections use the connection of the request. Messages that
// start a dialogue use the connection of the agent's last envelope.
func TestRepliesUseSameConnection(t *testing.T) {
	t.Parallel()
	a := listening(t, runtime.Limits{})
	secure := a.byDelegate(t, 7)
	plain := aeatest.TCP(t, a.tcp.Address(), secure.Address)
	for i := range 3 {
		if text := secure.Ask(t, "secure"); text != "secure" {
			t.Errorf("got %q, want %q", text, "secure")
		}
		if text := plain.Ask(t, "plain"); text != "plain" {
			t.Errorf("got %q, want %q", text, "plain")
		}
		begin := func(by *aeatest.Peer) {
			t.Helper()
			if _, err := a.Start(wire.PublicID{}, protocol.Default.Specs[0], secure.Address, aeatest.Text("news")); err != nil {
				t.Fatal(err)
			}
			if e := by.Next(t, ""); e.To != secure.Address || !strings.Contains(string(e.Message), "news") {
				t.Errorf("%d: %+v", i, e)
			}
		}
		begin(plain)
		secure.Ask(t, "last")
		begin(secure)
	}
}

// TestOneAgentForAllConnections checks that the same agent replies on every connection.
func TestOneAgentForAllConnections(t *testing.T) {
	t.Parallel()
	a := listening(t, runtime.Limits{})
	var asking sync.WaitGroup
	for i := range 5 {
		peers := []*aeatest.Peer{
			aeatest.TCP(t, a.tcp.Address(), "plain"+strconv.Itoa(i)), a.byDelegate(t, 10+i),
			aeatest.Mailbox(t, a.mailbox.Address(), aeatest.NodeKey, aeatest.Numbered(t, 20+i), identity.Ethereum),
		}
		for _, p := range peers {
			asking.Go(func() {
				for j := range 10 {
					if text := p.Address + strconv.Itoa(j); p.Ask(t, text) != text {
						t.Errorf("%s got no reply", text)
					}
				}
			})
		}
	}
	asking.Wait()
	for _, id := range []wire.PublicID{tcp.ID, delegate.ID, mailbox.ID} {
		if s := a.status(t, id); s.Received != 50 || s.Refused != 0 || s.Dropped != 0 || s.Peers != 5 {
			t.Errorf("got %+v; want Received 50, Refused 0, Dropped 0 and Peers 5", s)
		}
	}
	if s := a.Status(); s.Routes != 15 || s.Unserved != 0 || s.InBox.Waiting+s.InBox.Working > 15 {
		t.Errorf("got %+v; want Routes 15, Unserved 0 and InBox.Waiting + s.InBox.Working at most 15", s)
	}
}

// TestFloodsDoNotAffectOthers makes many agents on one connection send as fast as they can without reading. Agents on the other connections
// still get replies, and the queues stay bounded.
func TestFloodsDoNotAffectOthers(t *testing.T) { // not parallel, because it would slow other tests down
	few := runtime.DefaultLimits
	few.Workers, few.OutBox, few.Drain = 4, 8<<20, time.Millisecond
	a := listening(t, few)
	large := strings.Repeat("x", 256<<10)
	wrote := make(chan struct{}, 1) // receives a value after a write
	var flooding sync.WaitGroup
	defer flooding.Wait()
	for i := range 4 {
		p := aeatest.TCP(t, a.tcp.Address(), "flood"+strconv.Itoa(i))
		defer p.Raw.Close() // ends the flood of this one
		if err := p.Raw.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
		flooding.Go(func() {
			for {
				data, err := p.Hello(t, large).Encode()
				if err != nil {
					t.Error(err)
					return
				}
				frame, err := wire.TCP.Append(nil, data)
				if err == nil {
					_, err = p.Raw.Write(frame)
				}
				if err != nil {
					return
				}
				select {
				case wrote <- struct{}{}:
				default:
				}
			}
		})
	}
	for a.status(t, tcp.ID).Dropped == 0 {
		<-wrote
	}
	secure := a.byDelegate(t, 7)
	request := aeatest.Mailbox(t, a.mailbox.Address(), aeatest.NodeKey, aeatest.Numbered(t, 8), identity.Fetchai)
	for range 3 {
		for _, p := range []*aeatest.Peer{secure, request} {
			if text := p.Ask(t, "hello"); text != "hello" {
				t.Errorf("got %q, want %q", text, "hello")
			}
		}
	}
	s := a.Status()
	if waiting := a.status(t, tcp.ID).Queued * len(large); waiting > 8<<20 || s.InBox.Waiting > 4*64 {
		t.Errorf("%d bytes wait to be sent, %+v; want at most %v and Waiting at most %v", waiting, s.InBox, 8<<20, 4*64)
	}
}
