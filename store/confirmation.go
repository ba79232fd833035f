package store

import (
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

// A ConfirmationState is the state of a Confirmation.
type ConfirmationState string

// The states of a Confirmation.
const (
	ConfirmationAsked     ConfirmationState = "asked"     // the person has not decided yet
	ConfirmationConfirmed ConfirmationState = "confirmed" // the call can be made once, until Confirmation.Until
	ConfirmationRefused   ConfirmationState = "refused"   // refused by the person, or after too many failed attempts
	ConfirmationUsed      ConfirmationState = "used"      // used: the call was made
)

// A Confirmation is one exact call under a consent, which a person is asked to confirm or has decided on.
type Confirmation struct {
	Service      string
	ID           string // 16 bytes of a UUIDv7, in base64url; part of the address of the page
	AgentID      pat.AgentID
	AgreementID  pat.AgreementID // the consent
	Door         string          // the protocol of the call; empty: UIM over HTTP
	ContextID    string          // the id of the conversation of the call; empty: none
	Key          string          // the idempotency key of the call; empty: none
	Intent       string
	Digest       string // the digest of intent and parameters as sent; see pat.ExecuteDigest
	Binding      string // the digest of everything that the person confirms
	Parameters   []byte // the parameters as the service receives them, as a JSON object
	Sent         []byte // the parameters as the client sent them, as a JSON object
	Charge       money.Amount
	PolicyDigest string
	State        ConfirmationState
	Tries        int    // the number of failed attempts to decide
	Token        string // the digest of the token that a client of UIM sends; empty: not confirmed yet
	Record       string // the signed record of the decision
	ExecutionID  string // the execution that used it; empty: none, or the call has no record
	CreatedAt    time.Time
	Until        time.Time // from then on, it can be neither decided on nor used
}

// ConfirmationKept is how long a Confirmation is stored, without its parameters, after a call has used it. A repeated call can thus find
// the answer of that call.
const ConfirmationKept = 24 * time.Hour

// MaxBudgets is the maximum number of times that the budget of one consent can be changed.
const MaxBudgets = pat.MaxBudgetChanges
