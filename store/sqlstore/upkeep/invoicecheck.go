package upkeep

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

const (
	selectIssued  = "SELECT service, number FROM invoices ORDER BY service, number"
	selectInvoice = `SELECT agent_id, month, document, at, COALESCE((SELECT MAX(c.until) FROM carried c WHERE c.service = i.service), 0)
		FROM invoices i WHERE service = ? AND number = ?`
)

// An issuedInvoice is an invoice, with those members of its document that follow from the ledger.
type issuedInvoice struct {
	service, agentID, month string
	number, at              int64

	invoiceDocument
}

// An invoiceDocument has the members of an invoice of package billing that follow from the ledger.
type invoiceDocument struct {
	Service string       `json:"service"`
	AgentID string       `json:"agent_id"`
	From    time.Time    `json:"from"`
	To      time.Time    `json:"to"`
	Rows    []invoiceSum `json:"rows"`
	Totals  []invoiceSum `json:"totals"`
}

// An invoiceSum is a row or a total of an invoice. A row without an intent has the sums of all rows in its currency that are not in the
// invoice. A total has neither an intent nor a price.
type invoiceSum struct {
	Intent    string `json:"intent"`
	Rule      string `json:"rule"`
	UnitPrice string `json:"unit_price"`
	Currency  string `json:"currency"`
	Calls     int64  `json:"calls"`
	Amount    string `json:"amount"`
}

// nano returns the amount in billionths of a unit, and false if it is not an amount.
func (s invoiceSum) nano() (int64, bool) {
	a, err := money.NewSum(s.Amount, s.Currency)
	return a.Nano, err == nil
}

// A soldCall contains the properties that a group of captured calls has in common.
type soldCall struct {
	currency, intent, rule string
	nano                   int64 // the price
}

// checkInvoices compares the rows and the totals of each invoice with the charges that the ledger has for its agent and month, unless
// entries of the month were deleted because of their age.
func checkInvoices(ctx context.Context, reader *engine.Reader) error {
	issued := slices.Collect(engine.Records(ctx, reader, func(scan engine.Scan) (i issuedInvoice, err error) {
		err = scan(&i.service, &i.number)
		return i, err
	}, selectIssued))
	for _, i := range issued {
		if err := checkInvoice(ctx, reader, i); err != nil {
			return err
		}
	}
	return nil
}

func checkInvoice(ctx context.Context, reader *engine.Reader, i issuedInvoice) error {
	var document string
	var until int64
	reader.Find(ctx, selectInvoice, []any{i.service, i.number}, &i.agentID, &i.month, &document, &i.at, &until)
	from, err := time.Parse("2006-01", i.month)
	if err != nil || json.Unmarshal([]byte(document), &i.invoiceDocument) != nil || i.Service != i.service || i.AgentID != i.agentID ||
		!i.From.Equal(from) || !i.To.Equal(from.AddDate(0, 1, 0)) {
		return alteredText(i.service, "the invoice with the number %d is not the one that was issued to agent %q for %s",
			i.number, i.agentID, i.month)
	}
	if until > 0 && engine.Nanos(i.From) <= until {
		return nil
	}
	// If a clock was set back, later entries can have times in the month: those that were made after the invoice do not count.
	if i.states(captured(ctx, reader, i, math.MaxInt64)) || i.states(captured(ctx, reader, i, i.at)) {
		return nil
	}
	return alteredText(i.service, "the invoice with the number %d differs from the charges of agent %q in %s", i.number, i.agentID, i.month)
}

// captured returns the captured calls of the month whose entries come before the first entry with a time at or after made.
func captured(ctx context.Context, reader *engine.Reader, i issuedInvoice, made int64) map[soldCall]int64 {
	from, to := engine.Nanos(i.From), engine.Nanos(i.To)
	sold := map[soldCall]int64{}
	for row := range reader.Query(ctx, ledger.SelectCaptured, from, to, made, i.service, i.agentID, i.service, i.agentID, from, to) {
		var c soldCall
		var calls int64
		row(&c.currency, &c.intent, &c.rule, &c.nano, &calls)
		sold[c] += calls
	}
	return sold
}

// states reports whether the rows and the totals of an invoice are those of the calls.
func (i *issuedInvoice) states(sold map[soldCall]int64) bool {
	rest, others, totals := maps.Clone(sold), map[string]chargeSum{}, map[string]chargeSum{}
	for c, calls := range sold {
		totals[c.currency] = totals[c.currency].plus(calls, calls*c.nano)
	}
	for _, row := range i.Rows {
		nano, ok := row.nano()
		if row.Intent == "" {
			if _, twice := others[row.Currency]; twice || !ok {
				return false
			}
			others[row.Currency] = chargeSum{row.Calls, nano}
			continue
		}
		price, err := money.New(row.UnitPrice, row.Currency)
		c := soldCall{row.Currency, row.Intent, row.Rule, price.Nano}
		if calls, is := rest[c]; !is || !ok || err != nil || calls != row.Calls || calls*c.nano != nano {
			return false
		}
		delete(rest, c)
	}
	for c, calls := range rest {
		others[c.currency] = others[c.currency].plus(-calls, -calls*c.nano)
	}
	for _, total := range i.Totals {
		nano, ok := total.nano()
		if !ok || totals[total.Currency] != (chargeSum{total.Calls, nano}) {
			return false
		}
		delete(totals, total.Currency)
	}
	maps.DeleteFunc(others, func(_ string, c chargeSum) bool { return c == chargeSum{} })
	return len(others) == 0 && len(totals) == 0
}

// A chargeSum is a number of calls and their charges, in billionths of a unit.
type chargeSum struct{ calls, nano int64 }

func (c chargeSum) plus(calls, nano int64) chargeSum {
	return chargeSum{c.calls + calls, c.nano + nano}
}
