package execute

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// Records reads the records of calls that are part of a conversation or have an idempotency key. Each method takes the scope of the PAT
// that requests the records. Call and KeyedCall return store.ErrNotFound for a call outside that scope; Calls neither lists nor counts such
// a call.
type Records interface {
	Call(ctx context.Context, c store.CallScope, id string) (store.Execution, error)
	KeyedCall(ctx context.Context, c store.CallScope, key string) (store.Execution, error)
	Calls(ctx context.Context, f store.CallFilter) (list []store.Execution, total int, err error)
}

// A Reference identifies the record of a call, with the time when the call reached its current state.
type Reference struct {
	ID        string // UUIDv7
	ContextID string // id of the conversation
	Since     time.Time
}

// A CallStatus is the state of a call as its agent sees it.
type CallStatus = store.CallStatus

// The states of a call.
const (
	CallRunning = store.CallRunning
	CallDone    = store.CallDone
	CallFailed  = store.CallFailed
)

// A Record is the state of a call in a conversation. An agent can read it later, through any process that uses the same store.
type Record struct {
	Reference
	Intent   string // uid of the intent
	Status   CallStatus
	Charge   *reason.Charge
	Output   []byte // JSON; only of a call that is done
	Warnings []intents.MissingOutput
	// Refusal is the error that the agent received or would have received. It is set if the call failed, or if the call is done and its output
	// was not stored. In a listing without outputs, Refusal is nil if the call is done.
	Refusal *reason.Refusal
}

// recordsKept is how long agents can read the records of their calls: as long as idempotency keys are kept.
const recordsKept = idempotencyWindow

// ErrNoRecord means that the agent has no such call, or that the scope of its PAT does not include the intent of the call.
var ErrNoRecord = errors.New("no such call of this agent")

// callScope returns the set of calls that the bearer of a PAT may read.
func callScope(service string, claims *pat.Claims) store.CallScope {
	c := store.CallScope{Service: service, AgentID: claims.Principal().Record()}
	c.Intents, c.Namespaces = claims.Named()
	return c
}

// Record returns the record with an id, for the agent whose PAT is in call. The id can also be that of a WaitingCall, if the call was made.
// The error is ErrNoRecord or a *reason.Refusal.
func (x *Executor) Record(ctx context.Context, call Call, id string) (Record, error) {
	r, err := x.record(ctx, call, func(c store.CallScope) (store.Execution, error) {
		e, err := x.cfg.State.Call(ctx, c, id)
		if errors.Is(err, store.ErrNotFound) {
			return x.madeAs(ctx, c, id)
		}
		return e, err
	})
	if err == nil {
		r.ID = id
	}
	return r, err
}

// RecordOf is like Record, but finds the record by the idempotency key of its call.
func (x *Executor) RecordOf(ctx context.Context, call Call, key IdempotencyKey) (Record, error) {
	return x.record(ctx, call, func(c store.CallScope) (store.Execution, error) { return x.cfg.State.KeyedCall(ctx, c, string(key)) })
}

func (x *Executor) record(ctx context.Context, call Call, read func(store.CallScope) (store.Execution, error)) (Record, error) {
	asks, err := x.identified(ctx, call)
	if err != nil {
		return Record{}, err
	}
	e, err := read(callScope(asks.service.ID, asks.claims))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Record{}, ErrNoRecord
	case err != nil:
		return Record{}, refusal.For(err)
	case e.ContextID == "" || !e.BeganAt.After(x.cfg.Now().Add(-recordsKept)):
		return Record{}, ErrNoRecord
	}
	return recordOf(&e), nil
}

// A RecordCursor is a position in a listing of calls. The zero RecordCursor is the beginning.
type RecordCursor = store.CallCursor

// A RecordQuery selects calls of an agent. Fields that are zero do not restrict the selection.
type RecordQuery struct {
	ContextID string
	Status    CallStatus
	Since     time.Time // earliest time at which the status was reached
	After     RecordCursor
	Limit     int  // 1 to 100
	Outputs   bool // whether to read Output and Warnings of calls that are done
}

// A RecordPage is one page of the calls of an agent. The calls that reached their status most recently come first.
type RecordPage struct {
	Records []Record
	Total   int          // number of calls on all pages, at most store.MostCounted
	Next    RecordCursor // start of the next page; zero: this is the last page
}

// maxListedOutputs is the size of outputs after which a page ends, in bytes. The outputs on a page can exceed it by the size of the last
// output.
const maxListedOutputs = 4 << 20

// Records lists calls of the agent whose PAT is in call. If q.After refers to a call that the agent may not read, the error is ErrNoRecord.
// All other errors are a *reason.Refusal.
func (x *Executor) Records(ctx context.Context, call Call, q RecordQuery) (RecordPage, error) {
	asks, err := x.identified(ctx, call)
	if err != nil {
		return RecordPage{}, err
	}
	scope := callScope(asks.service.ID, asks.claims)
	if q.After.ID != "" {
		if _, err := x.cfg.State.Call(ctx, scope, q.After.ID); errors.Is(err, store.ErrNotFound) {
			return RecordPage{}, ErrNoRecord
		}
	}
	limit := min(max(q.Limit, 1), 100)
	list, total, err := x.cfg.State.Calls(ctx, store.CallFilter{
		CallScope: scope, ContextID: q.ContextID, Status: q.Status, Since: q.Since, After: q.After,
		BeganAfter: x.cfg.Now().Add(-recordsKept), Limit: limit + 1,
	})
	if err != nil {
		return RecordPage{}, refusal.For(err)
	}
	page := RecordPage{Total: total}
	size := 0
	for i := range list {
		if i == limit || size > maxListedOutputs {
			page.Next = RecordCursor{Since: page.Records[i-1].Since, ID: page.Records[i-1].ID}
			break
		}
		r, err := x.listed(ctx, scope, &list[i], q.Outputs)
		if err != nil {
			return RecordPage{}, err
		}
		size += len(r.Output)
		page.Records = append(page.Records, r)
	}
	return page, nil
}

// listed returns the Record of a listed call. If output is true and the call is done, it reads the output.
func (x *Executor) listed(ctx context.Context, scope store.CallScope, e *store.Execution, output bool) (Record, error) {
	status, since := e.Status()
	if status != CallDone || !output {
		r := recordOf(e)
		if status == CallDone {
			r.Refusal, r.Output, r.Warnings = nil, nil, nil
		}
		return r, nil
	}
	whole, err := x.cfg.State.Call(ctx, scope, e.ID)
	if err != nil {
		return Record{}, refusal.For(err)
	}
	r := recordOf(&whole)
	r.Since = since
	return r, nil
}

func recordOf(e *store.Execution) Record {
	r := Record{Reference: referenceOf(e), Intent: e.Intent, Charge: chargeOf(*e)}
	r.Status, _ = e.Status()
	if r.Status == CallRunning {
		return r
	}
	if e.State == store.Unresolved || !e.UnresolvedAt.IsZero() {
		r.Refusal = reason.OutcomeUnknown.Refusal("").With("outcome", store.Unknown).Charged(r.Charge)
		return r
	}
	result, f := (&replay{execution: *e}).answer()
	if f != nil {
		f.Replayed = false
		if _, present := f.Details["outcome"]; !present && e.Outcome != "" {
			f.With("outcome", e.Outcome)
		}
	}
	r.Output, r.Warnings, r.Refusal = result.Output, result.Warnings, f
	return r
}

func referenceOf(e *store.Execution) Reference {
	_, since := e.Status()
	return Reference{ID: e.ID, ContextID: e.ContextID, Since: since}
}
