package ledger

import (
	"context"
	"errors"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const invoiceColumns = "service, number, agent_id, month, document, at"

func scanInvoice(scan engine.Scan) (i store.Invoice, err error) {
	var document string
	err = scan(&i.Service, &i.Number, &i.AgentID, &i.Month, &document, engine.Stored(&i.At))
	i.Document = []byte(document)
	return i, err
}

// errIssued rolls back a transaction that would issue an invoice again.
var errIssued = errors.New("the invoice was issued before")

// IssueInvoice stores an invoice under the next number, unless an invoice of the agent for the month was issued before: then repeated is
// true, and the invoice is the earlier one.
func (l *Ledger) IssueInvoice(ctx context.Context, i store.Invoice) (issued store.Invoice, repeated bool, err error) {
	err = l.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		issued = i
		// The number is the lock: concurrent transactions for invoices of the service wait here.
		issued.Number, issued.At = nextDocument(ctx, t, i.Service, Invoices), t.Now()
		if t.Find(ctx, "SELECT number FROM invoices WHERE service = ? AND agent_id = ? AND month = ?",
			[]any{i.Service, string(i.AgentID), i.Month}) {
			return errIssued // the number stays unused
		}
		t.Run(ctx, "INSERT INTO invoices ("+invoiceColumns+") VALUES (?, ?, ?, ?, ?, ?)", i.Service, issued.Number,
			string(i.AgentID), i.Month, string(i.Document), engine.Nanos(issued.At))
		return nil
	})
	if errors.Is(err, errIssued) {
		issued, err = l.Invoice(ctx, i.Service, i.AgentID, i.Month)
		return issued, true, err
	}
	if err != nil {
		return store.Invoice{}, false, err
	}
	return issued, false, nil
}

// Invoice returns the invoice that was issued to an agent for a month. The error is store.ErrNotFound if there is none.
func (l *Ledger) Invoice(ctx context.Context, service string, id pat.AgentID, month string) (store.Invoice, error) {
	return engine.First(ctx, l.db, store.ErrNotFound,
		"SELECT "+invoiceColumns+" FROM invoices WHERE service = ? AND agent_id = ? AND month = ?",
		[]any{service, string(id), month}, scanInvoice)
}

// Invoices returns issued invoices, those with the highest numbers first.
func (l *Ledger) Invoices(ctx context.Context, f store.InvoiceFilter) ([]store.Invoice, error) {
	var q engine.Conditions
	q.Add("service = ?", f.Service)
	q.Equal("agent_id", string(f.AgentID))
	q.Equal("month", f.Month)
	if f.Before > 0 {
		q.Add("number < ?", f.Before)
	}
	return engine.All(ctx, l.db, q.Query("SELECT "+invoiceColumns+" FROM invoices", "ORDER BY number DESC", f.Limit), q.Args, scanInvoice)
}
