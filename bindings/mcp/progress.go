package mcp

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"

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

// reportProgress sends notifications/progress until stop is called, if the client has sent a progress token and accepts a stream. The
// response is then a stream whose last event is the result. The caller must call stop before it responds. See MCP 2026-07-28,
// basic/patterns/progress.
//
// event sends an event of a service whose response is a stream, as the message of a notification. It is nil if no notifications are sent.
func (a *answer) reportProgress() (event func([]byte), stop func()) {
	token := progressToken(a.meta()["progressToken"])
	if token == nil || !accepts(a.header.Values("Accept"), "text/event-stream") {
		return nil, func() {}
	}
	ended := make(chan struct{})
	var reporting sync.WaitGroup
	var sending sync.Mutex
	n := 0
	send := func(message string) {
		sending.Lock()
		defer sending.Unlock()
		n++
		a.progressed(token, n, message)
	}
	reporting.Go(func() {
		timer := time.NewTimer(progressAfter)
		defer timer.Stop()
		for {
			select {
			case <-ended:
				return
			case <-timer.C:
				send("The service is working on the call.")
				timer.Reset(progressEvery)
			}
		}
	})
	event = func(data []byte) {
		if len(data) <= maxProgressMessage { // longer events are in the result
			send(string(data))
		}
	}
	return event, func() {
		close(ended)
		reporting.Wait()
	}
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

// progressed sends the nth notification. The first one begins the stream.
func (a *answer) progressed(token []byte, n int, text string) {
	if !a.begun {
		a.beginStream()
	}
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": "notifications/progress", "params": map[string]any{
		"progressToken": json.RawMessage(token), "progress": n, "message": text,
	}})
	if err != nil { // the token is JSON
		return
	}
	_, _ = a.Write(jsonrpc.AppendEvent([]byte("event: message\n"), message))
	_ = http.NewResponseController(a.ResponseWriter).Flush()
}

// beginStream sends the header of a response that is a stream.
func (a *answer) beginStream() {
	a.stream, a.begun = true, true
	h := a.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["X-Accel-Buffering"] = []string{"no"}
	a.WriteHeader(http.StatusOK)
}
