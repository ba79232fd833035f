package a2a

import (
	"bytes"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/wire/jsonrpc"
)

const (
	aliveEvery = 15 * time.Second       // how often a comment is sent to keep the connection open
	pollEvery  = 500 * time.Millisecond // how often a subscription reads the state of its task
)

// events is a stream of server-sent events. A2A 1.0, 9.4.2 and 11.7.
type events struct {
	*exchange
	*jsonrpc.EventStream
}

// open starts a stream.
func (x *exchange) open() *events {
	h := x.w.Header()
	h["Content-Type"] = []string{"text/event-stream"}
	h["X-Accel-Buffering"] = []string{"no"}
	x.w.WriteHeader(http.StatusOK)
	return &events{x, jsonrpc.NewEventStream(x.w)}
}

// event sends one event.
func (s *events) event(body []byte) { s.Write(jsonrpc.AppendEvent(make([]byte, 0, len(body)+8), body)) }

// send sends one member of a StreamResponse. A2A 1.0, 3.2.3.
func (s *events) send(name string, value func([]byte) ([]byte, error)) {
	w := strictjson.NewWriter(nil)
	w.Append(name, value)
	body, err := w.End()
	switch {
	case err != nil:
		s.Lost = true
	case s.rest:
		s.event(body)
	default:
		s.event(jsonrpc.AppendResult(nil, s.id, body))
	}
}

// alive sends a comment to keep the connection open.
func (s *events) alive() { s.Write([]byte(": \n\n")) }

// end sends the output and the final state of a task.
func (s *events) end(t *task) {
	if t.output != nil {
		s.send("artifactUpdate", func(out []byte) ([]byte, error) {
			w := strictjson.NewWriter(out)
			w.Text("taskId", t.id)
			w.Text("contextId", t.contextID)
			w.Append("artifact", func(out []byte) ([]byte, error) { return s.appendArtifact(out, t) })
			w.True("lastChunk", true)
			return w.End()
		})
	}
	s.status(t)
}

// status sends the state of a task.
func (s *events) status(t *task) {
	s.send("statusUpdate", func(out []byte) ([]byte, error) {
		w := strictjson.NewWriter(out)
		w.Text("taskId", t.id)
		w.Text("contextId", t.contextID)
		w.Append("status", func(out []byte) ([]byte, error) { return s.appendStatus(out, t) })
		return w.End()
	})
}

// serviceEvents are the events of a service whose response is a stream, on their way from the call to the client. The call waits until the
// client has received an event, or has left.
type serviceEvents struct {
	next chan []byte
	left chan struct{} // closed: the client receives no more
}

func newServiceEvents() *serviceEvents {
	return &serviceEvents{next: make(chan []byte), left: make(chan struct{})}
}

func (e *serviceEvents) pass(event []byte) {
	select {
	case e.next <- bytes.Clone(event):
	case <-e.left:
	}
}

// part sends the nth event of the service, from 1, as a part of a separate artifact. The artifact with the output follows at the end of the
// call, and contains all events. A2A 1.0, 4.2.2.
func (s *events) part(t *task, n int, event []byte) {
	s.send("artifactUpdate", func(out []byte) ([]byte, error) {
		w := strictjson.NewWriter(out)
		w.Text("taskId", t.id)
		w.Text("contextId", t.contextID)
		w.Append("artifact", func(out []byte) ([]byte, error) {
			w := strictjson.NewWriter(out)
			w.Text("artifactId", t.id+"-events")
			w.Text("name", "events")
			w.Append("parts", func(out []byte) ([]byte, error) { return append(appendData(append(out, '['), event), ']'), nil })
			return w.End()
		})
		if n > 1 {
			w.True("append", true)
		}
		return w.End()
	})
}

// start starts a call, and responds before the call ends: with the working task, or with a stream of the task's states and the events of
// the service. If the call ends without a record, start responds with the outcome of the call.
func (x *exchange) start(m *message) {
	of := newServiceEvents()
	defer close(of.left)
	if x.stream {
		x.call.Stream = of.pass // gets no event before the record of the call is durable, so Start does not wait for the client
	}
	call := x.Start(x.r.Context(), x.call)
	reference, started := call.Begun()
	if !started {
		result, event, err := call.Ended()
		x.Event = event
		x.ended(&result, err, m.contextID)
		return
	}
	t := task{id: reference.ID, contextID: reference.ContextID, state: working, since: reference.Since, live: true}
	if !x.stream {
		x.task(&t)
		return
	}
	s := x.open()
	s.send("task", func(out []byte) ([]byte, error) { return x.appendTask(out, &t) })
	s.watch(call, of, &t)
}

