package execute

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/internal/grant"
	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/store"
)

// A shapedCall is the outcome and the result of a call that has returned from the upstream.
type shapedCall struct {
	outcome store.Outcome
	output  []byte          // JSON; nil if the call failed
	refusal *reason.Refusal // nil if the call did not fail
	missing []intents.MissingOutput
	buffer  *upstream.Buffer // memory that may contain output
}

// call makes the upstream call. The Grant must be live.
func (x *Executor) call(ctx context.Context, e *execution, g grant.Grant) upstreamAnswer {
	x.begins(e, Send)
	defer e.leave()
	x.refresh(ctx, e)
	e.client = e.call.Span.Child().Child() // below the span of the step
	began := x.cfg.Now()
	if e.call.Stream != nil && passesEvents(e.intent) {
		e.prepared.Each(e.call.Stream)
	}
	if report := e.call.reporter(); report != nil {
		e.prepared.Report(report)
	}
	answer, outcome, err := e.service.Upstream.Call(ctx, e.prepared, upstream.Identity{
		Principal: string(e.claims.Principal()), Unapproved: !e.approved,
		AgentID: string(e.claims.Subject), AgentKey: string(e.claims.KeyID), Assurance: string(e.assurance()),
		Standing: e.standing(), TokenID: string(e.claims.ID),
		Traceparent: e.client.Traceparent(),
	}, g)
	e.upstream, e.status, e.cut = max(1, x.cfg.Now().Sub(began)), answer.Status, answer.Cut
	return upstreamAnswer{answer, outcome, err}
}

// passesEvents reports whether agents may receive the events of a stream: the intent declares no outputs, or the list
// of events is one of them.
func passesEvents(in *service.Intent) bool {
	const events = "events" // the member of the response that lists the events
	return len(in.Outputs) == 0 || slices.ContainsFunc(in.Outputs, func(p intents.Parameter) bool {
		return p.HasFrom && p.From == "/"+events || !p.HasFrom && p.Name == events
	})
}

type upstreamAnswer struct {
	upstream.Answer
	outcome store.Outcome
	err     error
}

// shape reduces a complete response to the intent's output parameters, or converts the error of the call to a refusal. See UIM core,
// section 3.1.3.
func (x *Executor) shape(ctx context.Context, e *execution, a upstreamAnswer) shapedCall {
	x.begins(e, Shape)
	if a.err != nil {
		return shapedCall{outcome: a.outcome, refusal: refusal.For(a.err).With("outcome", a.outcome)}
	}
	if a.JSON != nil {
		if len(e.intent.Outputs) == 0 && e.call.HandedOn && strictjson.Plausible(a.JSON) {
			return shapedCall{outcome: a.outcome, output: a.JSON, buffer: a.Buffer}
		}
		output, undeclared, ok := e.intent.Rewrite(nil, a.JSON) // usually one pass over the bytes is enough
		if ok {
			e.fitted.Undeclared = undeclared
			return shapedCall{outcome: a.outcome, output: output, buffer: a.Buffer}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, memoryWait)
	defer cancel()
	tree, err := a.Tree(ctx)
	if err != nil {
		return shapedCall{outcome: a.outcome, refusal: refusal.For(err).With("outcome", a.outcome)}
	}
	if e.fitted, err = e.intent.Fit(tree, e.intent.Lenient); err != nil {
		return shapedCall{outcome: store.Done, refusal: responseInvalid(err)}
	}
	body, err := strictjson.Append(nil, e.fitted.Output)
	if err != nil {
		return shapedCall{outcome: store.Done, refusal: responseInvalid(err)}
	}
	return shapedCall{outcome: a.outcome, output: body, missing: e.fitted.Missing}
}

// memoryWait is how long shape waits for memory to parse a response.
const memoryWait = 30 * time.Second

func responseInvalid(err error) *reason.Refusal {
	f := reason.ResponseInvalid.Refusal("The response of the service does not match the intent's output parameters.").With("outcome",
		store.Done).Because(err)
	if misfit, ok := errors.AsType[*intents.ResponseError](err); ok {
		f.With("answer_pointer", misfit.Pointer) // JSON pointer into the response of the service
	}
	return f
}

// settle stores the end of the call before the agent receives the response. If storing fails, the charge stays held, the agent receives it
// as pending, and lateEnds stores the end later. If another process has already settled the call, the agent receives the charge in the
// state that the other process stored.
func (x *Executor) settle(ctx context.Context, e *execution, s shapedCall) (Result, error) {
	x.begins(e, Settle)
	e.outcome = s.outcome
	ended := store.Settlement{State: settledState(s), Outcome: s.outcome, Answer: e.answer(s)}
	ended.Sent, ended.Form = e.sentDigest(s)
	record, err := x.cfg.Store.Settle(ctx, *e.admission, ended)
	if err != nil && !errors.Is(err, store.ErrSettled) {
		record = e.admission.Execution
		e.settleErr = err
		x.late.add(end{admission: *e.admission, settlement: ended, deadline: e.sendBy.Add(sentBefore)}, err)
	}
	if e.reference != nil && record.State != store.Held {
		e.reference.Since = referenceOf(&record).Since
	}
	e.answerLost = err == nil && ended.Answer != nil && record.Answer == nil && s.outcome != store.NotSent && s.outcome != store.Unknown
	charge := chargeOf(record)
	x.addReceipt(ctx, e, charge, record.Entry)
	if s.refusal != nil {
		return Result{}, s.refusal.Charged(charge).Standings(shown(e.admission.Standing))
	}
	result := Result{
		Output: s.output, Cut: e.cut, Charge: charge, Standing: shown(e.admission.Standing), Near: nearEnd(e.admission.Standing),
		Attribution: e.notices(), Warnings: s.missing,
	}
	if ended.Answer == nil { // otherwise the store may still refer to the output
		result.buffer = s.buffer
	}
	return result, nil
}

// notices returns the notices that everyone who uses the output must show: those of the duties with the action attribute of the ODRL
// vocabulary.
func (e *execution) notices() []string {
	var notices []string
	for _, d := range e.decision.Duties {
		if d.Action == "attribute" && d.Notice != "" && !slices.Contains(notices, d.Notice) {
			notices = append(notices, d.Notice)
		}
	}
	return notices
}

// settledState returns the state in which a call ends. The agent pays only if the service executed the call and the agent receives the
// response.
func settledState(s shapedCall) store.State {
	switch {
	case s.outcome == store.Unknown:
		return store.Unresolved
	case s.outcome == store.Done && s.refusal == nil:
		return store.Captured
	default:
		return store.Released
	}
}
