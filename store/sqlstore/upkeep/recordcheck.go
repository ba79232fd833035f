package upkeep

import (
	"context"
	"fmt"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// impliedRows counts the rows of other tables that the entries of chains imply.
type impliedRows struct {
	ended int64 // records of executions that are captured, released or unresolved
	asked int64 // texts of questions

	refunded, moved int64 // entries that refunds and moves of credit have made
}

func (n *impliedRows) add(r *ledger.CheckedRow) {
	if r.Ended() {
		n.ended++
	}
	if r.Asked() {
		n.asked++
	}
	if r.Refunds() {
		n.refunded++
	}
	if r.Moves() {
		n.moved++
	}
}

// countEnded counts the executions that are no longer held. It omits those whose entries a release without chains wrote.
const countEnded = `SELECT (SELECT COUNT(*) FROM executions WHERE amount > 0 AND state <> 'held') - (SELECT COUNT(*) FROM ledger l
	JOIN executions e ON e.id = l.execution_id WHERE l.k < 0 AND l.to_state <> 'held' AND l.to_state = e.state)`

// check returns an error if the tables have rows that the entries do not imply. asked is the number of texts of questions.
func (n impliedRows) check(ctx context.Context, reader *engine.Reader, asked int64) error {
	var ended int64
	reader.Find(ctx, countEnded, nil, &ended)
	if ended != n.ended {
		return fmt.Errorf("%d calls with a charge have ended, but the ledger has entries of %d: %w", ended, n.ended, store.ErrAltered)
	}
	return n.checkAsked(asked)
}

// checkAsked is check for the texts of questions alone.
func (n impliedRows) checkAsked(asked int64) error {
	if asked != n.asked {
		return fmt.Errorf("%d questions that the policy decided are stored, but the entries of the ledger name %d: %w", asked, n.asked,
			store.ErrAltered)
	}
	return nil
}
