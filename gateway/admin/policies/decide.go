package policies

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/record"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/pat"
)

// A DecideRequest asks how a policy decides a call. If RequestID is set, the newest call with that id provides the values that the other
// members omit.
type DecideRequest struct {
	Service   string      `json:"-" query:"service,any"` // empty: that of the call with RequestID, or the only service
	RequestID string      `json:"request_id,omitempty"`
	AgentID   pat.AgentID `json:"agent_id,omitempty"`
	Intent    string      `json:"intent,omitempty"` // uid
	At        time.Time   `json:"at,omitzero"`      // zero: the time of the call, or now
	// Facts are values by left operand: a string, a number, true, false, or a list of these. They replace those of the call, and null removes
	// one.
	Facts map[string]any `json:"facts,omitempty"`
	// Proof is true or false: whether the agent signs the call. Empty: as the call did, or false.
	Proof string `json:"proof,omitempty"`
	// Policy is the text of a policy. Empty: that of PolicyDigest, or the one in force.
	Policy string `json:"policy,omitempty"`
	// PolicyDigest is the digest of a policy that the gateway has offered.
	PolicyDigest string `json:"policy_digest,omitempty"`
}

// Members implements api.Body.
func (r *DecideRequest) Members(m *wire.Members) error {
	r.RequestID, r.AgentID, r.Intent = m.Text("request_id", false), pat.AgentID(m.Text("agent_id", false)), m.Text("intent", false)
	r.Proof, r.Policy, r.PolicyDigest = m.Text("proof", false), m.Text("policy", false), m.Text("policy_digest", false)
	r.Facts = m.Object("facts")
	if at := m.Text("at", false); at != "" {
		var err error
		if r.At, err = time.Parse(time.RFC3339Nano, at); err != nil || r.At.Year() < 1970 || r.At.Year() > 2200 {
			return m.Wrong("at", "must be a time such as 2026-11-01T00:00:00Z")
		}
	}
	return m.Done()
}

// MaxBody implements api.LargeBody.
func (*DecideRequest) MaxBody() int64 { return maxPolicyBody }

// A PolicyDecision is how a policy decides a call. Limits, credit, stops, the operator's own Rego and the operator's rules about proofs are
// not part of it.
type PolicyDecision struct {
	Policy   Policy         `json:"policy"`
	AgentID  pat.AgentID    `json:"agent_id"`
	Intent   string         `json:"intent"`
	At       time.Time      `json:"at"`
	Decision string         `json:"decision"` // permit or deny
	Reason   reason.Reason  `json:"reason,omitempty"`
	Rule     string         `json:"rule,omitempty"`
	Detail   string         `json:"detail,omitempty"` // the requirement that is not met
	Limits   []string       `json:"limits,omitempty"` // such as 30/minute; the gateway counts calls against them
	Charge   string         `json:"charge,omitempty"` // such as 0.05 EUR
	Duties   []string       `json:"duties,omitempty"` // action and rule
	Facts    map[string]any `json:"facts,omitempty"`
	// Unknown lists the left operands that the policy reads and that have no value. The index does not record values from parameters.
	Unknown     []string          `json:"unknown,omitempty"`
	Constraints []ConstraintState `json:"constraints"` // of the rules about the intent, in document order
	// Recorded is the decision of the gateway about the call with RequestID. nil: the request has no RequestID.
	Recorded *RecordedDecision `json:"recorded,omitempty"`
}

// A ConstraintState compares one constraint with the facts of a call.
type ConstraintState struct {
	Rule     string   `json:"rule"`
	Type     string   `json:"type"` // Permission, Prohibition or Duty
	Name     string   `json:"constraint"`
	Operand  string   `json:"operand"`
	Operator string   `json:"operator"`
	Wanted   []string `json:"wanted"`
	Unit     string   `json:"unit,omitempty"`
	Found    any      `json:"found,omitempty"` // absent: unknown
	// State is satisfied or unsatisfied. For a limit it is counted, because limits are not compared.
	State string `json:"state"`
}

