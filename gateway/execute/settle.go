package execute

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// An answered call: what came back, as it will be told and kept.
type answered struct {
	outcome store.Outcome
	body    []byte          // JSON, on success
	fault   *reason.Refusal // otherwise
}

// call makes the upstream call, which only a live Grant can.
func (x *Executor) call(ctx context.Context, e *execution, grant Grant) upstreamAnswer {
	answer, outcome, err := e.service.Upstream.Call(ctx, e.prepared, upstream.Identity{
		AgentID: e.claims.Subject, AgentKey: e.claims.KeyID, Assurance: string(e.assurance()), TokenID: e.claims.ID,
		ExecutionID: grant.executionID, Traceparent: e.call.Traceparent,
	}, grant.alive)
	return upstreamAnswer{answer, outcome, err}
}

type upstreamAnswer struct {
	upstream.Answer
	outcome store.Outcome
	err     error
}

// shape fits a complete answer to the intent's output parameters. UIM core 3.1.3.
func (x *Executor) shape(e *execution, a upstreamAnswer) answered {
	if a.err != nil {
		return answered{outcome: a.outcome, fault: refusal.For(a.err).With("outcome", a.outcome)}
	}
	shaped, err := e.intent.Shape(a.Body)
	if err != nil {
		return answered{outcome: store.Done, fault: responseInvalid(err)}
	}
	body, err := json.Marshal(shaped)
	if err != nil {
		return answered{outcome: store.Done, fault: responseInvalid(err)}
	}
	return answered{outcome: a.outcome, body: body}
}

func responseInvalid(err error) *reason.Refusal {
	f := reason.ResponseInvalid.Refusal("The service's answer does not fit the intent's output parameters.").With("outcome", store.Done).Because(err)
	if misfit, ok := errors.AsType[*intents.ResponseError](err); ok {
		f.With("pointer", misfit.Pointer)
	}
	return f
}

// settle makes the end of the call durable before the answer leaves. What cannot be written down stays
// held, and the agent is told that its charge is pending.
func (x *Executor) settle(ctx context.Context, e *execution, a answered) (Result, error) {
	e.outcome = a.outcome
	ended := store.Settlement{State: settledState(a), Outcome: a.outcome, Answer: a.kept()}
	record, err := x.store.Settle(ctx, *e.taken, ended)
	if err != nil {
		record = e.taken.Execution
		e.settleErr = err
	}
	charge := chargeOf(record)
	if a.fault != nil {
		return Result{}, a.fault.Charged(charge).Standings(e.taken.Standing)
	}
	return Result{Output: a.body, Charge: charge, Standing: e.taken.Standing, Attribution: e.notices()}, nil
}

// notices are the texts that whoever uses the output must show. ODRL vocabulary: attribute.
func (e *execution) notices() []string {
	var notices []string
	for _, d := range e.decision.Duties {
		if d.Action == "attribute" && d.Notice != "" && !slices.Contains(notices, d.Notice) {
			notices = append(notices, d.Notice)
		}
	}
	return notices
}

// settledState follows from what is known of the upstream call: it is paid for when it was done and
// the agent gets its answer.
func settledState(a answered) store.State {
	switch {
	case a.outcome == store.Unknown:
		return store.Unresolved
	case a.outcome == store.Done && a.fault == nil:
		return store.Captured
	default:
		return store.Released
	}
}

// kept is the answer as stored under an idempotency key.
func (a answered) kept() *store.Answer {
	if a.fault != nil {
		return &store.Answer{Status: a.fault.Status(), ContentType: "application/json", Body: wire.Envelope(a.fault), Reason: string(a.fault.Reason)}
	}
	return &store.Answer{Status: http.StatusOK, ContentType: "application/json", Body: a.body}
}
