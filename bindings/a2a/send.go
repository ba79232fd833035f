package a2a

import (
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/payments/x402"
)

// keyPrefix and a message id form the idempotency key of the call, so that a repeated message gets the same response.
const keyPrefix = "a2a:"

// send responds to SendMessage and SendStreamingMessage. A2A 1.0, 3.1.1 and 3.1.2.
func (x *exchange) send() {
	m, fail := readMessage(x.params)
	if fail != nil {
		x.malformed(fail)
		return
	}
	if m.payment != nil && x.Service.Payments.X402 != nil {
		var err error
		if x.call.Payment, err = x402.ReadTree(m.payment); err != nil {
			x.refuse(refusalOf(wire.MalformedPayment(err)))
			return
		}
	}
	switch {
	case m.taskID != "":
		x.continued(m)
	case m.data == nil && x.outdated != nil:
		x.refuse(x.outdated)
	case m.data == nil:
		x.describe(m)
	default:
		x.execute(m)
	}
}

// malformed responds to a message without a valid call. The message counts as a call that is refused as invalid.
func (x *exchange) malformed(fail *fault) {
	own := reason.MalformedRequest.Refusal(fail.message)
	x.call.Read = func() (execute.Request, error) { return execute.Request{}, own }
	_, err := x.Execute(x.r.Context(), x.call)
	if f := refusalOf(err); f != nil && f != own {
		x.refuseOrReject(f, "")
		return
	}
	if fail.reason == "" {
		fail.refusal = own
	}
	x.fail(fail)
}

// continued responds to a message that names a task. If the task waits for a person, and the person has confirmed it, the task continues;
// the content of the message does not matter. Other tasks take no further messages. If the agent has no such task, the response is
// taskNotFound.
func (x *exchange) continued(m *message) {
	_, w, err := x.lookUp(m.taskID)
	if w != nil {
		x.resume(w, m)
		return
	}
	if err != nil {
		if !errors.Is(err, execute.ErrNoRecord) {
			err = execute.Unsent(err)
		}
		x.unfound(err)
		return
	}
	x.fail(unsupported.because("The task takes no further messages: send a new message without taskId."))
}

// unfound responds to an error from reading a record. If the record does not exist, the response is taskNotFound.
func (x *exchange) unfound(err error) {
	if errors.Is(err, execute.ErrNoRecord) {
		x.fail(taskNotFound)
		return
	}
	x.refuse(refusalOf(err))
}

// execute executes the call in a message.
func (x *exchange) execute(m *message) {
	if m.contextID == "" {
		m.contextID = uuid.NewString()
	}
	if err := x.prepare(m); err != nil {
		x.refuse(refusalOf(err))
		return
	}
	if x.stream || m.immediately {
		x.start(m)
		return
	}
	result, err := x.Execute(x.r.Context(), x.call)
	x.ended(&result, err, m.contextID)
}

// prepare sets the idempotency key, the context, the span and the proof of the call, and the function that parses its parameters. It
// returns an error if the idempotency key is invalid.
func (x *exchange) prepare(m *message) (err error) {
	key := keyPrefix + m.id
	if own := x.r.Header.Get("Idempotency-Key"); own != "" {
		key = own
	}
	if x.call.IdempotencyKey, err = execute.ParseIdempotencyKey(key); err != nil {
		return err
	}
	x.call.ContextID = m.contextID
	x.call.Span = x.SpanOf(x.r.Header, m.traceparent)
	x.call.Operation = &execute.Operation{Name: "SendMessage"}
	if x.call.Proof = x.r.Header.Get("Uim-Proof"); x.call.Proof == "" {
		x.call.Proof = m.proof
	}
	x.call.Read = func() (execute.Request, error) { return door.ParseExecute(m.data, x.Service) }
	return nil
}

// ended responds with the outcome of a call, as a task.
func (x *exchange) ended(result *execute.Result, err error, contextID string) {
	if f := refusalOf(err); f != nil {
		x.failed(f, contextID)
		return
	}
	door.WriteHeader(x.w.Header(), result)
	t := x.done(result)
	x.task(&t)
}

// done returns the task of a call that succeeded.
func (x *exchange) done(result *execute.Result) task {
	t := task{
		state: completed, output: result.Output, charge: result.Charge, standing: result.Standing, replayed: result.Replayed, live: true,
	}
	if result.Paid != nil {
		t.settlement = result.Paid.Receipt
	}
	t.of(x.Event)
	return t
}

// failed responds to a call that failed or was not executed. A call that was started becomes a failed task, and a call that the policy
// refuses becomes a rejected task. All other refusals become errors.
func (x *exchange) failed(f *reason.Refusal, contextID string) {
	started := x.Event != nil && x.Event.Reference != nil
	switch {
	case started && f.Replayed: // the call ended earlier, possibly with success, and its output is no longer stored
		r, err := x.Record(x.r.Context(), x.call, x.Event.Reference.ID)
		if err != nil {
			x.refuse(f)
			return
		}
		x.headers(f)
		x.recorded(&r)
	case started:
		x.headers(f)
		t := task{state: failed, refusal: f, charge: f.Charge, standing: f.Standing, replayed: f.Replayed, live: true}
		t.of(x.Event)
		x.task(&t)
	case f.Reason == reason.IdempotencyInProgress || f.Reason == reason.OutcomeUnknown:
		r, err := x.RecordOf(x.r.Context(), x.call, x.call.IdempotencyKey)
		if err != nil {
			x.refuse(f)
			return
		}
		x.recorded(&r)
	default:
		x.refuseOrReject(f, contextID)
	}
}

// refuseOrReject responds to a refused call that has no record: with a rejected task if rejects(f), otherwise with an error.
func (x *exchange) refuseOrReject(f *reason.Refusal, contextID string) {
	if !rejects(f) {
		x.refuse(f)
		return
	}
	if w := x.asked(f); w != nil {
		x.headers(f)
		x.wait(w)
		return
	}
	id, err := uuid.NewV7()
	if err != nil {
		x.refuse(reason.Internal.Refusal("The gateway could not generate a task id.").Because(err))
		return
	}
	if contextID == "" {
		contextID = uuid.NewString()
	}
	x.headers(f)
	t := task{state: rejected, refusal: f, standing: f.Standing, id: id.String(), contextID: contextID, live: true}
	if x.Event != nil {
		t.since = x.Event.At
	}
	x.task(&t)
}

// rejects reports whether a refusal makes the call a rejected task: the request is valid, but the policy, a limit or the payment does not
// allow it.
func rejects(f *reason.Refusal) bool {
	if f.Reason == reason.ScopeExceeded || f.Reason == reason.InsufficientPermissions || f.Reason == reason.AgentBlocked {
		return false // these are about the token, not the call
	}
	switch f.Status() {
	case http.StatusForbidden, http.StatusTooManyRequests, http.StatusPaymentRequired:
		return true
	}
	return f.Reason == reason.PolicyConflict
}

// headers records the refusal of a call that becomes a task, and sets the headers for its limits and its charge.
func (x *exchange) headers(f *reason.Refusal) {
	x.Refusal = f
	wire.WriteTaken(x.w.Header(), f)
}
