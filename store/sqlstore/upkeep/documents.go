package upkeep

import (
	"context"
	"fmt"
	"strconv"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// A documentTable is a table of documents whose numbers have no gaps.
type documentTable struct{ table, kind, name string }

var numbered = []documentTable{{"refunds", ledger.CreditNotes, "credit note"}, {"invoices", ledger.Invoices, "invoice"}}

// purge deletes a document, whose service and number are in row, and records that its number was deleted.
func (d documentTable) purge(ctx context.Context, t *engine.Tx, row []string) (bool, error) {
	number, err := strconv.ParseInt(row[1], 10, 64)
	if err != nil {
		return false, err
	}
	gone := t.Run(ctx, "DELETE FROM "+d.table+" WHERE service = ? AND number = ?", row[0], number) > 0
	if gone {
		t.Run(ctx, "UPDATE document_numbers SET purged = ? WHERE service = ? AND kind = ? AND purged < ?", number, row[0], d.kind, number)
	}
	return gone, nil
}

// issuedNumbers are the last number that was issued and the highest one that was deleted because of its age, by service.
type issuedNumbers struct{ last, purged map[string]int64 }

// readIssued returns the numbers of each kind of document.
func readIssued(ctx context.Context, reader *engine.Reader) map[string]issuedNumbers {
	issued := map[string]issuedNumbers{}
	for _, d := range numbered {
		issued[d.kind] = issuedNumbers{map[string]int64{}, map[string]int64{}}
	}
	for row := range reader.Query(ctx, "SELECT service, kind, n, purged FROM document_numbers") {
		var service, kind string
		var n, gone int64
		row(&service, &kind, &n, &gone)
		if of, known := issued[kind]; known {
			of.last[service], of.purged[service] = n, gone
		}
	}
	return issued
}

// check checks that no number is missing above the highest one that was deleted because of its age.
func (d documentTable) check(ctx context.Context, reader *engine.Reader, issued issuedNumbers) error {
	last, purged := issued.last, issued.purged
	next := map[string]int64{}
	for row := range reader.Query(ctx, "SELECT service, number FROM "+d.table+" ORDER BY service, number") {
		var service string
		var number int64
		row(&service, &number)
		want := max(next[service], purged[service]+1)
		if number > want {
			return alteredText(service, "the %s with the number %d is missing", d.name, want)
		}
		next[service] = max(want, number+1)
	}
	for service, n := range next {
		if n-1 > last[service] {
			return alteredText(service, "the %s with the number %d was not issued", d.name, n-1)
		}
	}
	for service, n := range last {
		if want := max(next[service], purged[service]+1); want <= n {
			return alteredText(service, "the %s with the number %d is missing", d.name, want)
		}
	}
	return nil
}

// The results of the queries for refunds and moves of credit.
const (
	documentAltered = 1
	documentEntered = 2 // its entry is in the ledger; otherwise the entry was deleted because of its age
)

const (
	// selectRefunds compares each refund with its entry in the ledger and with the execution, if these have not been deleted.
	selectRefunds = `SELECT r.service, r.number, CASE
		WHEN substr(r.reference, 1, length(r.execution_id) + 8) <> 'refund:' || r.execution_id || ':' OR r.amount > r.charge THEN 1
		WHEN e.id IS NOT NULL AND (e.service <> r.service OR e.agent_id <> r.agent_id OR e.intent <> r.intent OR e.rule <> r.rule
			OR e.amount <> r.charge OR e.currency <> r.currency OR e.settled_at <> r.charged_at OR e.state <> 'captured') THEN 1
		WHEN l.seq IS NULL THEN CASE WHEN a.kept > r.k THEN 0 ELSE 1 END
		WHEN l.k <> r.k OR l.agent_id <> r.agent_id OR l.amount <> r.amount OR l.currency <> r.currency OR l.at <> r.at OR l.to_state <> '' THEN 1
		ELSE 2 END
		FROM refunds r LEFT JOIN ledger l ON l.service = r.service AND l.reference = r.reference AND l.reference <> ''
		LEFT JOIN executions e ON e.id = r.execution_id
		LEFT JOIN accounts a ON a.service = r.service AND a.agent_id = r.agent_id AND a.currency = r.currency`
	// selectMoves compares both sides of each move of credit with their entries. until is the time up to which entries were deleted.
	selectMoves = `SELECT m.service, m.reference, CASE
		WHEN l.seq IS NULL THEN CASE WHEN c.until >= m.at THEN 0 ELSE 1 END
		WHEN l.agent_id <> m.agent_id OR l.amount <> m.amount OR l.currency <> m.currency OR l.at <> m.at OR l.to_state <> '' THEN 1
		ELSE 2 END FROM (
			SELECT service, reference, 'move:' || reference || ':from' AS entry, from_agent AS agent_id, -amount AS amount, currency, at
				FROM credit_moves
			UNION ALL SELECT service, reference, 'move:' || reference || ':to', to_agent, amount, currency, at FROM credit_moves) m
		LEFT JOIN ledger l ON l.service = m.service AND l.reference = m.entry AND l.reference <> ''
		LEFT JOIN carried c ON c.service = m.service AND c.agent_id = m.agent_id AND c.currency = m.currency`
	// selectUndocumented finds an entry whose reference begins with a prefix, and that no document names. It ignores entries that are
	// older than the time for which documents are kept: a call of unknown outcome can keep such entries in the ledger after their
	// documents were deleted.
	selectUndocumented = `SELECT l.service, l.k FROM ledger l WHERE l.k >= 0 AND l.to_state = '' AND l.reference LIKE ?
		AND l.at > (SELECT MAX(at) FROM ledger) - ? AND NOT EXISTS (SELECT 1 FROM %s) LIMIT 1`
	refundOf = "refunds d WHERE d.service = l.service AND d.reference = l.reference"
	moveOf   = `credit_moves d WHERE d.service = l.service AND ('move:' || d.reference || ':from' = l.reference
		OR 'move:' || d.reference || ':to' = l.reference)`
)

// checkDocuments compares refunds, moves of credit and invoices with the ledger. implied counts the entries that refunds and moves have
// made.
func checkDocuments(ctx context.Context, reader *engine.Reader, implied impliedRows) error {
	issued := readIssued(ctx, reader)
	for _, d := range numbered {
		if err := d.check(ctx, reader, issued[d.kind]); err != nil {
			return err
		}
	}
	for _, of := range []struct {
		name, query     string
		entries         int64
		prefix, without string
	}{
		{"refund", selectRefunds, implied.refunded, store.RefundPrefix, refundOf},
		{"move of credit", selectMoves, implied.moved, store.MovePrefix, moveOf},
	} {
		entered, err := countEntered(ctx, reader, of.name, of.query)
		if err != nil {
			return err
		}
		var service string
		var k int64
		if entered != of.entries && reader.Find(ctx, fmt.Sprintf(selectUndocumented, of.without),
			[]any{of.prefix + "%", minDocumentsKept.Nanoseconds()}, &service, &k) {
			return alteredText(service, "the record of the %s of entry %d is missing", of.name, k)
		}
	}
	return checkInvoices(ctx, reader)
}

// countEntered checks the documents that a query compares with the ledger, and returns how many of their entries are in the ledger.
func countEntered(ctx context.Context, reader *engine.Reader, name, query string) (n int64, err error) {
	for row := range reader.Query(ctx, query) {
		var service, id string
		var result int64
		row(&service, &id, &result)
		switch result {
		case documentAltered:
			return 0, alteredText(service, "the %s %q differs from the ledger", name, id)
		case documentEntered:
			n++
		}
	}
	return n, nil
}
