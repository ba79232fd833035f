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

// Records are the records of calls that are part of a conversation, or have an idempotency key. Every read takes the scope of the
// requesting PAT: a call outside it is store.ErrNotFound, and is neither listed nor counted.
type Records interface {
	Call(ctx context.Context, c store.CallScope, id string) (store.Execution, error)
	KeyedCall(ctx context.Context, c store.CallScope, key string) (store.Execution, error)
	Calls(ctx context.Context, f store.CallFilter) (list []store.Execution, total int, err error)
}

// A Reference locates the record of a call, and has the time of its present state.
type Reference struct {
	ID        string // UUIDv7
	ContextID string // of the conversation
	Since     time.Time
}

// A CallStatus is the state of a call for its agent.
type CallStatus = store.CallStatus

// The states of a call.
const (
	CallRunning = store.CallRunning
	CallDone    = store.CallDone
	CallFailed  = store.CallFailed
)

// A Record is the state of a call in a conversation, as an agent reads it later, from any process on the store.
type Record struct {
	Reference
	Intent   string // its uid
	Status   CallStatus
	Charge   *reason.Charge
	Output   []byte // JSON, of a call that is done
	Warnings []intents.MissingOutput
	// Refusal is the error that the agent received or would have received, of a failed call or of one that is done and whose output was
	// not stored. Nil in a listing without outputs if the call is done.
	Refusal *reason.Refusal
}

// recordsKept is how long agents can read their calls: as long as an idempotency key is kept.
const recordsKept = idempotencyWindow

// ErrNoRecord means that the agent has no such call of an intent in the scope of its PAT. Another agent may have one.
var ErrNoRecord = errors.New("no such call of this agent")

// callScope is the set of calls that the bearer of a PAT may read.
func callScope(service string, claims *pat.Claims) store.CallScope {
	c := store.CallScope{Service: service, AgentID: claims.Principal().Record()}
	c.Intents, c.Namespaces = claims.Named()
	return c
}

// Record returns one call of the agent whose PAT call carries. The error is ErrNoRecord or a *reason.Refusal.
func (x *Executor) Record(ctx context.Context, call Call, id string) (Record, error) {
	return x.record(ctx, call, func(c store.CallScope) (store.Execution, error) { return x.records.Call(ctx, c, id) })
}

// RecordOf is Record by the idempotency key of the call.
func (x *Executor) RecordOf(ctx context.Context, call Call, key IdempotencyKey) (Record, error) {
	return x.record(ctx, call, func(c store.CallScope) (store.Execution, error) { return x.records.KeyedCall(ctx, c, string(key)) })
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
	case e.ContextID == "" || !e.BeganAt.After(x.now().Add(-recordsKept)):
		return Record{}, ErrNoRecord
	}
	return recordOf(&e), nil
}

// A RecordCursor is a position in a listing of calls; the zero RecordCursor is the beginning.
type RecordCursor = store.CallCursor

// A RecordQuery selects calls of an agent. Zero fields restrict nothing.
type RecordQuery struct {
	ContextID string
	Status    CallStatus
	Since     time.Time // when the status was first reached
	After     RecordCursor
	Limit     int  // 1 to 100
	Outputs   bool // of calls that are done; otherwise neither Output nor Warnings is read
}

// A RecordPage is one page of the calls of an agent, those that reached their status last first.
type RecordPage struct {
	Records []Record
	Total   int          // of all pages, store.MostCounted at most
	Next    RecordCursor // zero: there is no further page
}

// maxListedOutputs bounds the outputs of a page, in bytes. The first output is always included.
const maxListedOutputs = 4 << 20

// Records lists calls of the agent whose PAT call carries. The error is ErrNoRecord if the query begins after a call that the PAT must
// not read. All other errors are a *reason.Refusal.
func (x *Executor) Records(ctx context.Context, call Call, q RecordQuery) (RecordPage, error) {
	asks, err := x.identified(ctx, call)
	if err != nil {
		return RecordPage{}, err
	}
	scope := callScope(asks.service.ID, asks.claims)
	if q.After.ID != "" {
		if _, err := x.records.Call(ctx, scope, q.After.ID); errors.Is(err, store.ErrNotFound) {
			return RecordPage{}, ErrNoRecord
		}
	}
	limit := min(max(q.Limit, 1), 100)
	list, total, err := x.records.Calls(ctx, store.CallFilter{
		CallScope: scope, ContextID: q.ContextID, Status: q.Status, Since: q.Since, After: q.After,
		BeganAfter: x.now().Add(-recordsKept), Limit: limit + 1,
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

// listed returns the record of a listing, with the output if requested.
func (x *Executor) listed(ctx context.Context, scope store.CallScope, e *store.Execution, output bool) (Record, error) {
	status, since := e.Status()
	if status != CallDone || !output {
		r := recordOf(e)
		if status == CallDone {
			r.Refusal, r.Output, r.Warnings = nil, nil, nil
		}
		return r, nil
	}
	whole, err := x.records.Call(ctx, scope, e.ID)
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
