package calls

import (
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// Changes holds the new values of the rows that calls change.
type Changes struct {
	At         time.Time // the time of the transaction and of everything in it
	Beginnings []Beginnings
	Changed    []ledger.Line
	Lines      []ledger.Line // in the order of the ledger
	Counters   []Counter     // at most one for each key
	Accounts   []ledger.Account
	Pools      []ledger.Pool
	Used       []Use
	// Unchained means that the changes were made by a release without chains, for the tables of that release.
	Unchained bool
}

// A Beginnings is the record of one execution that began. Once the execution is settled, the record may be deleted at or after Forget, in
// nanoseconds since 1970 UTC; 0 means never.
type Beginnings struct {
	*store.Execution

	Forget int64
}

// A Use is the first use of an agreement.
type Use struct {
	Service, ID string
	At          time.Time
}

// A Counter is the new value of a row of the counters table.
type Counter struct {
	CounterKey

	Slot, Dispatch, DispatchSlot int64
	Counts                       []byte
}

// A CounterKey identifies one counter. The period is part of the key: if the period of a limit changes but its id does not, the limit
// starts a separate window instead of misreading the old one.
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

// Empty reports whether there are no changes.
func (c *Changes) Empty() bool {
	return len(c.Beginnings)+len(c.Changed)+len(c.Lines)+len(c.Counters)+len(c.Accounts)+len(c.Pools)+len(c.Used) == 0
}
