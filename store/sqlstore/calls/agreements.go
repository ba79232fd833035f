package calls

import (
	"fmt"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const (
	fromActive = "FROM agreements a WHERE a.service = ? AND a.id = ? AND a.state = '" + string(pat.AgreementActive) + "'"
	// replacedAt is when an agreement with another plan, which was made in advance, replaces the agreement; 0: not known.
	replacedAt = "(SELECT COALESCE(MIN(o.effective_at), 0) FROM agreements o WHERE o.service = a.service AND o.agent_id = a.agent_id " +
		"AND o.state = 'active' AND o.effective_at > 0 AND o.effective_at > a.effective_at AND o.plan <> a.plan)"
	// selectActive locks the agreement, so that a call under it begins either before the agreement ends or not at all. The journal never
	// contains a change of an agreement's state, so the table is up to date even while changes of calls are pending.
	selectActive = "SELECT " + replacedAt + " " + fromActive + " FOR UPDATE"
	// stillActive selects the agreement if it is active, and no other has replaced it by the given time.
	stillActive = "SELECT 1 " + fromActive + " AND NOT " + replacedAt + " BETWEEN 1 AND ? FOR UPDATE"

	// newestBudget must follow selectActive or stillActive in a separate statement, because a change of a budget locks the agreement.
	newestBudget = "SELECT COALESCE(MAX(number), 0) AS newest FROM budgets WHERE service = ? AND agreement_id = ?"
	sameBudget   = "SELECT 1 FROM (" + newestBudget + ") b WHERE newest = ?"
)

// readAgreements returns the statements that read which agreements are active, and the numbers of their budgets.
func (w *work) readAgreements() []engine.Command {
	list := make([]engine.Command, 0, len(w.need.agreements)+len(w.need.budgets))
	for _, k := range w.need.agreements {
		list = append(list, engine.Command{Query: selectActive, Args: []any{k.service, k.id}, Row: func(scan engine.Scan) error {
			var replaced int64
			err := scan(&replaced)
			w.agreements.active[k] = replaced
			return err
		}})
	}
	for _, k := range w.need.budgets {
		list = append(list, engine.Command{Query: newestBudget, Args: []any{k.service, k.id}, Row: func(scan engine.Scan) error {
			var number int
			err := scan(&number)
			w.agreements.budgets[k] = number
			return err
		}})
	}
	return list
}

// isActive reports whether an agreement is active and was not replaced by another one.
func (w *work) isActive(k ref) bool {
	replaced, found := w.agreements.active[k]
	return found && (replaced == 0 || replaced > engine.Nanos(w.t.Now()))
}

// checkAgreement returns an error if the call begins under a plan or a budget that has ended.
func (b *beginOp) checkAgreement(w *work) error {
	k := b.agreement()
	if !b.Planned && b.BudgetNumber == nil {
		return nil
	}
	if !w.isActive(k) {
		return fmt.Errorf("the agreement %s has ended: %w", b.Execution.AgreementID, pat.ErrRevoked)
	}
	if n := b.BudgetNumber; n != nil && w.agreements.budgets[k] != *n {
		return store.ErrBudgetChanged
	}
	return nil
}

// relyOn makes the transaction depend on the agreement of a call, as it was read.
func (b *beginOp) relyOn(w *work) {
	if b.Planned || b.BudgetNumber != nil {
		w.agreements.relied[b.agreement()] = true
	}
}

// unchangedAgreements returns the statements that fail if an agreement has ended, or its budget was changed, since the transaction read
// them without a lock. They lock the agreements, and come first, because a transaction with locks reads agreements first.
func (w *work) unchangedAgreements() (list []engine.Command) {
	if w.t.Locking() == engine.Pessimistic {
		return nil
	}
	relied := slices.SortedFunc(maps.Keys(w.agreements.relied), ref.compare)
	for _, k := range relied {
		list = append(list, engine.Command{Query: stillActive, Args: []any{k.service, k.id, engine.Nanos(w.t.Now())}, Must: 1})
	}
	for _, k := range relied {
		if number, read := w.agreements.budgets[k]; read {
			list = append(list, engine.Command{Query: sameBudget, Args: []any{k.service, k.id, number}, Must: 1})
		}
	}
	return list
}
