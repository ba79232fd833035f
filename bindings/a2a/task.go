package a2a

import (
	"time"

	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// A state is the state of a task. A2A 1.0, 4.1.3.
type state string

const (
	working   state = "TASK_STATE_WORKING"
	completed state = "TASK_STATE_COMPLETED"
	failed    state = "TASK_STATE_FAILED"
	rejected  state = "TASK_STATE_REJECTED"
	waiting   state = "TASK_STATE_INPUT_REQUIRED" // a person must confirm the call
)

// stateOf maps the status of a record to the state of its task.
var stateOf = map[execute.CallStatus]state{
	execute.CallRunning: working, execute.CallDone: completed, execute.CallFailed: failed,
}

// A task is one call as the protocol describes it. A2A 1.0, 4.1.1.
type task struct {
	id, contextID string
	state         state
	since         time.Time
	intent        string // the uid; empty if unknown
	output        []byte // JSON; nil: no artifact
	refusal       *reason.Refusal
	charge        *reason.Charge
	standing      []limit.Status
	warnings      []intents.MissingOutput
	replayed      bool
	live          bool   // this request made the call
	settlement    []byte // how the payment that came with the call ended, for a call that succeeded: JSON of x402; nil: none
}

// of copies the intent and the reference of a call from its event.
func (t *task) of(e *execute.Event) {
	t.intent = e.Intent
	if r := e.Reference; r != nil {
		t.id, t.contextID, t.since = r.ID, r.ContextID, r.Since
	}
}

// taskOf returns the task of a record.
func taskOf(r *execute.Record) task {
	return task{
		id: r.ID, contextID: r.ContextID, since: r.Since, state: stateOf[r.Status], intent: r.Intent, output: r.Output, refusal: r.Refusal,
		charge: r.Charge, warnings: r.Warnings,
	}
}

// task responds to a message with a task.
func (x *exchange) task(t *task) {
	if x.stream {
		s := x.open()
		s.send("task", func(out []byte) ([]byte, error) { return x.appendTask(out, t) })
		return
	}
	w := strictjson.NewWriter(make([]byte, 0, len(t.output)+512))
	w.Append("task", func(out []byte) ([]byte, error) { return x.appendTask(out, t) })
	x.finish(w.End())
}

// recorded responds to a message with the task of a record.
func (x *exchange) recorded(r *execute.Record) {
	t := taskOf(r)
	x.task(&t)
}

// finish responds with result, which must be JSON, or with an internal error if err is not nil.
func (x *exchange) finish(result []byte, err error) {
	if err != nil {
		x.refuse(reason.Internal.Refusal("The response could not be encoded.").Because(err))
		return
	}
	x.succeed(result)
}

// timeForm is the format of timestamps. A2A 1.0, 5.6.1.
const timeForm = "2006-01-02T15:04:05.000Z"

func (x *exchange) appendTask(out []byte, t *task) ([]byte, error) {
	w := strictjson.NewWriter(out)
	w.Text("id", t.id)
	w.Text("contextId", t.contextID)
	w.Append("status", func(out []byte) ([]byte, error) { return x.appendStatus(out, t) })
	if t.output != nil {
		w.Append("artifacts", func(out []byte) ([]byte, error) {
			out, err := x.appendArtifact(append(out, '['), t)
			return append(out, ']'), err
		})
	}
	return w.End()
}

func (x *exchange) appendStatus(out []byte, t *task) ([]byte, error) {
	w := strictjson.NewWriter(out)
	w.Text("state", string(t.state))
	w.Text("timestamp", t.since.UTC().Format(timeForm))
	if t.refusal != nil || t.settlement != nil {
		w.Append("message", func(out []byte) ([]byte, error) { return x.appendMessage(out, t) })
	}
	return w.End()
}

// appendMessage appends the message of a status: why a task failed or was rejected, as text and as a UIM error, or that a payment was
// taken.
func (x *exchange) appendMessage(out []byte, t *task) ([]byte, error) {
	w := strictjson.NewWriter(out)
	w.Text("messageId", t.id)
	w.Text("contextId", t.contextID)
	w.Text("taskId", t.id)
	w.Text("role", "ROLE_AGENT")
	w.Append("parts", func(out []byte) ([]byte, error) {
		if t.refusal == nil {
			words := strictjson.NewWriter(append(out, '['))
			words.Text("text", "The payment is credited.")
			words.Text("mediaType", textType)
			out, err := words.End()
			return append(out, ']'), err
		}
		about := x.About(t.refusal)
		if !t.live { // another request made the call
			about.RequestID = ""
		}
		return appendParts(out, refusal.Sentence(t.refusal), wire.Envelope(t.refusal, about))
	})
	x.appendMetadata(&w, t, paymentOf(t))
	return w.End()
}

// appendParts appends a list of a text part and a data part. data must be JSON.
func appendParts(out []byte, text string, data []byte) ([]byte, error) {
	words := strictjson.NewWriter(append(out, '['))
	words.Text("text", text)
	words.Text("mediaType", textType)
	out, err := words.End()
	if err != nil {
		return out, err
	}
	return append(appendData(append(out, ','), data), ']'), nil
}

func appendData(out, data []byte) []byte {
	return append(append(append(out, `{"data":`...), data...), `,"mediaType":"application/json"}`...)
}

func (x *exchange) appendArtifact(out []byte, t *task) ([]byte, error) {
	w := strictjson.NewWriter(out)
	w.Text("artifactId", t.id)
	if in, err := x.Service.Intent(t.intent); err == nil {
		w.Optional("name", in.Name)
	}
	w.Append("parts", func(out []byte) ([]byte, error) { return append(appendData(append(out, '['), t.output), ']'), nil })
	x.appendMetadata(&w, t, nil)
	return w.End()
}

// appendMetadata appends the metadata of a payment, which may be nil, and those of the extension if the client activated the extension.
func (x *exchange) appendMetadata(w *strictjson.Writer, t *task, payment *paymentMetadata) {
	about := map[string]any{}
	if x.extended {
		w.Texts("extensions", []string{Extension})
		x.describeCall(about, t)
	}
	if len(about) == 0 && payment == nil {
		return
	}
	w.Append("metadata", func(out []byte) ([]byte, error) {
		m := strictjson.NewWriter(out)
		if len(about) > 0 {
			m.Object(Extension, about)
		}
		payment.append(&m)
		return m.End()
	})
}

// describeCall adds the members of the extension to about.
func (x *exchange) describeCall(about map[string]any, t *task) {
	if t.charge != nil {
		about["charge"] = wire.ChargeMembers(t.charge)
		if t.charge.Receipt != "" {
			about["receipt"] = t.charge.Receipt
		}
	}
	if l, ok := wire.Tightest(t.standing); ok {
		about["rate_limit"] = map[string]any{"remaining": max(0, l.Left), "reset": wire.Seconds(l.Shown(l.Resets))}
	}
	if len(t.warnings) > 0 {
		about["warnings"] = t.warnings
	}
	if t.live {
		about["request_id"], about["replayed"] = string(x.RequestID), t.replayed
	}
}
