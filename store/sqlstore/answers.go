package sqlstore

import (
	"cmp"
	"context"
	"strings"

	"github.com/uimgate/uimgate/store"
)

type agentKey struct{ service, id string }

func (k agentKey) compare(o agentKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.id, o.id))
}

// answerRoom is how many bytes of answers are kept.
type answerRoom struct{ agent, all int64 }

const (
	selectAnswerSize = "SELECT bytes FROM answer_sizes WHERE service = ? AND agent_id = ?"
	selectAllSizes   = "SELECT n FROM sequences WHERE name = 'answers'"
	addToAnswers     = `INSERT INTO answer_sizes (service, agent_id, bytes) VALUES (?, ?, ?)
		ON CONFLICT (service, agent_id) DO UPDATE SET bytes = answer_sizes.bytes + excluded.bytes`
	addToAllAnswers = "UPDATE sequences SET n = n + ? WHERE name = 'answers'"
	insertAnswer    = "INSERT INTO answers (execution_id, output, reason, code, message, details, size) VALUES (?, ?, ?, ?, ?, ?, ?)"
)

// answerSizes is what a transaction knows of the answers that are kept.
type answerSizes struct {
	kept  map[agentKey]int64 // as it was read, and what the transaction added
	all   int64
	added map[agentKey]int64 // to be written
}

// readAnswerSizes reads how much is kept of the agents of a batch. Nothing is locked: processes that add at the same
// time may exceed the room by what they add.
func (t *tx) readAnswerSizes(n rowSet) []command {
	list := make([]command, 0, len(n.answers)+1)
	for _, k := range n.answers {
		list = append(list, command{query: selectAnswerSize, args: []any{k.service, k.id}, row: func(scan scan) error {
			var bytes int64
			err := scan(&bytes)
			set(&t.answers.kept, k, bytes)
			return err
		}})
	}
	if len(list) > 0 {
		list = append(list, command{query: selectAllSizes, row: func(scan scan) error { return scan(&t.answers.all) }})
	}
	return list
}

// keeps reports whether there is room for an answer.
func (t *tx) keeps(k agentKey, a *store.Answer) bool {
	size, room := int64(a.Size()), t.w.s.room
	return size <= store.MaxAnswer && t.answers.kept[k]+size <= room.agent && t.answers.all+size <= room.all
}

// addAnswer counts an answer that is kept; one that is deleted has a negative size.
func (t *tx) addAnswer(k agentKey, size int64) {
	set(&t.answers.kept, k, t.answers.kept[k]+size)
	set(&t.answers.added, k, t.answers.added[k]+size)
	t.answers.all += size
}

// writeAnswerSizes returns the statements that write what was added.
func (t *tx) writeAnswerSizes() []command {
	var list []command
	var all int64
	for _, k := range order(t.answers.added, agentKey.compare) {
		list = append(list, command{query: addToAnswers, args: []any{k.service, k.id, t.answers.added[k]}})
		all += t.answers.added[k]
	}
	if len(list) > 0 {
		list = append(list, command{query: addToAllAnswers, args: []any{all}})
	}
	return list
}

// forgetAnswer deletes the answer of an execution.
func (t *tx) forgetAnswer(ctx context.Context, id string) error {
	if e := t.executions[id]; e != nil && !t.ownStatements {
		if e.Answer != nil {
			t.addAnswer(agentKey{e.Service, string(e.AgentID)}, -int64(e.Answer.Size()))
		}
	} else {
		var k agentKey
		var size int64
		found, err := t.row(ctx, "SELECT e.service, e.agent_id, a.size FROM answers a JOIN executions e ON e.id = a.execution_id "+
			"WHERE a.execution_id = ?", []any{id}, &k.service, &k.id, &size)
		if err != nil {
			return err
		}
		if found {
			t.addAnswer(k, -size)
		}
	}
	return t.write(ctx, "DELETE FROM answers WHERE execution_id = ?", id)
}
