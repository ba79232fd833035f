package calls

import (
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// selectActive locks the agreement, so that a call under it begins either before the agreement ends or not at all. It returns the time at
// which another agreement, made in advance and with another plan, replaces this one; 0: no such time is known. The journal never holds a
// change of an agreement's state, so the table is right even while changes of calls are pending.
const selectActive = "SELECT (SELECT COALESCE(MIN(o.effective_at), 0) FROM agreements o WHERE o.service = a.service AND o.agent_id = a.agent_id " +
	"AND o.state = 'active' AND o.effective_at > 0 AND o.effective_at > a.effective_at AND o.plan <> a.plan) " +
	"FROM agreements a WHERE a.service = ? AND a.id = ? AND a.state = '" + string(pat.AgreementActive) + "' FOR UPDATE"

// readAgreements returns the statements that read which agreements are active.
func (w *work) readAgreements() []engine.Command {
	list := make([]engine.Command, 0, len(w.need.agreements))
	for _, k := range w.need.agreements {
		list = append(list, engine.Command{Query: selectActive, Args: []any{k.service, k.id}, Row: func(scan engine.Scan) error {
			var replaced int64
			err := scan(&replaced)
			w.active[k] = replaced
			return err
		}})
	}
	return list
}

// isActive reports whether an agreement is active and was not replaced by another one.
func (w *work) isActive(k ref) bool {
	replaced, found := w.active[k]
	return found && (replaced == 0 || replaced > engine.Nanos(w.t.Now()))
}
