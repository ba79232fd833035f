package billing

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/service"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// An Invoice lists the charges of one agent that were captured in one calendar month (UTC). Amounts are exact decimals. The charges of a
// past month never change. An invoice that was issued does not change at all.
type Invoice struct {
	Number  string      `json:"number"` // of a draft: depends only on service, agent and month
	Status  string      `json:"status"` // InvoiceDraft or InvoiceIssued
	Service string      `json:"service"`
	Issuer  string      `json:"issuer"` // the issuer of the service
	AgentID pat.AgentID `json:"agent_id"`
	Name    string      `json:"agent_name,omitempty"` // the operator's current name for the agent
	From    time.Time   `json:"from"`
	To      time.Time   `json:"to"` // the start of the next month
	Parties
	IssuedAt *time.Time `json:"issued_at,omitempty"`
	Terms    string     `json:"terms,omitempty"` // of payment
	// Provisional means that the month has not ended, or ended less than an hour ago, so more charges may follow.
	Provisional bool              `json:"provisional"`
	Rows        []InvoiceRow      `json:"rows"`
	Totals      []InvoiceTotal    `json:"totals"`
	Evidence    []InvoiceEvidence `json:"evidence"` // at most 1,000 entries: those with the most calls
	// FurtherAgreements is the number of agreements with charged calls that are not in Evidence.
	FurtherAgreements int `json:"further_agreements,omitempty"`
}

// invoiceDelay is how long an invoice stays provisional after its month has ended. A charge belongs to the time at which its transaction
// begins, but other processes see it only when the transaction ends. No transaction takes as long as invoiceDelay.
const invoiceDelay = time.Hour

// maxInvoice bounds the detailed rows and the evidence of an invoice. One row for each currency summarizes the rest, so the totals are
// always complete. The ledger has every charge.
const maxInvoice = 1000

// An InvoiceRow summarizes the calls to one intent under one rule of the policy at one price. If Others is set, it summarizes all other
// calls in one currency, and Intent, Rule and UnitPrice are empty.
type InvoiceRow struct {
	Intent    string `json:"intent"`
	Rule      string `json:"rule"`
	Calls     int64  `json:"calls"`
	UnitPrice string `json:"unit_price"`
	Amount    string `json:"amount"`
	Currency  string `json:"currency"`
	Others    int64  `json:"others,omitempty"` // number of rows that this row replaces
}

// An InvoiceTotal is the sum of the rows in one currency. Amount excludes charges that were held when the month ended: if they are captured
// later, they belong to the month of the capture.
type InvoiceTotal struct {
	Currency   string `json:"currency"`
	Calls      int64  `json:"calls"`
	Amount     string `json:"amount"`
	Held       string `json:"held"`       // held or unresolved at the end of the month
	Unresolved string `json:"unresolved"` // the part of Held for calls of unknown outcome
	Tax        *Tax   `json:"tax,omitempty"`
}

// An InvoiceEvidence is an agreement with charged calls. ExportAgreement returns the proof of the agreement.
type InvoiceEvidence struct {
	AgreementID pat.AgreementID `json:"agreement_id"`
	// SignatureDigest is "sha-256:" and the unpadded base64url of SHA-256 over the bytes of the signature in the export.
	SignatureDigest string `json:"signature_digest"`
	PolicyDigest    string `json:"policy_digest"`
	Calls           int64  `json:"calls"`
}

// An InvoiceQuery selects the agent and the month of an invoice.
type InvoiceQuery struct {
	api.Record        // identifies the agent
	Month      string `query:"month"` // such as 2026-11
}

// Invoice returns the invoice of an agent for a month. Errors: pat.ErrNotFound, *store.ForgottenError.
func (o *Operations) Invoice(ctx context.Context, s *service.Service, q InvoiceQuery) (Invoice, error) {
	return o.invoice(ctx, s, q, nil)
}