// A RecordedDecision is the index's record of a decision of the gateway.
type RecordedDecision struct {
	Decision string        `json:"decision"`
	Reason   reason.Reason `json:"reason,omitempty"`
	Rule     string        `json:"rule,omitempty"`
	Charge   string        `json:"charge,omitempty"`
	Digest   string        `json:"policy_digest,omitempty"`
	// Same reports whether the policy alone decides as the gateway did. It is false if the gateway refused the call for a cause other than
	// the policy.
	Same bool `json:"same"`
}

// Decide returns how a policy decides a call: the call of an earlier request, or any other.
// Meanwhile, other comparisons of policies wait for up to turnWait, and are then refused.
func (o *Operations) Decide(ctx context.Context, r DecideRequest) (PolicyDecision, error) {
	release, err := o.comparing.take(ctx)
	if err != nil {
		return PolicyDecision{}, err
	}
	defer release()
	var call *record.Explanation
	if r.RequestID != "" {
		if call, err = o.decidedCall(ctx, r.RequestID); err != nil {
			return PolicyDecision{}, err
		}
		r.Service = cmp.Or(r.Service, call.Service)
	}
	s, err := o.c.Services.Find(r.Service)
	if err != nil {
		return PolicyDecision{}, err
	}
	policy, about, err := o.policyToDecide(ctx, s, r)
	if err != nil {
		return PolicyDecision{}, err
	}
	request, err := o.requestToDecide(ctx, s, policy, r, call)
	if err != nil {
		return PolicyDecision{}, err
	}
	out, err := decideAgain(ctx, policy, request)
	if err != nil {
		return PolicyDecision{}, err
	}
	out.Policy = about
	if call != nil {
		out.Recorded = &RecordedDecision{Decision: call.Decision, Reason: call.Reason, Rule: call.Rule, Charge: call.Charge, Digest: call.Digest}
		out.Recorded.Same = call.Decision == out.Decision && call.Reason == out.Reason && (call.Rule == out.Rule || call.Rule == "")
	}
	return out, nil
}

