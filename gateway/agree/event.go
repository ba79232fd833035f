package agree

import (
	"time"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// An Operation is the kind of request that a Call makes.
type Operation string

// The operations of a Service.
const (
	Agreement     Operation = "agreement"
	Renewal       Operation = "renewal"
	Revocation    Operation = "revocation"
	Introspection Operation = "introspection"
)

// An Event describes one Call for the log and the metrics. It never contains a token or a key. For a refused call, it contains no value
// that the agent sent, except the ids of a blocked agent and of its PAT.
type Event struct {
	At          time.Time
	Service     string
	Operation   Operation
	AgentID     pat.AgentID
	TokenID     pat.TokenID
	AgreementID pat.AgreementID
	Digest      string        // digest of the policy
	Pending     bool          // the agent waits for the approval of the operator
	Reason      reason.Reason // reason of the refusal; empty: not refused
	Shed        reason.Cause  // cause of a shed request; empty: not shed, or counted by other code
	Took        time.Duration
}

// A Recorder records Events. It must be safe for concurrent use, and fast, because the agent waits for it.
type Recorder interface{ RecordAgreement(e *Event) }