// invoice returns the invoice of the calls that the statements of the month count. It reads the statements if they are nil.
func (o *Operations) invoice(ctx context.Context, s *service.Service, q InvoiceQuery, statements []store.Statement) (Invoice, error) {
	from, err := o.month(q.Month)
	if err != nil {
		return Invoice{}, err
	}
	issued, err := o.Store.Invoice(ctx, s.ID, pat.AgentID(q.ID), q.Month)
	if !errors.Is(err, store.ErrNotFound) {
		if err != nil {
			return Invoice{}, err
		}
		return showInvoice(issued)
	}
	agent, err := o.Store.Agent(ctx, s.ID, pat.AgentID(q.ID))
	if err != nil {
		return Invoice{}, err
	}
	out := Invoice{
		Number: invoiceNumber(s.ID, agent.ID, q.Month), Status: InvoiceDraft, Service: s.ID, Issuer: s.Issuer,
		AgentID: agent.ID, Terms: s.Invoices.Terms, From: from, To: from.AddDate(0, 1, 0),
		Rows: []InvoiceRow{}, Totals: []InvoiceTotal{}, Evidence: []InvoiceEvidence{},
	}
	out.Provisional = o.Now().Before(out.To.Add(invoiceDelay))
	if out.Name, err = api.NameOf(ctx, o.Store, s.ID, agent.ID); err != nil {
		return Invoice{}, err
	}
	if out.Parties, err = o.parties(ctx, s, agent.ID); err != nil {
		return Invoice{}, err
	}
	if statements == nil {
		f := store.StatementFilter{Service: s.ID, AgentID: agent.ID, From: out.From, To: out.To, Limit: api.MaxLimit}
		if statements, err = o.Store.Statements(ctx, f); err != nil {
			return Invoice{}, err
		}
	}
	var charged []store.ChargedCalls
	for _, one := range statements {
		calls, err := o.Store.ChargedCalls(ctx, one)
		if err != nil {
			return Invoice{}, err
		}
		charged = append(charged, calls...)
	}
	out.charge(charged)
	out.hold(statements)
	if err := out.addTax(taxationOf(s)); err != nil {
		return Invoice{}, err
	}
	return out, o.prove(ctx, &out, charged)
}

// month returns the start of a calendar month (UTC) that has begun.
func (o *Operations) month(text string) (time.Time, error) {
	from, err := time.Parse("2006-01", text)
	if err != nil || from.Year() < 1970 || from.Year() > 2200 {
		return time.Time{}, api.WrongParameter("month", "must be a month such as 2026-11")
	}
	if from.After(o.Now()) {
		return time.Time{}, api.WrongParameter("month", "must not be in the future")
	}
	return from, nil
}

// invoiceNumber returns the month, a hyphen and the first 12 hexadecimal digits of a digest over service, agent and month.
func invoiceNumber(service string, agentID pat.AgentID, month string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{service, string(agentID), month}, "\n")))
	return month + "-" + hex.EncodeToString(sum[:6])
}

