package mcp

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

// tasksExtension is the extension for calls whose result the client requests later. MCP Tasks extension, 2026-07-28.
const tasksExtension = "io.modelcontextprotocol/tasks"

// missingCapability is the code of the error for clients that have not declared a required capability. MCP 2026-07-28, basic, Error Codes.
const missingCapability = -32021

const (
	// taskAfter is how long a call may take before the client receives a task, and not the result.
	taskAfter = 2 * time.Second
	// taskKept is how long the client can request a task after its creation: as long as records of calls can be read.
	taskKept     = 24 * time.Hour
	taskPollTime = 2 * time.Second
	maxTaskID    = 128 // bytes
)

// taskKey precedes the idempotency key of a call without a key of the client.
const taskKey = "mcp-task:"

// takesTasks reports whether the client has declared the extension in this request.
func (a *answer) takesTasks() bool {
	if !a.revision.alone {
		return false
	}
	capabilities, _ := strictjson.AsObject(a.meta()[metaCapabilities])
	_, declared := strictjson.AsObject(capabilities.Object("extensions")[tasksExtension])
	return declared
}

// A taskError is the error of a call that has become a task.
type taskError struct{ execute.Reference }

func (*taskError) Error() string { return "the call continues as a task" }

// executeOrTask makes a call. If the call takes longer than taskAfter, the error is a *taskError: the record of the call is durable, and
// the call continues.
func (a *answer) executeOrTask(ctx context.Context, call execute.Call) (execute.Result, error) {
	call.Stream, call.Progress = nil, nil // the call may outlive the response
	call.ContextID = uuid.NewString()     // only calls with one have a record that agents can read
	if call.IdempotencyKey == "" {        // only calls with one have a record with their output
		call.IdempotencyKey = execute.IdempotencyKey(taskKey + call.ContextID)
	}
	started := a.Start(ctx, call)
	timer := time.NewTimer(taskAfter)
	defer timer.Stop()
	select {
	case <-started.Done():
	case <-timer.C:
		if reference, begun := started.Begun(); begun {
			return execute.Result{}, &taskError{reference}
		}
		<-started.Done()
	}
	result, event, err := started.Ended()
	a.Event = event
	f, refused := errors.AsType[*reason.Refusal](err)
	if refused && f.Reason == reason.IdempotencyInProgress {
		if r, err := a.RecordOf(ctx, call, call.IdempotencyKey); err == nil && r.Status == execute.CallRunning {
			return execute.Result{}, &taskError{r.Reference}
		}
	}
	if err != nil {
		return result, err
	}
	output := slices.Clone(result.Output)
	result.Sent()
	result.Output = output
	return result, nil
}

// created responds with a new task. MCP Tasks extension, Task Creation.
func (a *answer) created(t *taskError) {
	w := strictjson.NewWriter(nil)
	w.Text("resultType", "task")
	writeTask(&w, "working", t.Reference)
	a.result(ended(w))
}

// writeTask writes the members that all tasks have. MCP Tasks extension, Tasks.
func writeTask(w *strictjson.Writer, status string, r execute.Reference) {
	began := r.Since
	if id, err := uuid.Parse(r.ID); err == nil && id.Version() == 7 { // the id of a record contains the time of its creation
		seconds, nanoseconds := id.Time().UnixTime()
		began = time.Unix(seconds, nanoseconds)
	}
	w.Text("taskId", r.ID)
	w.Text("status", status)
	w.Text("createdAt", began.UTC().Format(time.RFC3339Nano))
	w.Text("lastUpdatedAt", r.Since.UTC().Format(time.RFC3339Nano))
	w.JSON("ttlMs", strconv.AppendInt(nil, taskKept.Milliseconds(), 10))
	w.JSON("pollIntervalMs", strconv.AppendInt(nil, taskPollTime.Milliseconds(), 10))
}

// tasks responds to tasks/get, tasks/update and tasks/cancel.
//
// The gateway requests nothing from the client during a call, so it ignores the content of tasks/update. A call that has been sent runs to
// its end, so tasks/cancel has no effect; the extension permits both.
func (*Door) tasks(r *http.Request, a *answer, call execute.Call) {
	if !a.takesTasks() {
		a.failed(http.StatusBadRequest, &jsonrpc.Error{
			Code: missingCapability, Message: "The client has not declared the extension " + tasksExtension + ".",
			Data: []byte(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`),
		})
		return
	}
	id, _ := a.Params["taskId"].(string)
	record, err := execute.Record{}, execute.ErrNoRecord
	if id != "" && len(id) <= maxTaskID {
		record, err = a.Record(r.Context(), call, id)
	}
	switch {
	case errors.Is(err, execute.ErrNoRecord):
		a.failed(http.StatusOK, invalidParams("There is no such task, or it is older than "+taskKept.String()+"."))
	case err != nil:
		a.refused(err)
	case a.Method != "tasks/get":
		a.result([]byte(`{"resultType":"complete"}`))
	default:
		a.task(&record)
	}
}

// task responds with the state of a task. A refused call is complete too: its result has isError. MCP Tasks extension, Task Polling and
// Error Handling.
func (a *answer) task(r *execute.Record) {
	w := strictjson.NewWriter(make([]byte, 0, 2*len(r.Output)+1024))
	w.Text("resultType", "complete")
	if r.Status == execute.CallRunning {
		writeTask(&w, "working", r.Reference)
		a.result(ended(w))
		return
	}
	writeTask(&w, "completed", r.Reference)
	w.Append("result", func(out []byte) ([]byte, error) {
		out = append(append(out, '{'), a.complete()...)
		if f := r.Refusal; f != nil {
			about := a.About(f)
			about.RequestID = "" // another request made the call
			wire.WriteTaken(a.Header(), f)
			out = appendContent(out, refusal.Sentence(f), string(wire.Envelope(f, about)))
			return append(a.metaOf(append(out, `,"isError":true`...)), '}'), nil
		}
		door.WriteHeader(a.Header(), &execute.Result{Charge: r.Charge, Warnings: r.Warnings})
		out = appendContent(out, string(r.Output))
		if strictjson.IsObject(r.Output) {
			out = append(append(out, `,"structuredContent":`...), r.Output...)
		}
		return append(a.metaOf(out), '}'), nil
	})
	a.result(ended(w))
}
