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

// proceed makes a call that was confirmed, and returns its task as soon as the call has begun. If the call still waits
// for the person, proceed does not make it, and returns its task. The error is that of unbegun.
func (x *exchange) proceed(w *execute.WaitingCall) (task, error) {
	if !w.Confirmed {
		return waitingTask(w), nil
	}
	x.takeUp(w)
	call := x.Start(x.r.Context(), x.call)
	if reference, begun := call.Begun(); begun {
		return task{id: reference.ID, contextID: reference.ContextID, state: working, since: reference.Since, intent: w.Intent, live: true}, nil
	}
	result, event, err := call.Ended()
	x.Event = event
	return x.unbegun(&result, err, w)
}

// unbegun returns the task of a confirmed call that ended before it began. Another request may have made the call in the meantime. If the
// call was refused, its task still waits while the confirmation can be used: the gateway makes the call when the client reads the task
// again and the refusal no longer applies. If the refusal is not about the call, unbegun returns it as the error, and the task still waits.
func (x *exchange) unbegun(result *execute.Result, err error, w *execute.WaitingCall) (task, error) {
	f := refusalOf(err)
	if f == nil {
		return x.done(result), nil
	}
	if r, err := x.Record(x.r.Context(), x.call, w.ID); err == nil {
		return taskOf(&r), nil
	}
	now, err := x.Waiting(x.r.Context(), x.call, w.ID)
	switch {
	case err == nil && now.Ended:
		return waitingTask(&now), nil
	case !rejects(f):
		return task{}, f
	}
	x.headers(f)
	t := waitingTask(w)
	t.refusal, t.live = f, true
	return t, nil
}

// resume responds to a message that names a task that waits.
func (x *exchange) resume(w *execute.WaitingCall, m *message) {
	switch {
	case m.contextID != "" && m.contextID != w.ContextID:
		x.fail(wrongMember("/message/contextId", "must be the contextId of the task"))
	case !w.Confirmed || x.stream:
		x.wait(w)
	case m.immediately:
		t, err := x.proceed(w)
		x.taskOr(&t, err)
	default:
		x.takeUp(w)
		result, err := x.Execute(x.r.Context(), x.call)
		if refusalOf(err) != nil && (x.Event == nil || x.Event.Reference == nil) {
			t, err := x.unbegun(&result, err, w)
			x.taskOr(&t, err)
			return
		}
		x.ended(&result, err, w.ContextID)
	}
}

// taskOr responds to a message with a task, or with the error of unbegun.
func (x *exchange) taskOr(t *task, err error) {
	if err != nil {
		x.refuse(refusalOf(err))
		return
	}
	x.task(t)
}

// wait responds with the task of a call that waits for a person. A stream stays open until the task has ended: when the person confirms the
// call, the task continues.
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
	var pause int // how many polls pass until a call that was refused is made again
	for !s.Lost {
		if w.Confirmed && pause <= 0 {
			if s.goOn(w, &t) {
				return
			}
			pause = pollsBetweenTries
		}
		select {
		case <-x.r.Context().Done():
			return
		case <-alive.C:
			s.alive()
			continue
		case <-ask.C:
			pause--
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

// pollsBetweenTries is how many times a stream reads the state of a task before it repeats a confirmed call that was refused.
const pollsBetweenTries = 10

// goOn makes a confirmed call, and sends the events of the service and the states of the task until it ends. It returns false if the call
// was refused and its task still waits. It sends the refusal if last, the state that was sent last, does not have it.
func (s *events) goOn(w *execute.WaitingCall, last *task) bool {
	s.takeUp(w)
	of := newServiceEvents()
	defer close(of.left)
	s.call.Stream = of.pass
	call := s.Start(s.r.Context(), s.call)
	if reference, begun := call.Begun(); begun {
		t := task{id: reference.ID, contextID: reference.ContextID, state: working, since: reference.Since, intent: w.Intent, live: true}
		s.status(&t)
		s.watch(call, of, &t)
		return true
	}
	result, event, err := call.Ended()
	s.Event = event
	t, err := s.unbegun(&result, err, w)
	switch {
	case err != nil: // the task still waits
		return false
	case t.state == waiting:
		if last.refusal == nil || last.refusal.Reason != t.refusal.Reason || last.refusal.Message != t.refusal.Message {
			s.status(&t)
			*last = t
		}
		return false
	case t.state == working: // another request makes the call
		s.followRecord(w.ID)
	default:
		s.end(&t)
	}
	return true
}

// followRecord sends the states of a task until it ends. It sends nothing if the agent no longer has the task.
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
