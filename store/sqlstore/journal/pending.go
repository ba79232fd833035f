package journal

import (
	"maps"
	"slices"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

type agreement struct{ service, id string }

// PendingChanges are the changes in the journal of a database that its tables do not have yet. The zero value is empty. It is not safe for
// concurrent use.
type PendingChanges struct {
	Lines    []ledger.Line      // the lines of the ledger, in order
	Begun    []*store.Execution // executions that began, in order, in their present state
	Changed  []ledger.Line      // changes of other executions, from their state in the table
	Counters map[calls.CounterKey]calls.Counter
	Accounts map[ledger.AccountKey]ledger.Account
	Pools    map[ledger.PoolKey]ledger.Pool
	Used     map[agreement]time.Time
	Records  int
	// Unchained means that a release without chains made some of the records; see calls.Changes.
	Unchained bool

	execution map[string]int // id → index in Begun
	changed   map[string]int // id → index in Changed
}

// Empty reports whether there are no pending changes.
func (p *PendingChanges) Empty() bool { return p.Records == 0 }

// Size returns approximately how many rows the changes have.
func (p *PendingChanges) Size() int {
	return len(p.Lines) + len(p.Counters) + len(p.Accounts) + len(p.Pools) + len(p.Used)
}

// Clear removes all changes. It keeps their memory for the next ones, unless there were many.
func (p *PendingChanges) Clear() {
	if cap(p.Lines) > 4*MostPending {
		*p = PendingChanges{}
		return
	}
	clear(p.Lines)
	clear(p.Begun)
	clear(p.Changed)
	clear(p.Counters)
	clear(p.Accounts)
	clear(p.Pools)
	clear(p.Used)
	clear(p.execution)
	clear(p.changed)
	p.Lines, p.Begun, p.Changed, p.Records, p.Unchained = p.Lines[:0], p.Begun[:0], p.Changed[:0], 0, false
}

// Began reports whether an execution began in the pending changes.
func (p *PendingChanges) Began(id string) bool {
	_, found := p.execution[id]
	return found
}

// Add adds the next record.
func (p *PendingChanges) Add(r *calls.Changes) {
	if p.execution == nil {
		*p = PendingChanges{
			Counters: map[calls.CounterKey]calls.Counter{}, Accounts: map[ledger.AccountKey]ledger.Account{},
			Pools: map[ledger.PoolKey]ledger.Pool{}, Used: map[agreement]time.Time{},
			execution: map[string]int{}, changed: map[string]int{},
		}
	}
	p.Records++
	p.Unchained = p.Unchained || r.Unchained
	p.Lines = append(p.Lines, r.Lines...)
	for _, l := range r.Lines {
		p.add(l)
	}
	for _, c := range r.Counters {
		p.Counters[c.CounterKey] = c
	}
	for _, a := range r.Accounts {
		p.Accounts[a.AccountKey] = a
	}
	for _, pool := range r.Pools {
		p.Pools[pool.PoolKey] = pool
	}
	for _, u := range r.Used {
		if _, before := p.Used[agreement{u.Service, u.ID}]; !before {
			p.Used[agreement{u.Service, u.ID}] = u.At
		}
	}
}

func (p *PendingChanges) add(l ledger.Line) {
	e := l.Execution
	if l.From == "" {
		p.execution[e.ID] = len(p.Begun)
		p.Begun = append(p.Begun, e)
		return
	}
	if i, found := p.execution[e.ID]; found {
		became := *p.Begun[i] // a copy: the line in Lines must show the execution as it began
		became.State, became.Outcome, became.SettledAt, became.UnresolvedAt = e.State, e.Outcome, e.SettledAt, e.UnresolvedAt
		p.Begun[i] = &became
		return
	}
	if i, found := p.changed[e.ID]; found {
		p.Changed[i].Execution = e
		return
	}
	p.changed[e.ID] = len(p.Changed)
	p.Changed = append(p.Changed, l)
}

// changes merges all pending changes.
func (p *PendingChanges) changes() *calls.Changes {
	c := &calls.Changes{
		Changed: p.Changed, Lines: p.Lines, Counters: slices.Collect(maps.Values(p.Counters)),
		Accounts: slices.Collect(maps.Values(p.Accounts)), Pools: slices.Collect(maps.Values(p.Pools)),
		Unchained: p.Unchained,
	}
	for _, e := range p.Begun {
		c.Beginnings = append(c.Beginnings, calls.Beginnings{Execution: e})
	}
	for a, at := range p.Used {
		c.Used = append(c.Used, calls.Use{Service: a.service, ID: a.id, At: at})
	}
	return c
}
