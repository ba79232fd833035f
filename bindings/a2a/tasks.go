package a2a

import (
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	usualPage  = 50
	mostTasks  = 100 // on one page
	maxToken   = 256 // bytes of a page token
	maxHistory = 1 << 20
)

// named returns the record of the task that a request names or, if the task waits for a confirmation, the waiting call. If it returns
// false, it has responded with an error.
func (x *exchange) named() (execute.Record, *execute.WaitingCall, bool) {
	in := members{object: x.params}
	id := in.text("id", 1<<10, true)
	in.number("historyLength", 0, maxHistory, 0)
	if in.wrong != nil {
		x.fail(in.wrong)
		return execute.Record{}, nil, false
	}
	return x.find(id)
}

// find is named for a task with an id.
func (x *exchange) find(id string) (execute.Record, *execute.WaitingCall, bool) {
	r, w, err := x.lookUp(id)
	if err != nil {
		x.unfound(err)
	}
	return r, w, err == nil
}

// lookUp returns the record of a task or, if its call has not begun, the waiting call. If the agent has no such task, the error wraps
// execute.ErrNoRecord.
func (x *exchange) lookUp(id string) (execute.Record, *execute.WaitingCall, error) {
	r, err := x.Record(x.r.Context(), x.call, id)
	if !errors.Is(err, execute.ErrNoRecord) {
		return r, nil, err
	}
	w, err := x.Waiting(x.r.Context(), x.call, id)
	if err == nil {
		return execute.Record{}, &w, nil
	}
	if errors.Is(err, execute.ErrNoRecord) { // another request may have begun the call in the meantime
		r, err = x.Record(x.r.Context(), x.call, id)
	}
	return r, nil, err
}

// getTask responds to GetTask. If the task waits for a person, and the person has confirmed it in the meantime, the task continues. A2A
// 1.0, 3.1.3.
func (x *exchange) getTask() {
	r, w, found := x.named()
	switch {
	case !found:
	case w != nil:
		t, err := x.proceed(w)
		if err != nil {
			x.refuse(refusalOf(err))
			return
		}
		x.finish(x.appendTask(nil, &t))
	default:
		t := taskOf(&r)
		x.finish(x.appendTask(nil, &t))
	}
}

// cancelTask rejects CancelTask: a call cannot be cancelled once it has started, and a person decides about a call that waits. If the agent
// has no such task, the response is taskNotFound. A2A 1.0, 3.1.5.
func (x *exchange) cancelTask() {
	if _, _, found := x.named(); found {
		x.fail(taskNotCancelled)
	}
}

// statusOf maps a requested task state to the status of records; "" means any status. States that records never have are missing.
var statusOf = map[state]execute.CallStatus{
	"": "", "TASK_STATE_UNSPECIFIED": "", working: execute.CallRunning, completed: execute.CallDone, failed: execute.CallFailed,
}

// otherStates are the valid task states that records never have.
var otherStates = map[state]bool{
	"TASK_STATE_SUBMITTED": true, "TASK_STATE_CANCELED": true, rejected: true, waiting: true,
	"TASK_STATE_AUTH_REQUIRED": true,
}

// listTasks responds to ListTasks. A2A 1.0, 3.1.4.
func (x *exchange) listTasks() {
	q, size, none, fail := readListing(x.params)
	if fail != nil {
		x.fail(fail)
		return
	}
	var page execute.RecordPage
	if !none {
		var err error
		page, err = x.Records(x.r.Context(), x.call, q)
		switch {
		case errors.Is(err, execute.ErrNoRecord):
			x.fail(wrongMember("/pageToken", "must be a token from a response to this agent"))
			return
		case err != nil:
			x.refuse(refusalOf(err))
			return
		}
	}
	w := strictjson.NewWriter(nil)
	w.Append("tasks", func(out []byte) ([]byte, error) {
		out = append(out, '[')
		for i := range page.Records {
			if i > 0 {
				out = append(out, ',')
			}
			t := taskOf(&page.Records[i])
			var err error
			if out, err = x.appendTask(out, &t); err != nil {
				return out, err
			}
		}
		return append(out, ']'), nil
	})
	w.Text("nextPageToken", pageToken(page.Next))
	w.JSON("pageSize", strconv.AppendInt(nil, int64(size), 10))
	w.JSON("totalSize", strconv.AppendInt(nil, int64(page.Total), 10))
	x.finish(w.End())
}

// readListing reads the parameters of ListTasks. size is the requested page size. none means that no task can be in the requested state.
func readListing(params map[string]any) (q execute.RecordQuery, size int, none bool, fail *fault) {
	in := members{object: params}
	size = in.number("pageSize", 1, mostTasks, usualPage)
	in.number("historyLength", 0, maxHistory, 0)
	request := state(in.text("status", 1<<10, false))
	status, known := statusOf[request]
	if !known && !otherStates[request] {
		in.fail("status", "must be a TaskState such as TASK_STATE_COMPLETED")
	}
	q = execute.RecordQuery{
		ContextID: in.text("contextId", 1<<10, false), Status: status, Limit: size, Outputs: in.flag("includeArtifacts"),
	}
	if after := in.text("statusTimestampAfter", 1<<10, false); after != "" {
		var err error
		if q.Since, err = time.Parse(time.RFC3339, after); err != nil {
			in.fail("statusTimestampAfter", "must be a timestamp such as 2026-01-31T12:00:00.000Z")
		}
	}
	if token := in.text("pageToken", 1<<10, false); token != "" {
		var ok bool
		if q.After, ok = readPageToken(token); !ok {
			in.fail("pageToken", "must be a token from a response to this agent")
		}
	}
	return q, size, !known, in.wrong
}

// pageToken encodes a position in the list of tasks. It returns "" for the end of the list. The position contains a task id, and only the
// agent of that task can use the token.
func pageToken(c execute.RecordCursor) string {
	if c.ID == "" {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(c.Since.UnixNano(), 10) + "." + c.ID))
}

func readPageToken(s string) (c execute.RecordCursor, ok bool) {
	if len(s) > maxToken {
		return c, false
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return c, false
	}
	since, id, found := strings.Cut(string(text), ".")
	nanos, err := strconv.ParseInt(since, 10, 64)
	if !found || err != nil || id == "" || !visible(id) {
		return c, false
	}
	return execute.RecordCursor{Since: time.Unix(0, nanos), ID: id}, true
}
