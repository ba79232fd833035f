package relay_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/uimgate/uimgate/bindings/mrp/relay"
)

// A socket without a first frame gets an error, and is closed.
func TestSilentSocket(t *testing.T) {
	t.Parallel()
	h := newHost(t, "", relay.Hurry(relay.Times{Greet: 100 * time.Millisecond}))
	l := &line{h.dial(), h.agent()}
	if _, text, err := l.Read(t.Context()); err == nil && !strings.Contains(string(text), `"unauthorized"`) {
		t.Errorf("got %s", text)
	} else if err == nil {
		if status := l.ended(); status != websocket.StatusPolicyViolation && status != -1 {
			t.Errorf("got %v", status)
		}
	}
}

// A message with ten attachments is accepted, and a message with eleven is refused, although each blob is valid.
func TestElevenAttachments(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent().known(), h.agent().known()
		var list []string
		for range 11 {
			list = append(list, `"`+h.wants(http.StatusCreated, "", a.do("POST", "/v1/blobs", "bytes")).BlobID+`"`)
		}
		attached := func(n int) string { return `"attachments":[` + strings.Join(list[:n], ",") + `]` }
		h.wants(http.StatusUnprocessableEntity, "unprocessable_entity", a.do("POST", "/v1/messages", message(b.key(), `1`, attached(11))))
		id := a.send(b, `1`, attached(10))
		for _, either := range []*agent{a, b} {
			if got := either.state(id); !strings.Contains(got, `"sent"`) {
				t.Errorf("got %s, want a text that contains %q", got, `"sent"`)
			}
		}
		if got := b.poll(""); len(got) != 1 || len(got[0].Attachments) != 10 {
			t.Errorf("got %+v; want length 1 and [0].Attachments of length 10", got)
		}
	})
}

// A timestamp within the tolerance by a second is accepted, and one beyond it by a second is refused, in both directions.
func TestToleranceBounds(t *testing.T) {
	t.Parallel()
	h := newHost(t, "")
	a := h.agent().known()
	for away, status := range map[time.Duration]int{
		4*time.Minute + 59*time.Second: http.StatusOK, 5*time.Minute + time.Second: http.StatusUnauthorized,
	} {
		for _, at := range []time.Time{h.now().Add(away), h.now().Add(-away)} {
			r := a.host.request("GET", a.path(), "")
			sign(a, r, at)
			if got := h.sent(r); got.Status != status {
				t.Errorf("%v away: %d %s; want %v", away, got.Status, got.Raw, status)
			}
		}
	}
}
