package mcp

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// The first notification about the progress of a call is sent after progressAfter, and the next ones at intervals of progressEvery.
const (
	progressAfter = time.Second
	progressEvery = 5 * time.Second
)

// maxProgressToken is the maximum length of a progress token, in bytes.
const maxProgressToken = 200

// notifications are the notifications/progress about one call. See MCP 2026-07-28, basic/patterns/progress.
type notifications struct {
	of    *answer
	token []byte // JSON
	tools bool   // the service is an MCP server, which may report progress itself

	mu    sync.Mutex
	n     int     // number of own notifications
	last  float64 // progress in the last notification
	their bool    // the service reports progress, so the gateway sends no own notifications
}

// reportProgress sends notifications/progress until stop is called, if the client has sent a progress token and accepts a stream. The
// response is then a stream whose last event is the result. The caller must call stop before it responds. Without notifications, n is nil.
func (a *answer) reportProgress() (n *notifications, stop func()) {
	token := progressToken(a.meta()["progressToken"])
	if token == nil || !accepts(a.header.Values("Accept"), "text/event-stream") {
		return nil, func() {}
	}
	n = &notifications{of: a, token: token, tools: a.Service.Upstream.IsMCP()}
	ended := make(chan struct{})
	var reporting sync.WaitGroup
	reporting.Go(func() {
		timer := time.NewTimer(progressAfter)
		defer timer.Stop()
		for {
			select {
			case <-ended:
				return
			case <-timer.C:
				n.own("The service is working on the call.")
				timer.Reset(progressEvery)
			}
		}
	})
	return n, func() {
		close(ended)
		reporting.Wait()
	}
}

// event sends an event of a service whose response is a stream, as the message of a notification.
func (n *notifications) event(data []byte) {
	if len(data) <= maxProgressMessage { // longer events are in the result
		n.own(string(data))
	}
}

// ownStep is the progress between two notifications of the gateway about a call to an MCP server. It is so small that the progress that the
// server reports afterwards is higher.
const ownStep = 1e-6

// own sends a notification of the gateway, unless the service reports progress itself.
func (n *notifications) own(message string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.their {
		return
	}
	n.n++
	n.last = float64(n.n)
	if n.tools {
		n.last *= ownStep
	}
	n.send(map[string]any{"progress": n.last, "message": message})
}

// progress sends a notification of an MCP server, with its progress, total and message. It drops those whose progress is not higher than
// that of the last notification, because MCP forbids them. The progress of a repeated call may begin again.
func (n *notifications) progress(p execute.Progress) {
	n.mu.Lock()
	defer n.mu.Unlock()
	value, err := p.Progress.Float64()
	if err != nil || (n.their || n.n > 0) && value <= n.last {
		return
	}
	n.their, n.last = true, value
	params := map[string]any{"progress": p.Progress}
	if p.Total != "" {
		params["total"] = p.Total
	}
	if p.Message != "" {
		params["message"] = p.Message
	}
	n.send(params)
}

// send sends a notification. The first one begins the stream.
func (n *notifications) send(params map[string]any) {
	if !n.of.begun {
		n.of.beginStream()
	}
	params["progressToken"] = json.RawMessage(n.token)
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
	if err != nil { // the token is JSON
		return
	}
	_, _ = n.of.Write(jsonrpc.AppendEvent([]byte("event: message\n"), message))
	_ = http.NewResponseController(n.of.ResponseWriter).Flush()
}

// maxProgressMessage is the maximum length of an event that is sent as a notification, in bytes.
const maxProgressMessage = 64 << 10

// progressToken returns a token as JSON, or nil if it is neither a string nor a number, or too long.
func progressToken(v any) []byte {
	switch v.(type) {
	case string, json.Number:
	default:
		return nil
	}
	text, err := strictjson.Append(nil, v)
	if err != nil || len(text) > maxProgressToken {
		return nil
	}
	return text
}

// beginStream sends the header of a response that is a stream.
func (a *answer) beginStream() {
	a.stream, a.begun = true, true
	h := a.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["X-Accel-Buffering"] = []string{"no"}
	a.WriteHeader(http.StatusOK)
}
