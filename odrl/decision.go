package odrl

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
)

// A Request asks whether one agent may do one thing now.
type Request struct {
	AgentID  string
	KeyID    string // RFC 7638 thumbprint of the agreed key
	AgentKey []byte // DER SubjectPublicKeyInfo of the agreed key; takes the place of an elided key in the policy
	ProofKey []byte // of the key that signed this call; nil where no proof was sent
	Intent   string // UID
	Now      time.Time
	// Facts are values of left operands by local name (purpose, spatial, …): strings, json.Number, bool,
	// time.Time or lists of them. An operand without a fact is unknown.
	Facts map[string]any
}

// A Decision is the answer to one Request. The zero Decision denies.
type Decision struct {
	Permit bool
	Reason reason.Reason // empty on permit
	Rule   string        // that decided: uid, or JSON pointer into the document
	Detail string        // for the agent: what was not met, never with values of facts

	// Candidates are the permissions that permit, best first: lowest charge, fewest limits, document order.
	Candidates []Candidate
	// ForbidsExceeding: the policy also prohibits exceedRateLimit on this target.
	ForbidsExceeding bool
	// Duties owed beside payment: attribute, inform, logUsage, acceptTracking.
	Duties []Duty
	// Facts are the values of the operands the policy reads, for the audit record.
	Facts map[string]any
	// Engine is what evaluated the policy; empty where no rule is about the intent.
	Engine Engine
}

// A Candidate is one permission that permits a call.
type Candidate struct {
	Rule   string
	Limits []limit.Limit
	Charge money.Amount // zero: free
}

// A Duty is something owed for a permitted call that the gateway itself sees to.
type Duty struct {
	Rule   string
	Action string // local name: attribute, inform, logUsage, acceptTracking
	Notice string // for attribute: the text required, if the policy names one
}

// Terms are what a policy asks of an agent for one intent, before any call is made.
type Terms struct {
	Permitted  bool
	Reason     reason.Reason // why not
	Detail     string
	Rule       string
	NeedsProof bool // signPayload binds the agent
	Candidates []Candidate
}

// An Engine evaluates a policy.
type Engine string

// The engines. OPA is asked where the plan is not known to answer as OPA does.
const (
	EnginePlan Engine = "plan"
	EngineOPA  Engine = "opa"
)