// charge adds the rows and the totals. The total charges of the account bound every sum, so a sum cannot overflow.
func (i *Invoice) charge(charged []store.ChargedCalls) {
	type rowKey struct {
		intent, rule string
		price        money.Amount
	}
	type sum struct{ calls, nano int64 }
	rows, totals := map[rowKey]int64{}, map[string]sum{}
	for _, c := range charged {
		rows[rowKey{c.Intent, c.Rule, c.Price}] += c.Calls
		t := totals[c.Price.Currency]
		totals[c.Price.Currency] = sum{t.calls + c.Calls, t.nano + c.Calls*c.Price.Nano}
	}
	keys := slices.SortedFunc(maps.Keys(rows), func(a, b rowKey) int {
		return cmp.Or(strings.Compare(a.price.Currency, b.price.Currency), strings.Compare(a.intent, b.intent),
			strings.Compare(a.rule, b.rule), cmp.Compare(a.price.Nano, b.price.Nano))
	})
	type rest struct {
		sum
		others int64
	}
	further := map[string]rest{}
	for n, k := range keys {
		amount := money.Amount{Nano: k.price.Nano * rows[k], Currency: k.price.Currency}
		if n >= maxInvoice {
			r := further[amount.Currency]
			further[amount.Currency] = rest{sum{r.calls + rows[k], r.nano + amount.Nano}, r.others + 1}
			continue
		}
		i.Rows = append(i.Rows, InvoiceRow{
			Intent: k.intent, Rule: k.rule, Calls: rows[k], UnitPrice: k.price.Decimal(), Amount: amount.Decimal(), Currency: amount.Currency,
		})
	}
	for _, currency := range slices.Sorted(maps.Keys(further)) {
		r := further[currency]
		amount := money.Amount{Nano: r.nano, Currency: currency}
		i.Rows = append(i.Rows, InvoiceRow{Calls: r.calls, Amount: amount.Decimal(), Currency: currency, Others: r.others})
	}
	for _, currency := range slices.Sorted(maps.Keys(totals)) {
		t := totals[currency]
		amount := money.Amount{Nano: t.nano, Currency: currency}
		i.Totals = append(i.Totals, InvoiceTotal{
			Currency: currency, Calls: t.calls, Amount: amount.Decimal(), Held: none, Unresolved: none,
		})
	}
}

// none is the amount zero in the form of Decimal.
var none = money.Amount{}.Decimal()

// hold adds the charges that were still held or unresolved at the end of the month to the totals.
func (i *Invoice) hold(statements []store.Statement) {
	for _, s := range statements {
		if s.Closing.Held.IsZero() {
			continue
		}
		n := slices.IndexFunc(i.Totals, func(t InvoiceTotal) bool { return t.Currency == s.Currency })
		if n < 0 {
			n = len(i.Totals)
			i.Totals = append(i.Totals, InvoiceTotal{Currency: s.Currency, Amount: none})
		}
		i.Totals[n].Held, i.Totals[n].Unresolved = s.Closing.Held.Decimal(), s.Closing.Unresolved.Decimal()
	}
	slices.SortFunc(i.Totals, func(a, b InvoiceTotal) int { return strings.Compare(a.Currency, b.Currency) })
}

// addTax adds the tax of the totals.
func (i *Invoice) addTax(t taxation) error {
	for n, total := range i.Totals {
		sum, err := money.NewSum(total.Amount, total.Currency)
		if err != nil {
			return err
		}
		i.Totals[n].Tax = i.tax(t, sum)
	}
	return nil
}

// prove adds the evidence: the agreements of the charged calls.
func (o *Operations) prove(ctx context.Context, i *Invoice, charged []store.ChargedCalls) error {
	calls := map[InvoiceEvidence]int64{}
	for _, c := range charged {
		if c.AgreementID != "" {
			calls[InvoiceEvidence{AgreementID: c.AgreementID, PolicyDigest: c.PolicyDigest}] += c.Calls
		}
	}
	most := slices.SortedFunc(maps.Keys(calls), func(a, b InvoiceEvidence) int {
		return cmp.Or(cmp.Compare(calls[b], calls[a]), cmp.Compare(a.AgreementID, b.AgreementID), strings.Compare(a.PolicyDigest, b.PolicyDigest))
	})
	i.FurtherAgreements = max(0, len(most)-maxInvoice)
	for _, e := range most[:len(most)-i.FurtherAgreements] {
		n := calls[e]
		agreement, err := o.Store.Agreement(ctx, i.Service, e.AgreementID)
		if err != nil {
			return err
		}
		e.SignatureDigest, e.Calls = pat.DigestOf(agreement.Signature), n
		i.Evidence = append(i.Evidence, e)
	}
	slices.SortFunc(i.Evidence, func(a, b InvoiceEvidence) int {
		return cmp.Or(cmp.Compare(a.AgreementID, b.AgreementID), strings.Compare(a.PolicyDigest, b.PolicyDigest))
	})
	return nil
}
