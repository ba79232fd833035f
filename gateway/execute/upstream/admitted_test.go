package upstream

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/uimgate/uimgate/config"
)

// Calls that began before the circuit for all agents opened do not affect it after it has closed again.
func TestEarlierCallsDoNotReopenTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker("", newOwnCircuits(), config.Breaker{Failures: 2, OpenFor: time.Second}, time.Now)
		call := func(agent string) admittedCall {
			t.Helper()
			a, err := b.allow(agent)
			if err != nil {
				t.Fatalf("%s: %v", agent, err)
			}
			return a
		}
		late := []admittedCall{call("c"), call("d")}
		for _, agent := range []string{"a", "b"} {
			call(agent).ended(ErrBroken)
		}
		if got := b.state(); got != gobreaker.StateOpen {
			t.Fatalf("after two failures of two agents: %s, want %s", got, gobreaker.StateOpen)
		}
		time.Sleep(2 * time.Second)
		probe := call("e")
		if _, err := b.allow("f"); err == nil {
			t.Error("a call was let through during the probe")
		}
		probe.ended(nil)
		for _, a := range late {
			a.ended(ErrBroken)
		}
		if got := b.state(); got != gobreaker.StateClosed {
			t.Errorf("after late failures: %s, want %s", got, gobreaker.StateClosed)
		}
	})
}
