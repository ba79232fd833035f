package directory

import (
	"testing"
	"time"

	"github.com/uimgate/uimgate/bindings/aea/runtime"
	"github.com/uimgate/uimgate/internal/wire/aea/search"
)

// The limit on bytes is for other agents: the agent's own descriptions and profile do not count, whether they are registered, replaced or
// taken back.
func TestOwnDescriptionsDoNotCount(t *testing.T) {
	t.Parallel()
	r := newRegistry(time.Now)
	piece := search.Describe(modelPersonality, search.KeyValue{Key: "piece", Value: search.Text("genus")},
		search.KeyValue{Key: "value", Value: search.Text("service")})
	offer := search.Describe("offer", search.KeyValue{Key: "name", Value: search.Text("tea")})
	counted := func(n int) {
		t.Helper()
		if got := r.status().Bytes; got != n {
			t.Errorf("%d bytes, want %d", got, n)
		}
	}
	add := func(peer runtime.Peer, own bool, d search.Description, data string) {
		t.Helper()
		if err := r.register(peer, "address", own, d, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	remove := func(peer runtime.Peer, d search.Description, data string) {
		t.Helper()
		if err := r.unregister(peer, d, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	self, other := runtime.Peer{Address: "self"}, runtime.Peer{Address: "other"}
	for range 2 {
		add(self, true, piece, "piece")
		add(self, true, offer, "offer")
		counted(0)
		add(other, false, piece, "piece")
		add(other, false, offer, "offer")
		counted(2 * minWeight)
		remove(self, piece, "piece")
		remove(self, search.Description{}, "")
		counted(2 * minWeight)
		remove(other, search.Description{}, "")
		counted(0)
	}
}
