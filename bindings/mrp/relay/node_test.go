package relay_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	bindtest "github.com/uimgate/uimgate/internal/test/bindings"
)

// An agent in JavaScript, which shares no code with this project, uses every function of the relay.
func TestNodeAgent(t *testing.T) {
	t.Parallel()
	dir := bindtest.Node(t)
	onBoth(t, func(h *host) {
		var parts []string
		h.must(json.Unmarshal(bindtest.Run(h.T, dir, "mrp.mjs", h.URL, h.now().Format(time.RFC3339Nano)), &parts))
		if want := []string{
			"vectors", "health", "identity", "profile", "discover", "messages", "long poll", "refusals", "blobs", "access", "encrypted",
			"webhooks", "sockets", "rates", "the end",
		}; !slices.Equal(parts, want) {
			h.Errorf("%q, want %q", parts, want)
		}
	}, private)
}
