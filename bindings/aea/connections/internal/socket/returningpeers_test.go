package socket

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
)

// TestDisconnectedPeersExpire checks that peers expire some time after they leave, and that the earliest expire first if there are too
// many.
func TestDisconnectedPeersExpire(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	move := func(by time.Duration) { mu.Lock(); at = at.Add(by); mu.Unlock() }
	port := aeatest.Port(t, func() time.Time { mu.Lock(); defer mu.Unlock(); return at })
	var peers ReturningPeers
	send := func(to string) error {
		return peers.Send(wire.Envelope{To: to, Sender: "gw", Protocol: wire.PublicID{Author: "a", Name: "b", Version: "any"}})
	}
	expect := func(when string, err error, connected, queued int) {
		t.Helper()
		if n, waiting := peers.Count(); n != connected || waiting != queued || !errors.Is(send("nobody"), runtime.ErrNoPeer) {
			t.Errorf("%s: %d connected, %d wait", when, n, waiting)
		}
		if got := send("ann"); !errors.Is(got, err) {
			t.Errorf("%s: %v, want %v", when, got, err)
		}
	}
	nothing := func() {}
	_, leave := peers.Enter("ann", port, nothing)
	expect("connected", nil, 1, 0)
	move(time.Hour)
	expect("still connected", nil, 1, 1)
	leave()
	move(4 * time.Minute)
	expect("left", nil, 0, 2)
	_, leave = peers.Enter("ann", port, nothing)
	leave()
	move(4 * time.Minute)
	expect("left again", nil, 0, 3)
	move(time.Minute)
	expect("left long ago", runtime.ErrNoPeer, 0, 4) // counted until the next peer enters

	_, leave = peers.Enter("ann", port, nothing)
	leave()
	expect("first of many", nil, 0, 0)
	for i := range maxAway {
		_, leave := peers.Enter(fmt.Sprint("agent", i), port, nothing)
		leave()
	}
	expect("behind too many", runtime.ErrNoPeer, 0, 0)
	peers.Close()
	expect("closed", runtime.ErrNoPeer, 0, 0)
}
