package calls

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// Changes are the new values of the rows that calls change.
type Changes struct {
	At         time.Time // of the transaction; all that happened in it has this time
	Beginnings []Beginnings
	Changed    []ledger.Line
	Lines      []ledger.Line // in their order
	Counters   []Counter     // each once
	Accounts   []ledger.Account
	Pools      []ledger.Pool
	Used       []Use
}

// A Beginnings is an execution that began, and when it may be deleted once it is settled; 0: never.
type Beginnings struct {
	*store.Execution

	Forget int64
}

// A Use is the first use of an agreement.
type Use struct {
	Service, ID string
	At          time.Time
}

// A Counter is the new value of a row of counters.
type Counter struct {
	CounterKey

	Slot, Dispatch, DispatchSlot int64
	Counts                       []byte
}

// A CounterKey identifies one counter. The period is part of it, so that a limit whose period was changed under the same id starts a
// separate window instead of misreading the old one.
type CounterKey struct {
	Service, AgentID, LimitID string
	Period                    limit.Period
}

func (c *Counter) args() []any {
	return []any{
		c.Slot, engine.Blob(c.Counts), c.Dispatch, c.DispatchSlot, engine.Nanos(c.Period.Frees(c.Slot)),
		c.Service, c.AgentID, c.LimitID, string(c.Period),
	}
}

// Empty reports whether nothing was changed.
func (c *Changes) Empty() bool {
	return len(c.Beginnings)+len(c.Changed)+len(c.Lines)+len(c.Counters)+len(c.Accounts)+len(c.Pools)+len(c.Used) == 0
}