// decidedCall returns the newest call of the index with an id that names an agent and an intent.
func (o *Operations) decidedCall(ctx context.Context, id string) (*record.Explanation, error) {
	o.c.Calls.Flush(ctx)
	list, err := o.c.Calls.RequestsByID(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, one := range slices.Backward(list) {
		x, err := calls.ReadExplanation(&one)
		if err != nil {
			return nil, err
		}
		if x.Agent != "" && x.Intent != "" {
			return &x, nil
		}
	}
	return nil, reason.NoSuchRecord.Refusal("The index has no call to an intent with this request id.")
}

// policyToDecide returns the policy that a request names, and describes it.
func (o *Operations) policyToDecide(ctx context.Context, s *service.Service, r DecideRequest) (*odrl.Policy, Policy, error) {
	offer := s.Offer()
	inForce := Policy{UID: offer.UID, Digest: offer.Digest, Offered: true, From: s.From}
	switch {
	case r.Policy != "" && r.PolicyDigest != "":
		return nil, Policy{}, api.WrongMember("policy_digest", "must be empty if there is a policy")
	case r.Policy == "" && (r.PolicyDigest == "" || r.PolicyDigest == offer.Digest):
		return s.Policy, inForce, nil
	case r.Policy != "":
		return draftPolicy(ctx, s, []byte(r.Policy))
	}
	stored, err := o.c.Store.Policy(ctx, s.ID, r.PolicyDigest)
	if err != nil {
		return nil, Policy{}, err
	}
	p, about, err := draftPolicy(ctx, s, stored.Bytes)
	about.FirstOffered = stored.FirstOffered
	return p, about, err
}

// requestToDecide combines a DecideRequest with an earlier call. call may be nil.
func (o *Operations) requestToDecide(
	ctx context.Context, s *service.Service, p *odrl.Policy, r DecideRequest, call *record.Explanation,
) (odrl.Request, error) {
	q := odrl.Request{AgentID: string(r.AgentID), Intent: r.Intent, Now: r.At, Facts: map[string]any{}}
	agreement, proof := pat.AgreementID(""), r.Proof
	if call != nil {
		if q.AgentID == "" || q.AgentID == call.Agent {
			q.AgentID, agreement = call.Agent, pat.AgreementID(call.Agreement)
		}
		q.Intent = cmp.Or(q.Intent, call.Intent)
		if q.Now.IsZero() {
			q.Now = call.At
		}
		maps.Copy(q.Facts, call.Found)
		if proof == "" && proved(call) {
			proof = "true"
		}
	}
	if q.Now.IsZero() {
		q.Now = o.c.Now()
	}
	switch {
	case q.AgentID == "":
		return q, api.WrongMember("agent_id", "is missing")
	case q.Intent == "":
		return q, api.WrongMember("intent", "is missing")
	case !slices.Contains([]string{"", "true", "false"}, proof):
		return q, api.WrongMember("proof", "must be true or false, as text")
	}
	if _, err := s.Intent(q.Intent); err != nil {
		return q, err
	}
	if err := addFacts(q.Facts, r.Facts, p.Operands()); err != nil {
		return q, err
	}
	if err := o.addKeys(ctx, s.ID, &q, agreement, proof == "true"); err != nil {
		return q, err
	}
	return q, nil
}

// proved reports whether a call had a valid proof of key.
func proved(call *record.Explanation) bool {
	step := func(name string) int {
		return slices.IndexFunc(call.Steps, func(s record.Step) bool { return s.Name == name })
	}
	return step("prove") >= 0 && step("decide") > step("prove")
}

// decideAgain decides a request by a policy alone.
func decideAgain(ctx context.Context, p *odrl.Policy, q odrl.Request) (PolicyDecision, error) {
	d, err := p.Decide(ctx, q)
	if err != nil {
		return PolicyDecision{}, reason.Internal.Refusal("The policy could not be evaluated.").Because(err)
	}
	again := p.Reproduce(q, d.Facts)
	e, err := p.Evaluate(ctx, again.Question, again.World, odrl.EvaluateOptions{DutyMode: again.DutyMode})
	if err != nil {
		return PolicyDecision{}, reason.Internal.Refusal("The policy could not be evaluated.").Because(err)
	}
	out := PolicyDecision{
		AgentID: pat.AgentID(q.AgentID), Intent: q.Intent, At: q.Now.UTC(), Decision: "deny", Reason: d.Reason, Rule: d.Rule, Detail: d.Detail,
		Facts: d.Facts, Constraints: constraintStates(p, e, d.Facts),
	}
	for _, operand := range p.Operands() {
		if _, known := d.Facts[operand]; !known && !odrl.SourceOf(operand).Fixed() {
			out.Unknown = append(out.Unknown, operand)
		}
	}
	for _, duty := range d.Duties {
		out.Duties = append(out.Duties, duty.Action+" "+duty.Rule)
	}
	if d.Permit {
		out.Decision = "permit"
		first := d.Candidates[0]
		for _, l := range first.Limits {
			out.Limits = append(out.Limits, l.String())
		}
		if !first.Charge.IsZero() {
			out.Charge = first.Charge.String()
		}
	}
	return out, nil
}

// constraintStates compares the constraints of the rules about the target of an evaluation with the facts.
func constraintStates(p *odrl.Policy, e odrl.Evaluation, facts map[string]any) []ConstraintState {
	list := []ConstraintState{}
	reports := map[string]*odrl.RuleReport{}
	for i := range e.Rules {
		reports[e.Rules[i].Rule] = &e.Rules[i]
	}
	for _, c := range p.Conditions() {
		report := reports[c.Rule]
		if report == nil || report.Type != "Duty" && report.Premise.Target == odrl.Unsatisfied {
			continue
		}
		one := ConstraintState{
			Rule: c.Rule, Type: report.Type, Name: c.Name, Operand: c.Operand, Operator: c.Operator, Wanted: c.Values, Unit: c.Unit,
			Found: facts[c.Operand], State: "unsatisfied",
		}
		switch {
		case c.Limit:
			one.State = "counted"
		case report.Constraints[c.Name] == odrl.Satisfied:
			one.State = "satisfied"
		}
		list = append(list, one)
	}
	return list
}
