package execute

import (
	"slices"
	"time"

	"github.com/uimgate/uimgate/gateway/execute/upstream"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/trace"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/store"
)

// An Event describes one call for the log, the audit record and the metrics. It never contains a token or a key. Only the audit record may
// contain Parameters.
type Event struct {
	At          time.Time
	RequestID   RequestID
	Door        string // name of the protocol; empty: UIM over HTTP
	Service     string
	AgentID     string
	TokenID     string
	Unaccepted  bool // the PAT has a valid signature, but was refused because its agent is blocked
	AgreementID string
	Intent      string // uid of the intent; empty if it does not exist
	Digest      string // digest of the policy that decided the call or, if none did, of the policy of the agreement
	Decision    string // permit or deny
	Rule        string
	Reason      reason.Reason   // reason of the refusal; empty: not refused
	Refusal     *reason.Refusal // nil: not refused. Its message may contain text of the service.
	// Wanted is the requirement or the price that the call did not meet, without values of facts. It is empty if there is none.
	Wanted      string
	Limits      []limit.Status // the states of the limits of the call, if it was admitted or a limit refused it
	Near        []limit.Status // the limits and the budget that are at least 80 % used after this call
	Shed        reason.Cause   // cause of a shed call; empty: not shed
	Outcome     store.Outcome
	Exceeded    limit.Period // period of the exhausted limit, if the call was refused because of it
	ExecutionID string       // id of the execution; empty if the call did not reach begin
	// Reference identifies the record of the call, or of the earlier call that it repeats. nil: no record.
	Reference *Reference
	Charge    *reason.Charge
	Replayed  bool
	Took      time.Duration
	Upstream  time.Duration // duration of the call to the service, with all attempts; 0: no call was made
	// Missing are the names of required outputs that the response of the service lacks. Undeclared are the names of members that were dropped
	// from the response, at most intents.MaxUndeclared; UndeclaredCount is the number of all dropped members.
	Missing         []string
	Undeclared      []string
	UndeclaredCount int
	AnswerLost      bool   // the response was not stored under the idempotency key, because there was no space
	Unreceipted     error  // why a charge that has ended has no receipt
	Unsettled       error  // why the end of the call could not be stored when the call ended
	Engine          string // engine that evaluated the policy: plan or opa
	Facts           map[string]any
	// Reproduction is the request for the decision. It and the policy are enough to repeat the decision. nil: no decision.
	Reproduction   *odrl.Reproduction
	FromParameters []string          // operands whose facts came from parameters
	Parameters     strictjson.Object // as sent
	Duties         []string          // duties that apply to the call: action and rule
	Owed           bool              // a duty of the policy requires this record
	Span           trace.Span        // the span of the call
	Client         trace.Span        // the span of the call to the service; the zero Span: none
	Route          *upstream.Route   // the route of the intent to the service; nil: the intent is not known
	Status         int               // the status of the service's response; 0: none
	Operation      *Operation        // the operation of the protocol; nil: the span of the call is that of its request
	Steps          StepTimes
}

// metByRecord are the actions of duties that the gateway fulfils by recording a call.
var metByRecord = []string{"inform", "logUsage", "acceptTracking"}

// event returns the state of an execution and its result. fault is nil if the call was not refused.
func (e *execution) event(now time.Time, result Result, fault *reason.Refusal) *Event {
	v := &Event{
		At: e.started, RequestID: e.call.RequestID, Door: e.call.Door, Decision: "deny", Took: now.Sub(e.started), Upstream: e.upstream,
		Outcome: e.outcome, Exceeded: e.exceeded, Charge: result.Charge, Replayed: result.Replayed, Unsettled: e.settleErr,
		Unreceipted: e.receiptErr,
		AnswerLost:  e.answerLost, Wanted: e.decision.Detail, Limits: result.Standing, Near: result.Near,
		Rule: e.decision.Rule, Engine: string(e.decision.Engine), Facts: e.decision.Facts, FromParameters: e.fromParameters,
		Parameters: e.request.Parameters, ExecutionID: e.id, Reference: e.reference,
		Span: e.call.Span, Client: e.client, Status: e.status, Operation: e.call.Operation, Steps: e.steps,
	}
	if e.service != nil {
		v.Service = e.service.ID
	}
	if e.claims != nil {
		v.AgentID, v.TokenID = string(e.claims.Subject), string(e.claims.ID)
		v.AgreementID, v.Digest = string(e.claims.Agreement), e.claims.PolicyDigest
	}
	if e.blocked != nil {
		v.AgentID, v.TokenID, v.Unaccepted = string(e.blocked.AgentID), string(e.blocked.TokenID), true
	}
	if e.decided {
		v.Digest = e.service.Offer().Digest
		v.Reproduction = e.reproduced()
	}
	v.Undeclared, v.UndeclaredCount = e.fitted.Undeclared.Names, e.fitted.Undeclared.Count
	for _, m := range e.fitted.Missing {
		v.Missing = append(v.Missing, m.Name)
	}
	if e.intent != nil {
		v.Intent, v.Route = e.intent.ID, e.intent.Route
	}
	if e.admission != nil || result.Replayed {
		v.Decision = "permit"
	}
	for _, d := range e.decision.Duties {
		v.Duties = append(v.Duties, d.Action+" "+d.Rule)
		v.Owed = v.Owed || slices.Contains(metByRecord, d.Action)
	}
	if e.admission != nil && e.admission.Execution.Rule != "" {
		v.Rule = e.admission.Execution.Rule
	}
	if fault != nil {
		v.Reason, v.Shed, v.Refusal = fault.Reason, fault.Shed, fault
		v.Charge, v.Limits = fault.Charge, fault.Standing
		if candidates := e.decision.Candidates; fault.Code == reason.CodePaymentRequired && v.Wanted == "" && len(candidates) > 0 {
			v.Wanted = "credit or a balance of " + candidates[0].Charge.String()
		}
	}
	return v
}

// reproduced returns the question that the policy decided. The returned form of the question and the policy are enough
// to repeat the decision.
func (e *execution) reproduced() *odrl.Reproduction {
	if e.reproduction.DutyMode == "" { // the question was not made yet
		e.reproduction = e.service.Policy.Reproduce(e.question, e.decision.Facts)
	}
	return &e.reproduction
}

// withOutcome adds the outcome of the call to a refusal with a 5xx status, unless the refusal already has an outcome.
func (e *execution) withOutcome(f *reason.Refusal) *reason.Refusal {
	if _, known := f.Details["outcome"]; known || f.Status() < 500 {
		return f
	}
	outcome := e.outcome
	switch {
	case outcome != "":
	case e.admission == nil:
		outcome = store.NotSent
	default:
		outcome = store.Unknown
	}
	return f.With("outcome", outcome)
}

// Unsent returns the *reason.Refusal for an error of a call that did not begin. A refusal with a 5xx status has the outcome store.NotSent.
func Unsent(err error) error { return (&execution{}).withOutcome(refusal.For(err)) }

// finish records the call, and passes its Event to Call.Observe. It returns err as a *reason.Refusal, or nil if err is nil.
func (x *Executor) finish(e *execution, result Result, err error) (Result, error) {
	var fault *reason.Refusal
	if err != nil {
		fault = e.withOutcome(refusal.For(err))
		e.paidBy(fault)
		err = fault
	}
	x.countFailure(e, fault)
	v := e.event(x.cfg.Now(), result, fault)
	x.cfg.Recorder.Record(v)
	if e.call.Observe != nil {
		e.call.Observe(v)
	}
	return result, err
}
