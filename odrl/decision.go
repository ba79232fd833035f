package odrl

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// A Request asks whether one agent may execute one intent now.
type Request struct {
	AgentID  string
	KeyID    string // RFC 7638 thumbprint of the agreed key
	AgentKey []byte // DER SubjectPublicKeyInfo of the agreed key; replaces an elided key in the policy
	ProofKey []byte // DER SubjectPublicKeyInfo of the key that signed this call; nil if there is no proof
	Intent   string // UID
	Now      time.Time
	// Facts are values of left operands by local name (purpose, spatial, …): strings, json.Number, bool, time.Time or lists of these. An
	// operand without a fact is unknown.
	Facts map[string]any
}

// A Decision is the result for one Request. The zero Decision denies.
type Decision struct {
	Permit bool
	Reason reason.Reason // empty on permit
	Rule   string        // the deciding rule: uid, or JSON pointer into the document
	Detail string        // for the agent: the requirement that was not met, without values of facts

	// Candidates are the permissions that permit the call, best first: by lowest charge, then fewest limits, then document order.
	Candidates []Candidate
	// ForbidsExceeding reports that the policy also prohibits exceedRateLimit on this target.
	ForbidsExceeding bool
	// Duties are owed in addition to payment and signing: attribute, inform, logUsage, acceptTracking.
	Duties []Duty
	// Facts are the values of the operands that the policy reads, for the audit record.
	Facts map[string]any
	// Engine is the engine that evaluated the policy; empty if no rule concerns the intent.
	Engine Engine
}

// A Candidate is one permission that permits a call.
type Candidate struct {
	Rule   string
	Limits []limit.Limit
	Charge money.Amount // zero means free
	Plans  []string     // the plans of the permission, sorted; nil: it applies under every plan, and without one
	// Carried are the limits of other plans in which a call under this permission counts as well. They refuse no call. Only Decide sets them.
	Carried    []limit.Limit
	permission *rules.Rule
}

// A Duty is a duty of a permitted call that the gateway itself fulfils.
type Duty struct {
	Rule   string
	Action string // local name: attribute, inform, logUsage, acceptTracking
	Notice string // for attribute: the required text, if the policy gives one
}

// Terms are the requirements of a policy on an agent for one intent, before any call is made.
type Terms struct {
	Permitted  bool
	Reason     reason.Reason // empty if permitted
	Detail     string
	Rule       string
	NeedsProof bool // calls need, or may need, a proof of key (signPayload)
	Candidates []Candidate
}

// An Engine evaluates a policy.
type Engine string

// The engines. EngineOPA is used if there is no plan, or if the plan cannot decide a request.
const (
	EnginePlan Engine = "plan"
	EngineOPA  Engine = "opa"
)