// watch sends the events of the service, and the end of the task of a call that has begun. If the client leaves, the call continues.
func (s *events) watch(call *execute.StartedCall, of *serviceEvents, t *task) {
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for n := 1; !s.Lost; {
		select {
		case event := <-of.next:
			s.part(t, n, event)
			n++
		case <-call.Done():
			s.end(s.endOf(call))
			return
		case <-s.r.Context().Done():
			return
		case <-alive.C:
			s.alive()
		}
	}
}

// endOf returns the task of a call that was started, once the call has ended.
func (x *exchange) endOf(call *execute.StartedCall) *task {
	result, event, err := call.Ended()
	x.Event = event
	if f := refusalOf(err); f != nil {
		x.Refusal = f
		t := task{state: failed, refusal: f, charge: f.Charge, standing: f.Standing, live: true}
		t.of(event)
		return &t
	}
	t := x.done(&result)
	return &t
}

// subscribe responds to SubscribeToTask. It polls the store until the task ends or the client disconnects, because another process may run
// the task.
func (x *exchange) subscribe() {
	in := members{object: x.params}
	id := in.text("id", maxTaskID, true)
	if in.wrong != nil {
		x.fail(in.wrong)
		return
	}
	r, w, found := x.find(id)
	switch {
	case !found:
		return
	case w != nil && w.Ended:
		x.fail(unsupported.because("The task has ended: retrieve it with GetTask."))
		return
	case w != nil:
		x.wait(w)
		return
	case r.Status != execute.CallRunning:
		x.fail(unsupported.because("The task has ended: retrieve it with GetTask."))
		return
	}
	leave, ok := x.d.watchers.enter(x.r.Context(), x.party)
	if !ok {
		x.refuse(reason.Overloaded.Refusal("Too many streams are waiting for tasks to end.").After(time.Second).ShedFor(reason.ShedStreams))
		return
	}
	defer leave()
	x.follow(&r)
}

func (x *exchange) follow(r *execute.Record) {
	s, t := x.open(), taskOf(r)
	s.send("task", func(out []byte) ([]byte, error) { return x.appendTask(out, &t) })
	s.await(r)
}

// await sends the end of a task that is in progress.
func (s *events) await(r *execute.Record) {
	x := s.exchange
	alive, ask := time.NewTicker(aliveEvery), time.NewTicker(pollEvery)
	defer alive.Stop()
	defer ask.Stop()
	for !s.Lost {
		select {
		case <-x.r.Context().Done():
			return
		case <-alive.C:
			s.alive()
		case <-ask.C:
			now, err := x.Record(x.r.Context(), x.call, r.ID)
			if err != nil { // for example because the PAT has expired
				x.Refusal = refusalOf(err)
				return
			}
			if now.Status != execute.CallRunning {
				t := taskOf(&now)
				s.end(&t)
				return
			}
		}
	}
}

const (
	maxWatchers        = 256 // streams that wait for tasks to end
	maxWatchersOfAgent = 8
)

// watchers limits the number of streams that wait for tasks to end. It is safe for concurrent use.
type watchers struct {
	places *fairqueue.Places

	mu      sync.Mutex
	byAgent map[string]int
}

func newWatchers() *watchers {
	return &watchers{places: fairqueue.New(fairqueue.Bounds{Places: maxWatchers}), byAgent: map[string]int{}}
}

// enter takes a place for a stream of an agent. ok is false if no place is free, or if the agent has the maximum number of streams. The
// caller must call leave when the stream ends.
func (c *watchers) enter(ctx context.Context, of fairqueue.Party) (leave func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byAgent[of.Name] >= maxWatchersOfAgent {
		return nil, false
	}
	giveBack, err := c.places.Take(ctx, of)
	if err != nil {
		return nil, false
	}
	c.byAgent[of.Name]++
	return func() {
		giveBack()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.byAgent[of.Name]--; c.byAgent[of.Name] == 0 {
			delete(c.byAgent, of.Name)
		}
	}, true
}
