package mcp

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Progress is a notification about the progress of a call. See MCP 2026-07-28, basic/patterns/progress.
type Progress struct {
	Progress json.Number // as the server sent it
	Total    json.Number // empty: the server sent none
	Message  string      // the message of the server, which may contain anything
}

const (
	progressMethod = "notifications/progress"
	maxNumber      = 32 // the maximum length of a number, in bytes
	// The first reportBurst notifications about a call are passed on, and later ones at intervals of at least reportEvery.
	reportBurst = 100
	reportEvery = 100 * time.Millisecond
)

// readProgress reads the params of notifications/progress. It returns false if they have no token or no progress.
func readProgress(data []byte) (token string, p Progress, ok bool) {
	ok = strictjson.Members(data, func(name, value []byte) {
		switch string(name) {
		case "progressToken":
			token = string(value)
		case "progress":
			p.Progress = number(value)
		case "total":
			p.Total = number(value)
		case "message":
			p.Message, _ = strictjson.Text(value)
		}
	})
	return token, p, ok && token != "" && p.Progress != ""
}

// number returns a JSON number, or "" if value is not one or is too long.
func number(value []byte) json.Number {
	if len(value) == 0 || len(value) > maxNumber || value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		return ""
	}
	return json.Number(value)
}

// reports counts the notifications about one call.
type reports struct {
	passed int
	last   time.Time
}

// pass returns the notification in a message of the server, if it concerns the request with this id and the limits permit it.
func (r *reports) pass(got *response, id int64, now time.Time) (Progress, bool) {
	if got.method != progressMethod || r.passed >= reportBurst && now.Sub(r.last) < reportEvery {
		return Progress{}, false
	}
	token, p, ok := readProgress(got.params)
	if !ok || token != strconv.FormatInt(id, 10) {
		return Progress{}, false
	}
	r.passed++
	r.last = now
	return p, true
}

// A listener receives the notifications about one call of a child process. The goroutine that reads the output of the process drops
// notifications that do not fit into next, because it must not wait for one caller.
type listener struct {
	reports

	next chan Progress
}

// listen returns a channel that receives the notifications about a request.
func (c *child) listen(id int64) <-chan Progress {
	l := &listener{next: make(chan Progress, reportBurst)}
	c.mu.Lock()
	c.listening[id] = l
	c.mu.Unlock()
	return l.next
}

// report passes a notification to the caller whose request it concerns, if there is one.
func (c *child) report(got *response) {
	token, _, ok := readProgress(got.params)
	id, err := strconv.ParseInt(token, 10, 64)
	if !ok || err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.listening[id]
	if l == nil {
		return
	}
	if p, ok := l.pass(got, id, c.now()); ok {
		select {
		case l.next <- p:
		default:
		}
	}
}
