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
	ConfirmationRefused   ConfirmationState = "refused"   // by the person, or after too many failed attempts
	ConfirmationUsed      ConfirmationState = "used"      // the call was made
)

// A Confirmation is one exact call under consent that a person is asked to confirm, or has decided on.
type Confirmation struct {
	Service      string
	ID           string // 16 bytes of a UUIDv7 in base64url, and part of the address of the page
	AgentID      pat.AgentID
	AgreementID  pat.AgreementID // the consent
	Door         string          // protocol of the call; empty: UIM over HTTP
	ContextID    string          // id of the conversation that the call belongs to; empty: none
	Key          string          // idempotency key of the call; empty: none
	Intent       string
	Digest       string // of intent and parameters as sent; see pat.ExecuteDigest
	Binding      string // digest of everything that the person confirms
	Parameters   []byte // as the service receives them, as a JSON object
	Sent         []byte // as the client sent them, as a JSON object
	Charge       money.Amount
	PolicyDigest string
	State        ConfirmationState
	Tries        int    // failed attempts to decide
	Token        string // digest of the token that a client of UIM sends; empty: not confirmed yet
	Record       string // the record of the decision, which the gateway signed
	ExecutionID  string // of the call that used it; empty: none, or the call has no record
	CreatedAt    time.Time
	Until        time.Time // from then on, it can be neither decided on nor used
}

// ConfirmationKept is how long a Confirmation is stored after a call has used it, without its parameters, so that a repeated call finds the
// answer of the call that used it.
const ConfirmationKept = 24 * time.Hour

// MaxBudgets is the maximum number of times that the budget of one consent can be changed.
const MaxBudgets = 200
