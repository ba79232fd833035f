// Package aeatest has agents and connections of the AEA framework, for tests of the AEA door.
package aeatest

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/node"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/identity"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// Self is the address of the agent that Serve runs.
const Self = "gw"

// Serve runs an agent with connections until the test ends. Its skill echoes the bytes in messages of the default protocol. Zero
// limits mean those of a gateway.
func Serve(tb testing.TB, l runtime.Limits, connections ...runtime.Connection) *runtime.Runtime {
	tb.Helper()
	if l == (runtime.Limits{}) {
		l = runtime.DefaultLimits
		l.Drain = time.Millisecond
	}
	r := runtime.New(Self, runtime.Options{Now: now, Limits: l})
	err := r.Resources().Add(runtime.Skill{
		ID:       wire.PublicID{Author: "test", Name: "echo", Version: "1.0.0"},
		Handlers: []runtime.Handler{{Protocol: &protocol.Default, Handle: echo}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	for _, c := range connections {
		if err := r.Connect(c, runtime.ConnectionOptions{}); err != nil {
			tb.Fatal(err)
		}
	}
	run(tb, r)
	return r
}

// run runs an agent until the test ends.
func run(tb testing.TB, r *runtime.Runtime) {
	tb.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx) })
	tb.Cleanup(func() { stop(); running.Wait() })
}

func echo(_ context.Context, m runtime.Message) error {
	if d, ok := m.Content.(protocol.DefaultMessage); ok && d.Performative == protocol.DefaultBytes {
		return m.Reply(Text(string(d.Bytes)))
	}
	return nil
}

// Node returns a node with the private key KeyOne, whose public key is NodeKey.
func Node(tb testing.TB) *node.Node {
	tb.Helper()
	n, err := node.Open(Key(tb, KeyOne), filepath.Join(tb.TempDir(), "node.pem"), now())
	if err != nil {
		tb.Fatal(err)
	}
	return n
}

// NodeKey is the public key of Node.
const NodeKey = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"

// Numbered returns a private key for tests, whose value is n.
func Numbered(tb testing.TB, n int) identity.Key {
	tb.Helper()
	return Key(tb, fmt.Sprintf("%064x", n))
}

// DefaultSpec is the specification id of the default protocol.
var DefaultSpec = protocol.Default.Specs[0]

// Text returns a message of the default protocol.
func Text(s string) protocol.DefaultMessage {
	return protocol.DefaultMessage{Performative: protocol.DefaultBytes, Bytes: []byte(s)}
}
