package relay_test

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

// fill stores many messages from one agent to b in a thread, as delivered. Sending them would take many minutes.
func (h *host) fill(a, b *agent, thread string, messages int) {
	h.Helper()
	const senders = 64
	var all sync.WaitGroup
	for s := range senders {
		all.Go(func() {
			var ids []string
			for range (messages + senders - 1 - s) / senders {
				m, _, err := h.state.Send(h.Context(), mail.NewMessage{
					Message: mail.Message{
						ID: wire.NewMessageID(h.now()), Sender: a.key(), Recipient: b.key(), ContentType: "text/plain", Body: []byte(`"x"`), ThreadID: thread,
					},
					Lifetime: time.Hour, Waiting: 1 << 40, Unknown: 1 << 40, All: 1 << 40, Bytes: 1 << 40,
				})
				if err != nil {
					h.Error(err)
					return
				}
				ids = append(ids, m.ID)
			}
			for some := range slices.Chunk(ids, 100) {
				if err := h.state.Delivered(h.Context(), b.key(), some); err != nil {
					h.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// Each page of a long thread is as small and as fast as the first, for both agents, and new messages in the thread arrive.
func TestLongThread(t *testing.T) {
	t.Parallel()
	onBoth(t, func(h *host) {
		a, b := h.agent().known(), h.agent().known()
		began := time.Now()
		h.fill(a, b, "t", inThread)
		h.Logf("%d messages in %v", inThread, time.Since(began))
		last := a.send(b, `"last"`, `"thread_id":"t"`)
		if got := ids(b.poll("?thread_id=t")); !slices.Equal(got, []string{last}) {
			h.Errorf("%d messages wait, or another one", len(got))
		}
		for _, path := range []string{"/v1/messages/threads/t?limit=100", "/v1/messages?status=delivered&thread_id=t&limit=100"} {
			seen, slowest, cursor := map[string]bool{}, time.Duration(0), ""
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for last := (wire.Message{}); ; {
				began := time.Now()
				page := h.wants(http.StatusOK, "", b.do("GET", path+cursor, ""))
				slowest = max(slowest, time.Since(began))
				for _, m := range page.Messages {
					if seen[m.ID] || m.CreatedAt.Before(last.CreatedAt) {
						h.Fatalf("%s is a duplicate or out of order", m.ID)
					}
					seen[m.ID], last = true, m
				}
				if !page.HasMore {
					break
				}
				cursor = "&cursor=" + *page.NextCursor
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			h.Logf("%s: the slowest page took %v, %d KiB are held after %d", path, slowest, int64(after.HeapAlloc-before.HeapAlloc)>>10, len(seen))
			if len(seen) != inThread+1 {
				h.Errorf("%s: %d messages, want %d", path, len(seen), inThread+1)
			}
		}
		if page := h.wants(http.StatusOK, "", a.do("GET", "/v1/messages/threads/t?limit=100", "")); len(page.Messages) != 100 || !page.HasMore {
			h.Errorf("the sender's page has %d messages", len(page.Messages))
		}
		if got := b.poll("?in_reply_to=" + fmt.Sprint(last)); len(got) != 0 {
			h.Errorf("got %v", ids(got))
		}
	}, many)
}
