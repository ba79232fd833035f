package calls

import (
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// selectActive locks the agreement, so that a call under it begins either before the agreement ends or not at all. The journal never holds a
// change of the state, so the table is right even while changes of calls are pending.
const selectActive = "SELECT 1 FROM agreements WHERE service = ? AND id = ? AND state = '" + string(pat.AgreementActive) + "' FOR UPDATE"

// readAgreements returns the statements that read which agreements are active.
func (w *work) readAgreements() []engine.Command {
	list := make([]engine.Command, 0, len(w.need.agreements))
	for _, k := range w.need.agreements {
		list = append(list, engine.Command{Query: selectActive, Args: []any{k.service, k.id}, Row: func(scan engine.Scan) error {
			var one int
			w.active[k] = true
			return scan(&one)
		}})
	}
	return list
}
