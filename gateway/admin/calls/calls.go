package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A CallQuery selects requests of the index. Unlike in other queries, an empty Service selects every service, and also requests that belong
// to none.
type CallQuery struct {
	api.PageRequest
	Service  string      `query:"service,any"`
	AgentID  pat.AgentID `query:"agent_id"`
	Intent   string      `query:"intent"`                                      // uid
	Decision string      `query:"decision" enum:"permit,deny,pending"`         // permit, deny or pending; empty: all
	Reason   string      `query:"reason"`                                      // of refusals, such as RATE_LIMIT_EXCEEDED
	Outcome  string      `query:"outcome" enum:"done,failed,not_sent,unknown"` // of calls to the service, such as done
	From     time.Time   `query:"from"`                                        // From is included, To is not
	To       time.Time   `query:"to"`
}

// A Call is one request of the index: a call to an intent or, if Request is set, another request, such as one for a PAT. Operator.Why
// returns the explanation.
type Call struct {
	At          time.Time     `json:"at"`
	RequestID   string        `json:"request_id"`
	Process     string        `json:"process"`
	Request     string        `json:"request,omitempty"` // method and route of a request that is not a call
	Door        string        `json:"door,omitempty"`    // empty: UIM over HTTP
	Service     string        `json:"service,omitempty"`
	AgentID     pat.AgentID   `json:"agent_id,omitempty"`
	Intent      string        `json:"intent,omitempty"`
	Decision    string        `json:"decision"` // permit, deny or pending
	Reason      reason.Reason `json:"reason,omitempty"`
	Status      int           `json:"status"` // of the response over HTTP
	Rule        string        `json:"rule,omitempty"`
	Outcome     string        `json:"outcome,omitempty"`
	Millis      float64       `json:"ms,omitempty"` // duration of all steps
	Charge      string        `json:"charge,omitempty"`
	ChargeState string        `json:"charge_state,omitempty"` // when the call ended
	ExecutionID string        `json:"execution,omitempty"`
}

func callOf(x *record.Explanation) Call {
	c := Call{
		At: x.At, RequestID: x.RequestID, Process: x.Process, Request: x.Request, Door: x.Door, Service: x.Service, AgentID: pat.AgentID(x.Agent),
		Intent: x.Intent, Decision: x.Decision, Reason: x.Reason, Status: x.Status, Rule: x.Rule, Outcome: x.Outcome, Charge: x.Charge,
		ChargeState: x.ChargeState, ExecutionID: x.ExecutionID,
	}
	for _, s := range x.Steps {
		c.Millis += s.Millis
	}
	c.Millis = float64(int64(c.Millis*1000+0.5)) / 1000
	return c
}

// Calls lists requests of every process that uses the same store, the newest first, for as long as audit.index retains them. A page may
// have fewer items than its limit and still have a Next, because Calls compares at most store.MostRequestsRead requests with the filter.
func (o *Operations) Calls(ctx context.Context, q CallQuery) (api.Page[Call], error) {
	after, ok := store.ParseRequestCursor(q.After)
	if !ok {
		return api.Page[Call]{}, api.WrongParameter("after", "must be the cursor of a page of calls")
	}
	if q.Service != "" {
		if _, err := o.Services.Find(q.Service); err != nil {
			return api.Page[Call]{}, err
		}
	}
	o.Flush(ctx)
	list, next, err := o.Store.Requests(ctx, store.RequestFilter{
		RequestKind: store.RequestKind{
			Service: q.Service, Agent: string(q.AgentID), Intent: q.Intent, Decision: q.Decision, Reason: q.Reason, Outcome: q.Outcome,
		},
		From: q.From, To: q.To, After: after, Limit: q.Max(),
	})
	if err != nil {
		return api.Page[Call]{}, err
	}
	page := api.Page[Call]{Items: make([]Call, 0, len(list)), Next: next.String()}
	for i := range list {
		x, err := ReadExplanation(&list[i])
		if err != nil {
			return api.Page[Call]{}, err
		}
		page.Items = append(page.Items, callOf(&x))
	}
	return page, nil
}

// Flush writes the records of this process to the store.
func (o *Operations) Flush(ctx context.Context) {
	if o.Index == nil {
		return
	}
	if err := o.Index.Flush(ctx); err != nil {
		o.Log.Debug("the latest requests are not in the index", zap.Error(err))
	}
}

// ReadExplanation returns the explanation that the index has of a request.
func ReadExplanation(r *store.IndexedRequest) (x record.Explanation, err error) {
	dec := json.NewDecoder(bytes.NewReader(r.Record))
	dec.UseNumber() // facts
	if err := dec.Decode(&x); err != nil {
		return x, reason.Internal.Refusal("The record of the request cannot be read.").Because(err)
	}
	return x, nil
}
