package ledger

import (
	"strings"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// SelectChecked reads the columns that CheckedRow.Scan reads.
const SelectChecked = "SELECT " + chainColumns + `, CASE WHEN e.id IS NULL THEN 0
	WHEN e.amount <> l.amount OR e.intent <> l.intent OR e.rule <> l.rule OR e.agent_id <> l.agent_id OR e.service <> l.service
		OR e.currency <> l.currency OR l.to_state IN ('captured', 'released') AND (e.state <> l.to_state OR e.outcome <> l.outcome)
		OR l.to_state = 'unresolved' AND e.state = 'held'
		OR l.at <> CASE l.to_state WHEN 'held' THEN e.begun_at WHEN 'unresolved' THEN e.unresolved_at ELSE e.settled_at END THEN 1
	WHEN l.to_state <> 'held' AND e.state = l.to_state THEN 2
	ELSE 0 END` + chainTables

// A CheckedRow is a ChainRow that was compared with the record of its execution.
type CheckedRow struct {
	ChainRow

	record  int64
	columns []any // nil before the first Scan
}

// The values of CheckedRow.record.
const (
	recordDiffers = 1
	recordEnded   = 2
)

// Scan reads the columns of SelectChecked. A CheckedRow may be used for several rows, one after another.
func (r *CheckedRow) Scan(scan engine.Scan) error {
	if r.columns == nil {
		r.columns = append(r.pointers(), &r.record)
	}
	return r.scan(scan, r.columns)
}

// Execution returns the id of the execution; empty for a top-up or a carry.
func (r *CheckedRow) Execution() string { return r.execution }

// Differs reports whether the record of the execution has another agent, price, intent, rule, time, state or outcome than the entry.
func (r *CheckedRow) Differs() bool { return r.record == recordDiffers }

// Ended reports whether the entry has led to the present state of the execution, and this state is not held.
func (r *CheckedRow) Ended() bool { return r.record == recordEnded }

// Asked reports whether the text of the question that the policy decided must be stored with the entry.
func (r *CheckedRow) Asked() bool { return r.From == "" && r.To != "" && r.asks.String != "" }

// Refunds reports whether the entry is the top-up of a refund.
func (r *CheckedRow) Refunds() bool {
	return r.To == "" && strings.HasPrefix(r.reference, store.RefundPrefix)
}

// Moves reports whether the entry is one of the two entries of a move of credit.
func (r *CheckedRow) Moves() bool {
	return r.To == "" && strings.HasPrefix(r.reference, store.MovePrefix)
}
