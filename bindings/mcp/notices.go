package mcp

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

const (
	noticeEvery   = 500 * time.Millisecond // how often a stream of notices reads what people have decided
	aliveEvery    = 15 * time.Second       // how often a comment is sent to keep the connection open
	noticeWithin  = 10 * time.Second       // a stream ends if its client takes longer to read an event
	maxNotices    = 256                    // streams of notices
	maxNoticesOf  = 4                      // of one PAT
	noticeMessage = "notifications/elicitation/complete"
)

// wantsNotices reports whether a GET request may open a stream of notices: its client has declared that it opens addresses.
func (a *answer) wantsNotices() bool {
	return !a.revision.alone && strings.HasPrefix(a.header.Get(sessionHeader), opensURLs) &&
		accepts(a.header.Values("Accept"), "text/event-stream")
}

// streams counts the streams of notices, by PAT. It is safe for concurrent use.
type streams struct {
	mu  sync.Mutex
	all int
	of  map[string]int
}

// enter reports whether there is room for another stream. If there is, the caller must call leave.
func (s *streams) enter(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all >= maxNotices || s.of[token] >= maxNoticesOf {
		return false
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.all++
	s.of[token]++
	return true
}

func (s *streams) leave(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[token]--; s.of[token] == 0 {
		delete(s.of, token)
	}
}

// notify responds to a GET request of a client with a valid PAT with a stream that has a notification for each call about which the person
// decides, until the client disconnects or its PAT ends. MCP 2025-11-25, client/elicitation, Completion Notifications for URL Mode
// Elicitation.
func (d *Door) notify(r *http.Request, a *answer) {
	call := a.Call(Name)
	token, err := wire.Bearer(r.Header)
	if err == nil {
		call.Token = token
		_, err = a.Identify(r, &call)
	}
	var open []string
	if err == nil {
		open, err = a.Undecided(r.Context(), call)
	}
	// A client takes 405 for an endpoint without a stream. After 401, it would ask the person to consent before it makes a call.
	if err != nil || !d.notices.enter(token) {
		a.Header().Set("Allow", "POST, OPTIONS")
		a.refused(reason.MethodNotAllowed.Refusal("Messages must be sent with POST. No stream is open to this client at the moment."))
		return
	}
	defer d.notices.leave(token)
	a.beginStream()
	c := http.NewResponseController(a.ResponseWriter)
	send := func(event []byte) bool {
		_ = c.SetWriteDeadline(time.Now().Add(noticeWithin)) //nolint:forbidigo // deadlines of connections use the system clock
		_, err := a.Write(event)
		return err == nil && c.Flush() == nil
	}
	ask, alive := time.NewTicker(noticeEvery), time.NewTicker(aliveEvery)
	defer ask.Stop()
	defer alive.Stop()
	for live := send([]byte(": \n\n")); live; {
		select {
		case <-r.Context().Done():
			return
		case <-alive.C:
			live = send([]byte(": \n\n"))
		case <-ask.C:
			now, err := a.Undecided(r.Context(), call)
			if err != nil {
				return
			}
			for _, id := range open {
				if !slices.Contains(now, id) {
					live = live && send(completed(id))
				}
			}
			open = now
		}
	}
}

// completed returns the notification that the person has decided about a call, as an event.
func completed(id string) []byte {
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": noticeMessage, "params": map[string]string{"elicitationId": id}})
	if err != nil { // strings can always be encoded
		return nil
	}
	return jsonrpc.AppendEvent([]byte("event: message\n"), message)
}
