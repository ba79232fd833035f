package ledger

import "github.com/uimgate/uimgate/store/sqlstore/engine"

// inserts holds the statements that add a line to the ledger, and the texts of the charge that the line begins.
type inserts struct{ line, texts string }

const (
	lineColumns  = "at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, to_state, actor"
	chainedLine  = "INSERT INTO ledger (seq, " + lineColumns + ", epoch, k, prev, leaf, outcome, answer, answer_form) VALUES "
	chainedTexts = "INSERT INTO evidence (seq, service, proof, asked, signed) VALUES "
)

var (
	// insertBehind takes a number relative to the end of the ledger: how many numbers the line comes before the last one.
	insertBehind = inserts{
		chainedLine + "({ledger} - ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", chainedTexts + "({ledger} - ?, ?, '', ?, ?)",
	}
	// insertNumbered takes the number of the line.
	insertNumbered = inserts{
		chainedLine + "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", chainedTexts + "(?, ?, '', ?, ?)",
	}
	// insertUnchained is insertNumbered for the table of a release without chains.
	insertUnchained = inserts{line: "INSERT INTO ledger (seq, " + lineColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"}
)

// WriteLines returns the statements that write lines to the ledger, with the next numbers, and the texts of the charges that they begin.
// Other processes may write at the same time.
func WriteLines(lines []Line) []engine.Command {
	if len(lines) == 0 {
		return nil
	}
	bump := engine.Command{Query: engine.BumpLedger, Args: []any{len(lines)}}
	last := int64(len(lines) - 1)
	return append([]engine.Command{bump}, numbered(lines, insertBehind, func(i int) any { return last - int64(i) })...)
}

// WriteLinesAlone is like WriteLines, but no other process may write at the same time: it reads the last number once instead of in each
// statement. For chained, see Account.Upsert.
func WriteLinesAlone(lines []Line, chained bool) []engine.Command {
	if len(lines) == 0 {
		return nil
	}
	insert := insertNumbered
	if !chained {
		insert = insertUnchained
	}
	numbers, bump := engine.TakeLedger(len(lines))
	return append([]engine.Command{bump}, numbered(lines, insert, numbers)...)
}

// numbered returns the statements that write lines. The first value of each row is the number of the line.
func numbered(lines []Line, insert inserts, number func(i int) any) []engine.Command {
	begun := 0
	for i := range lines {
		if lines[i].hasTexts() {
			begun++
		}
	}
	rows, texts := engine.RowsFor(insert.line, len(lines)), engine.RowsFor(insert.texts, begun)
	for i := range lines {
		l := &lines[i]
		rows.Value(number(i))
		rows.Int(engine.Nanos(l.At()))
		rows.Text(l.Service)
		rows.Text(string(l.AgentID))
		rows.Text(l.ID)
		rows.Text(l.Intent)
		rows.Text(l.Rule)
		rows.Int(l.Charge.Nano)
		rows.Text(l.Charge.Currency)
		rows.Text(string(l.From))
		rows.Text(string(l.State))
		rows.Text(l.By)
		if insert.texts == "" {
			continue
		}
		rows.Int(l.Epoch)
		rows.Int(l.K)
		rows.Bytes(stored(&l.Prev))
		rows.Bytes(stored(&l.Leaf))
		rows.Text(string(l.Outcome))
		rows.Text(l.Sent)
		rows.Text(l.Form)
		if l.hasTexts() {
			words := WordsOf(l.Execution)
			texts.Value(number(i))
			texts.Text(l.Service)
			texts.Bytes(words.PackQuestion(l.Evidence.Text.Asked))
			texts.Bytes(words.PackProof(l.Evidence.Text.Proof))
		}
	}
	return append(rows.Statements(), texts.Statements()...)
}

// hasTexts reports whether the line begins a charge whose texts are stored.
func (l *Line) hasTexts() bool { return l.From == "" && l.Evidence != nil && l.Evidence.Text != nil }
