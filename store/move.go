package store

import (
	"fmt"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
)

// MovePrefix begins the references of a CreditMove in the ledger. The operator's own references must not begin with it.
const MovePrefix = "move:"

// A CreditMove moves credit that an agent has not used to another agent of the service. In the ledger, it is a reversal for From and a
// top-up for To.
type CreditMove struct {
	Service   string
	From, To  pat.AgentID
	Amount    money.Amount // Nano is 0 in a request: all credit in the currency
	Reference string       // the operator's name for the move, unique in the service: a move with the same reference is made only once
	Reason    string
	At        time.Time // set by the store
}

// References returns the references of the entries of From and To in the ledger.
func (m *CreditMove) References() (from, to string) {
	return MovePrefix + m.Reference + ":from", MovePrefix + m.Reference + ":to"
}

// A MoveError means that an agent has less credit than the amount of a move.
type MoveError struct{ Left money.Amount }

func (e *MoveError) Error() string { return fmt.Sprintf("the agent has %s of unused credit", e.Left) }
