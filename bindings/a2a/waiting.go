package a2a

import (
	"errors"
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/internal/reason"
)

// asked returns the call that a person is asked to confirm, if f refuses a call for that reason, and otherwise nil.
func (x *exchange) asked(f *reason.Refusal) *execute.WaitingCall {
	confirmation, _ := f.Details[execute.DetailConfirmation].(string)
	if f.Reason != reason.ConfirmationRequired || confirmation == "" {
		return nil
	}
	id, err := execute.WaitingID(confirmation)
	if err != nil {
		return nil
	}
	w, err := x.Waiting(x.r.Context(), x.call, id)
	if err != nil {
		return nil
	}
	return &w
}

// waitingTask returns the task of a call that waits for a person, or that a person did not confirm.
func waitingTask(w *execute.WaitingCall) task {
	t := task{id: w.ID, contextID: w.ContextID, since: w.Since, state: waiting, intent: w.Intent, refusal: w.Refusal}
	if w.Ended {
		t.state = rejected
	}
	return t
}

// takeUp sets x.call to the call as it began, so that it is made again under its confirmation.
func (x *exchange) takeUp(w *execute.WaitingCall) {
	x.call.IdempotencyKey, x.call.ContextID = w.Key, w.ContextID
	x.call.Operation = &execute.Operation{Name: "SendMessage"}
	x.call.Read = func() (execute.Request, error) { return w.Request, nil }
}

// proceed makes a call that was confirmed, and returns its task as soon as the call has begun. It returns the task of a call that waits
// unchanged.
func (x *exchange) proceed(w *execute.WaitingCall) task {
	if !w.Confirmed {
		return waitingTask(w)
	}
	x.takeUp(w)
	call := x.Start(x.r.Context(), x.call)
	if reference, begun := call.Begun(); begun {
		return task{id: reference.ID, contextID: reference.ContextID, state: working, since: reference.Since, intent: w.Intent, live: true}
	}
	return x.unbegun(call, w)
}

// unbegun returns the task of a confirmed call that ended before it began. Another request may have made the call in the meantime.
func (x *exchange) unbegun(call *execute.StartedCall, w *execute.WaitingCall) task {
	if r, err := x.Record(x.r.Context(), x.call, w.ID); err == nil {
		return taskOf(&r)
	}
	result, event, err := call.Ended()
	x.Event = event
	f := refusalOf(err)
	if f == nil {
		return x.done(&result)
	}
	x.headers(f)
	t := waitingTask(w)
	t.state, t.refusal, t.live = rejected, f, true
	return t
}

// resume responds to a message that names a task that waits.
func (x *exchange) resume(w *execute.WaitingCall, m *message) {
	switch {
	case m.contextID != "" && m.contextID != w.ContextID:
		x.fail(wrongMember("/message/contextId", "must be the contextId of the task"))
	case !w.Confirmed || x.stream:
		x.wait(w)
	case m.immediately:
		t := x.proceed(w)
		x.task(&t)
	default:
		x.takeUp(w)
		result, err := x.Execute(x.r.Context(), x.call)
		if f := refusalOf(err); f != nil && (x.Event == nil || x.Event.Reference == nil) {
			if r, err := x.Record(x.r.Context(), x.call, w.ID); err == nil { // another request made the call
				x.recorded(&r)
				return
			}
		}
		x.ended(&result, err, w.ContextID)
	}
}

// wait responds with the task of a call that waits for a person. A stream stays open until the task has ended: when the person confirms the
// call, the task goes on.
func (x *exchange) wait(w *execute.WaitingCall) {
	t := waitingTask(w)
	if !x.stream || w.Ended {
		x.task(&t)
		return
	}
	leave, ok := x.d.watchers.enter(x.r.Context(), x.party)
	if !ok {
		x.task(&t)
		return
	}
	defer leave()
	s := x.open()
	s.send("task", func(out []byte) ([]byte, error) { return x.appendTask(out, &t) })
	alive, ask := time.NewTicker(aliveEvery), time.NewTicker(pollEvery)
	defer alive.Stop()
	defer ask.Stop()
	for !s.lost {
		if w.Confirmed {
			s.goOn(w)
			return
		}
		select {
		case <-x.r.Context().Done():
			return
		case <-alive.C:
			s.alive()
			continue
		case <-ask.C:
		}
		now, err := x.Waiting(x.r.Context(), x.call, w.ID)
		switch {
		case errors.Is(err, execute.ErrNoRecord): // another request made the call, or the time is over
			s.followRecord(w.ID)
			return
		case err != nil: // for example because the PAT has expired
			x.Refusal = refusalOf(err)
			return
		case now.Ended:
			t := waitingTask(&now)
			s.end(&t)
			return
		}
		w = &now
	}
}

// goOn makes a confirmed call, and sends the states of its task until it ends.
func (s *events) goOn(w *execute.WaitingCall) {
	s.takeUp(w)
	call := s.Start(s.r.Context(), s.call)
	if _, begun := call.Begun(); !begun {
		t := s.unbegun(call, w)
		s.end(&t)
		return
	}
	s.followRecord(w.ID)
}

// followRecord sends the states of a task until it ends. It sends nothing if the agent has no such task any more.
func (s *events) followRecord(id string) {
	r, err := s.Record(s.r.Context(), s.call, id)
	if errors.Is(err, execute.ErrNoRecord) {
		return
	}
	if err != nil {
		s.Refusal = refusalOf(err)
		return
	}
	t := taskOf(&r)
	if r.Status != execute.CallRunning {
		s.end(&t)
		return
	}
	s.status(&t)
	s.await(&r)
}
