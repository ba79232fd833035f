package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

const (
	noticeEvery   = 500 * time.Millisecond // how often a stream of notices reads the decisions of people
	aliveEvery    = 15 * time.Second       // how often a comment is sent to keep the connection open
	maxNotices    = 256                    // streams of notices
	maxNoticesOf  = 4                      // of one PAT
	noticeMessage = "notifications/elicitation/complete"
)

// wantsNotices reports whether a GET request may open a stream of notices: its client has declared that it opens addresses.
func (a *answer) wantsNotices() bool {
	return !a.revision.alone && strings.HasPrefix(a.header.Get(sessionHeader), opensURLs) &&
		accepts(a.header.Values("Accept"), "text/event-stream")
}

// notify responds to a GET request with a stream, if the client has a valid PAT. The stream has a notification for each call that the
// person decides on, and begins with those for recent calls: the person may have decided before the client opened the stream, or while it
// had none. Clients ignore notifications for calls that they do not wait for. The stream ends when the client disconnects or the PAT ends.
// MCP 2025-11-25, client/elicitation, Completion Notifications for URL Mode Elicitation.
func (d *Door) notify(r *http.Request, a *answer) {
	call := a.Call(Name)
	token, err := wire.Bearer(r.Header)
	if err == nil {
		call.Token = token
		_, err = a.Identify(r, &call)
	}
	var calls map[string]bool
	if err == nil {
		calls, err = a.Decided(r.Context(), call)
	}
	// 405 means that the endpoint offers no stream. After a 401, the client would ask the person to consent before it makes a call.
	if err != nil || !d.notices.Enter(token) {
		a.Header().Set("Allow", "POST, OPTIONS")
		a.refused(reason.MethodNotAllowed.Refusal("Messages must be sent with POST. No stream is open to this client at the moment."))
		return
	}
	defer d.notices.Leave(token)
	a.beginStream()
	s := jsonrpc.NewEventStream(a.ResponseWriter)
	alive := []byte(": \n\n") // a comment
	ask, keep := time.NewTicker(noticeEvery), time.NewTicker(aliveEvery)
	defer ask.Stop()
	defer keep.Stop()
	s.Write(alive)
	for known := map[string]bool(nil); !s.Lost; {
		for id, decided := range calls {
			if decided && !known[id] {
				s.Write(completed(id))
			}
		}
		known = calls
		select {
		case <-r.Context().Done():
			return
		case <-keep.C:
			s.Write(alive)
		case <-ask.C:
			if calls, err = a.Decided(r.Context(), call); err != nil {
				return
			}
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
