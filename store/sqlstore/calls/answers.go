package calls

import (
	"context"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const (
	selectAnswerSize = "SELECT bytes FROM answer_sizes WHERE service = ? AND agent_id = ?"
	selectAllSizes   = "SELECT n FROM sequences WHERE name = 'answers'"
	addToAnswers     = `INSERT INTO answer_sizes (service, agent_id, bytes) VALUES (?, ?, ?)
		ON CONFLICT (service, agent_id) DO UPDATE SET bytes = answer_sizes.bytes + excluded.bytes`
	addToAllAnswers = "UPDATE sequences SET n = n + ? WHERE name = 'answers'"
	insertAnswer    = "INSERT INTO answers (execution_id, output, reason, code, message, details, size) VALUES (?, ?, ?, ?, ?, ?, ?)"
)

const selectAnswer = "SELECT output, reason, code, message, details FROM answers WHERE execution_id = ?"

// An answer holds the columns of a row of the answers table; its pointers are nil if the row is missing.
type answer struct {
	output                []byte
	reason, code, message *string
	details               []byte
}

// stored returns the answer in the row, or nil if there is no row.
func (a answer) stored() *store.Answer {
	if a.reason == nil {
		return nil
	}
	out := &store.Answer{Reason: reason.Reason(*a.reason), Code: reason.Code(*a.code), Message: *a.message}
	if len(a.output) > 0 {
		out.Output = a.output
	}
	if len(a.details) > 0 {
		out.Details = a.details
	}
	return out
}

// readAnswerSizes returns the statements that read how many bytes of answers are stored, for the agents of a batch and in total. They lock
// nothing, so concurrent processes can together exceed the limit.
func (w *work) readAnswerSizes() []engine.Command {
	list := make([]engine.Command, 0, len(w.need.answers)+1)
	for _, k := range w.need.answers {
		list = append(list, engine.Command{Query: selectAnswerSize, Args: []any{k.service, k.id}, Row: func(scan engine.Scan) error {
			var bytes int64
			err := scan(&bytes)
			w.answers.kept[k] = bytes
			return err
		}})
	}
	if len(list) > 0 {
		list = append(list, engine.Command{Query: selectAllSizes, Row: func(scan engine.Scan) error { return scan(&w.answers.all) }})
	}
	return list
}

// keeps reports whether an answer can be stored within the limits.
func (w *work) keeps(k ref, a *store.Answer) bool {
	size, most := int64(a.Size()), &w.calls.Bounds
	return size <= store.MaxAnswer && w.answers.kept[k]+size <= most.AnswersOfAgent && w.answers.all+size <= most.Answers
}

// addAnswer counts a stored answer, or, with a negative size, a deleted one.
func (w *work) addAnswer(k ref, size int64) {
	w.answers.kept[k] += size
	w.answers.added[k] += size
	w.answers.all += size
}

// writeAnswerSizes returns the statements that write the changes of the sizes.
func (w *work) writeAnswerSizes() []engine.Command {
	var list []engine.Command
	var all int64
	for _, k := range slices.SortedFunc(maps.Keys(w.answers.added), ref.compare) {
		list = append(list, engine.Command{Query: addToAnswers, Args: []any{k.service, k.id, w.answers.added[k]}})
		all += w.answers.added[k]
	}
	if len(list) > 0 {
		list = append(list, engine.Command{Query: addToAllAnswers, Args: []any{all}})
	}
	return list
}

// forgetAnswer deletes the answer of an execution.
func (w *work) forgetAnswer(ctx context.Context, id string) error {
	if e := w.found.executions[id]; e != nil && w.mode != single {
		if e.Answer != nil {
			w.addAnswer(ref{e.Service, string(e.AgentID)}, -int64(e.Answer.Size()))
		}
	} else {
		var k ref
		var size int64
		found, err := w.t.Row(ctx, "SELECT e.service, e.agent_id, a.size FROM answers a JOIN executions e ON e.id = a.execution_id "+
			"WHERE a.execution_id = ?", []any{id}, &k.service, &k.id, &size)
		if err != nil {
			return err
		}
		if found {
			w.addAnswer(k, -size)
		}
	}
	return w.write(ctx, "DELETE FROM answers WHERE execution_id = ?", id)
}
