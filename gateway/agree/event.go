package agree

import (
	"time"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// An Operation is the kind of a Call.
type Operation string

// The operations of a Service.
const (
	Agreement     Operation = "agreement"
	Renewal       Operation = "renewal"
	Revocation    Operation = "revocation"
	Introspection Operation = "introspection"
)

// An Event describes one call with the same facts for the log and the metrics. It never holds a token or a key, and for a refused call
// nothing that the agent sent.
type Event struct {
	At          time.Time
	Service     string
	Operation   Operation
	AgentID     pat.AgentID
	TokenID     pat.TokenID
	AgreementID pat.AgreementID
	Digest      string        // of the policy
	Pending     bool          // the operator must first approve the agent
	Reason      reason.Reason // of a refusal
	Shed        reason.Cause  // the cause of a refusal due to overload; empty: none, or counted elsewhere
	Took        time.Duration
}

// A Recorder records Events. It is safe for concurrent use, and fast: the agent waits for it.
type Recorder interface{ RecordAgreement(e *Event) }
