package testcalls

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/policies"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Playground makes calls as the test agent of a service: an ordinary agent whose key the gateway keeps. Its requests pass through the
// handler of the public listener, so that the policy, limits, stops and charges apply to them. It is safe for concurrent use.
type Playground interface {
	// Agent describes the test agent of a service.
	Agent(s *service.Service) TestAgent
	// Agree signs the policy in force as the test agent, and requests a PAT.
	Agree(ctx context.Context, s *service.Service) (TestAgreement, error)
	// Call sends a call as the test agent.
	Call(ctx context.Context, s *service.Service, c TestCall) (TestResult, error)
}

// The protocols of test calls.
const (
	TestUIM = "uim" // UIM over HTTP
	TestMCP = "mcp"
	TestA2A = "a2a"
)

// TestDoors are the protocols of test calls.
var TestDoors = []string{TestUIM, TestMCP, TestA2A}

// A TestState describes the PAT of a test agent.
type TestState string

// The states of a test agent.
const (
	TestUnsigned TestState = "unsigned" // it has not agreed since the process started
	TestPending  TestState = "pending"  // it waits for approval; when it is approved, it must agree again
	TestAgreed   TestState = "agreed"   // it has a PAT for the policy in force
	TestOutdated TestState = "outdated" // it has a PAT for an earlier policy
	TestExpired  TestState = "expired"  // its PAT has expired
)

// A TestAgent is the agent with which the playground calls a service. AgentID and KeyID are empty until it agrees for the first time after
// the start of the process.
type TestAgent struct {
	State       TestState       `json:"state" jsonschema:"enum=unsigned,enum=pending,enum=agreed,enum=outdated,enum=expired"`
	AgentID     pat.AgentID     `json:"agent_id,omitempty"`
	KeyID       keys.ID         `json:"jkt,omitempty"`
	AgreementID pat.AgreementID `json:"agreement_id,omitempty"`
	Agreed      string          `json:"agreed_digest,omitempty"` // digest of the policy that it has agreed to
	Until       time.Time       `json:"until,omitzero"`          // when its PAT expires
	Policy      policies.Policy `json:"policy"`                  // the policy in force
	Doors       []string        `json:"doors"`                   // the protocols through which it can call the service
}

// An Exchange is a request as it goes over the wire, and its response. Each is a string of at most 64 KiB, in which
// names replace PATs and signatures.
type Exchange struct {
	Request  string `json:"request"`
	Response string `json:"response"`
	// Shortened means that one of the two was longer.
	Shortened bool `json:"shortened,omitempty"`
	Status    int  `json:"status"` // of the response over HTTP
}

// A TestAgreement is the result of an agreement of the test agent.
type TestAgreement struct {
	Exchange
	Agent TestAgent `json:"agent"`
}

// ChangedID returns the id of the changed record for the audit stream.
func (a TestAgreement) ChangedID() string { return string(a.Agent.AgentID) }

// A PlaygroundQuery selects the service of a test agent.
type PlaygroundQuery struct {
	Service string `query:"service"` // id; empty: the only service
}

// A TestConsent makes the test agent of a service agree to the policy in force.
type TestConsent struct {
	Service string `json:"-" query:"service"` // id; empty: the only service
	// PolicyDigest is that of the policy that the operator has read. The request is refused if another policy is in force.
	PolicyDigest string `json:"policy_digest"`
}

// A TestCall is a call of the test agent.
type TestCall struct {
	Service    string            `json:"-" query:"service"` // id; empty: the only service
	Door       string            `json:"door,omitempty"`    // one of TestDoors; empty: TestUIM
	Intent     string            `json:"intent"`            // uid
	Parameters strictjson.Object `json:"parameters,omitempty"`
	// IdempotencyKey makes a repeated call return the response of the first one; 1 to 128 visible ASCII characters; empty: none.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// Members implements api.Body.
func (c *TestCall) Members(m *wire.Members) error {
	c.Door, c.Intent, c.IdempotencyKey = m.Text("door", false), m.Text("intent", true), m.Text("idempotency_key", false)
	if v, ok := m.Take("parameters"); ok {
		if c.Parameters, ok = strictjson.AsObject(v); !ok {
			return m.Wrong("parameters", "must be an object")
		}
	}
	return m.Done()
}

// A TestResult is the outcome of a call of the test agent. Decision and the members after it are those of the request index; they are empty
// if the index has no record of the call.
type TestResult struct {
	Exchange
	RequestID   string        `json:"request_id"`
	Receipt     string        `json:"receipt,omitempty"` // signed; see UIM core, section 6
	Decision    string        `json:"decision,omitempty"`
	Reason      reason.Reason `json:"reason,omitempty"`
	Message     string        `json:"message,omitempty"` // of the refusal
	Rule        string        `json:"rule,omitempty"`
	Outcome     string        `json:"outcome,omitempty"`
	Charge      string        `json:"charge,omitempty"`
	ChargeState string        `json:"charge_state,omitempty"`
	ExecutionID string        `json:"execution,omitempty"`
}

// ChangedID returns the id of the changed record for the audit stream.
func (r TestResult) ChangedID() string { return r.RequestID }

// offered returns a refusal if there is no playground.
func (o *Operations) offered() error {
	if o.Playground == nil || !o.Services.Directory.Current().Playground {
		return reason.NotOffered.Refusal("The playground is off: see admin.playground.")
	}
	return nil
}

// TestAgent describes the test agent of a service. It changes nothing.
func (o *Operations) TestAgent(_ context.Context, s *service.Service, _ PlaygroundQuery) (TestAgent, error) {
	if err := o.offered(); err != nil {
		return TestAgent{}, err
	}
	return o.Playground.Agent(s), nil
}

// AgreeTest makes the test agent of a service agree to the policy in force. The Exchange has the response of the gateway, which may refuse
// the agreement or wait for approval.
func (o *Operations) AgreeTest(ctx context.Context, s *service.Service, r TestConsent) (TestAgreement, error) {
	if err := o.offered(); err != nil {
		return TestAgreement{}, err
	}
	if r.PolicyDigest != s.Offer().Digest {
		return TestAgreement{}, api.WrongMember("policy_digest", "is not that of the policy in force: read the policy again")
	}
	return o.Playground.Agree(ctx, s)
}

// TryCall calls an intent as the test agent of a service. The gateway decides, executes and charges the call like that of any other agent.
// The Exchange has its response, which may be a refusal.
func (o *Operations) TryCall(ctx context.Context, s *service.Service, c TestCall) (TestResult, error) {
	if err := o.offered(); err != nil {
		return TestResult{}, err
	}
	result, err := o.Playground.Call(ctx, s, c)
	if err == nil {
		o.explainTest(ctx, &result)
	}
	return result, err
}

// explainTest adds what the index has recorded about a call. If the index cannot be read, the result lacks it: the call was made anyway.
func (o *Operations) explainTest(ctx context.Context, r *TestResult) {
	o.Calls.Flush(ctx)
	list, err := o.Store.RequestsByID(ctx, r.RequestID)
	if err != nil || len(list) == 0 {
		return
	}
	x, err := calls.ReadExplanation(&list[len(list)-1])
	if err != nil {
		return
	}
	r.Decision, r.Reason, r.Message, r.Rule, r.Outcome = x.Decision, x.Reason, x.Message, x.Rule, x.Outcome
	r.Charge, r.ChargeState, r.ExecutionID = x.Charge, x.ChargeState, x.ExecutionID
}
