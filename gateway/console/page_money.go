package console

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

var (
	chargeStates  = []string{string(store.Held), string(store.Captured), string(store.Released), string(store.Unresolved)}
	paymentStates = []string{
		string(store.PaymentUnclaimed), string(store.PaymentSettling), string(store.PaymentUnknown), string(store.PaymentCredited),
		string(store.PaymentFailed),
	}
)

func (r *request) moneyPage() error {
	l := listing[billing.Account]{
		caption: "Accounts, by agent", empty: "No agent has an account.",
		columns: []column[billing.Account]{
			{"Agent", func(a billing.Account) cell { return r.agentCell(a.AgentID) }},
			{"Currency", func(a billing.Account) cell { return text(a.Currency) }},
			{"Topped up", func(a billing.Account) cell { return amount(a.ToppedUp, "") }},
			{"Held", func(a billing.Account) cell { return amount(a.Held, "") }},
			{"Captured", func(a billing.Account) cell { return amount(a.Captured, "") }},
			{"Balance", func(a billing.Account) cell { return amount(a.Balance, "") }},
		},
		fetch: pagesOf(r, operation.Accounts, billing.AccountQuery{Service: r.service(), AgentID: r.agent()}),
	}
	return l.page(r, pageView{
		Title: "Money", Lead: "Accounts of agents. Give credit on the page of an agent.",
		Sections: []section{{Links: []cell{
			link("Calls of unknown outcome", r.address(at("money", "calls"), "state", "unresolved")),
			link("Charged calls", r.address(at("money", "calls"))), link("Payments", r.address(at("money", "payments"))),
			link("Statements", r.address(at("money", "statements"))), link("Invoices", r.address(at("money", "invoices"))),
			link("Refunds", r.address(at("money", "refunds"))), link("Ledger", r.address(at("money", "ledger"))),
		}}, {Charts: r.revenueCharts()}},
	}, r.filtered(r.search("agent", "Agent id")))
}

// revenueCharts are the captured charges of each month, minus its refunds, by currency.
func (r *request) revenueCharts() (out []chart) {
	list, err := r.revenue(billing.RevenueQuery{Service: r.service(), By: string(store.ByMonth)})
	if err != nil {
		return nil // the accounts below report the error
	}
	byCurrency := map[string][]point{}
	for _, one := range list.Items {
		at, err := time.Parse("2006-01", one.Name)
		value, wrong := strconv.ParseFloat(one.Net, 64) // only for the height of the line
		if err == nil && wrong == nil {
			byCurrency[one.Currency] = append(byCurrency[one.Currency], point{At: at, Value: value, Text: one.Net})
		}
	}
	for _, currency := range slices.Sorted(maps.Keys(byCurrency)) {
		points := byCurrency[currency]
		slices.SortFunc(points, func(a, b point) int { return a.At.Compare(b.At) })
		points = points[max(0, len(points)-monthsShown):]
		last := points[len(points)-1]
		if c, ok := chartOf("Revenue by month", currency, last.Text+" "+currency, "in "+last.At.Format("January 2006"), points); ok {
			out = append(out, c)
		}
	}
	return out
}

// monthsShown is the maximum number of points in a chart of months.
const monthsShown = 36

func (r *request) executionsPage() error {
	l := listing[calls.Execution]{
		caption: "Calls, the newest first", empty: "No call matches.",
		columns: []column[calls.Execution]{
			{"Time", func(e calls.Execution) cell { return when(e.BeganAt) }},
			{"Call", func(e calls.Execution) cell { return r.executionCell(e.ID) }},
			{"Agent", func(e calls.Execution) cell { return r.agentCell(e.AgentID) }},
			{"Intent", func(e calls.Execution) cell { return text(e.Intent) }},
			{"State", func(e calls.Execution) cell { return chargeState(e.State) }},
			{"Outcome", func(e calls.Execution) cell { return text(string(e.Outcome)) }},
			{"Amount", func(e calls.Execution) cell { return amount(e.Amount, e.Currency) }},
		},
		fetch: pagesOf(r, operation.Executions, r.usage()),
	}
	return l.page(r, pageView{
		Title: "Charged calls", Lead: "Calls that were charged or had an idempotency key. Open a call to refund or resolve it.",
	}, r.filtered(r.search("agent", "Agent id"), r.choice("state", "State", chargeStates...)))
}

// usage is the query for the charges that the request selects.
func (r *request) usage() calls.UsageQuery {
	state := store.State(oneOf(r.URL.Query().Get("state"), chargeStates))
	return calls.UsageQuery{Service: r.service(), AgentID: r.agent(), State: state}
}

func chargeState(s store.State) cell {
	return cell{Text: string(s), State: map[store.State]string{store.Captured: "ok", store.Held: "warn", store.Unresolved: "bad"}[s]}
}

// executionPage shows the record of one call.
func (r *request) executionPage() error {
	id := r.PathValue("id")
	e, err := read(r, operation.Execution, r.record(id))
	if err != nil {
		return err
	}
	refunds, err := r.refunds("", id).table(r)
	if err != nil {
		return err
	}
	refunds.CSV = ""
	var forms []form
	switch e.State { //nolint:exhaustive // calls in other states need no decision
	case store.Unresolved:
		forms = append(forms, form{
			Path: r.address(at("money", "calls", id, "resolve")), Title: "Resolve", Button: "Resolve…", Danger: true,
			Text:   "The gateway does not know whether the API carried out the call. Ask the API's operator, or check its records.",
			Fields: []field{{ID: "state", Name: "state", Label: "The call", Options: resolutions}},
		})
	case store.Captured:
		if e.Currency != "" {
			forms = append(forms, form{
				Path: r.address(at("money", "calls", id, "refund")), Title: "Refund", Button: "Refund…", Danger: true, Fields: []field{
					{ID: "amount", Name: "amount", Label: "Amount", Hint: "Such as 0.25 " + e.Currency + ". Empty: all that is left of the charge."},
					{ID: "reason", Name: "reason", Label: "Reason", Hint: "The credit note shows it.", Required: true},
					{Name: "name", Type: "hidden", Value: "console-" + random()[:12]}, // so that a form that is sent twice refunds once
				},
			})
		}
	}
	sections := []section{
		{Facts: facts(
			fact{"Agent", r.agentCell(e.AgentID)}, fact{"Intent", text(e.Intent)}, fact{"State", chargeState(e.State)},
			fact{"Outcome", text(string(e.Outcome))}, fact{"Amount", text(e.Amount + " " + e.Currency)}, fact{"Rule", text(e.Rule)},
			fact{"Began", when(e.BeganAt)}, fact{"Deadline", when(e.Deadline)}, fact{"Settled", when(e.SettledAt)},
			fact{"Agreement", r.agreementCell(string(e.AgreementID))}, fact{"PAT", code(string(e.TokenID))}, fact{"Policy", code(e.PolicyDigest)},
			fact{"Idempotency key", code(e.IdempotencyKey)}, fact{"Status of the response", text(positive(e.AnswerStatus))},
			fact{"Reason of the response", text(e.AnswerReason)},
		), Forms: forms},
		{Title: "Refunds", Table: refunds},
	}
	sections = append(sections, receiptSections(r.receiptCell(e.ID))...)
	return r.show(http.StatusOK, pageView{Title: "Call " + id, Sections: sections})
}

// receiptSections show a receipt at the end of a page, because it is long.
func receiptSections(receipt cell) []section {
	if receipt.Text == "" {
		return nil
	}
	return []section{{Title: "Receipt", Facts: []fact{{"Signed by the gateway", receipt}}}}
}

// receiptCell shows the receipt of a call, or nothing if it has none.
func (r *request) receiptCell(execution string) cell {
	if execution == "" {
		return cell{}
	}
	got, err := read(r, operation.Receipt, r.record(execution))
	if err != nil { // a free call, or a receipt that cannot be signed now
		return cell{}
	}
	return code(got.Receipt)
}

func (r *request) refunds(agent pat.AgentID, execution string) listing[billing.Refund] {
	return listing[billing.Refund]{
		caption: "Refunds, the newest first", empty: "No refund was made.",
		columns: []column[billing.Refund]{
			{"Credit note", func(f billing.Refund) cell { return link(f.Number, r.address(at("money", "refunds", f.Number))) }},
			{"Time", func(f billing.Refund) cell { return when(f.At) }},
			{"Agent", func(f billing.Refund) cell { return r.agentCell(f.AgentID) }},
			{"Call", func(f billing.Refund) cell { return r.executionCell(f.ExecutionID) }},
			{"Amount", func(f billing.Refund) cell { return amount(f.Amount, f.Currency) }},
			{"Charge", func(f billing.Refund) cell { return amount(f.Charge, f.Currency) }},
			{"Reason", func(f billing.Refund) cell { return text(f.Reason) }},
		},
		fetch: pagesOf(r, operation.Refunds, billing.RefundQuery{Service: r.service(), AgentID: agent, ExecutionID: execution}),
	}
}

func (r *request) refundsPage() error {
	return r.refunds(r.agent(), "").page(r, pageView{
		Title: "Refunds", Lead: "Credit notes. To refund a charge, open its call under Money, Charged calls.",
	}, r.filtered(r.search("agent", "Agent id")))
}

func (r *request) paymentsPage() error {
	l := listing[billing.Payment]{
		caption: "Payments, the newest first", empty: "No payment matches.",
		columns: []column[billing.Payment]{
			{"Begun", func(p billing.Payment) cell { return when(p.BegunAt) }},
			{"Reference", func(p billing.Payment) cell { return text(p.Reference) }},
			{"Agent", func(p billing.Payment) cell { return r.agentCell(p.AgentID) }},
			{"Rail", func(p billing.Payment) cell { return text(p.Rail) }},
			{"Kind", func(p billing.Payment) cell { return text(string(p.Kind)) }},
			{"Amount", func(p billing.Payment) cell { return amount(p.Amount, p.Currency) }},
			{"State", func(p billing.Payment) cell { return paymentState(p.State) }},
			{"Reason", func(p billing.Payment) cell { return text(p.Reason) }},
		},
		fetch: pagesOf(r, operation.Payments, billing.PaymentQuery{
			Service: r.service(), AgentID: r.agent(), State: store.PaymentState(oneOf(r.URL.Query().Get("state"), paymentStates)),
		}),
	}
	return l.page(r, pageView{Title: "Payments"}, r.filtered(r.search("agent", "Agent id"), r.choice("state", "State", paymentStates...)),
		section{Title: "Resolve a payment", Forms: []form{{
			Path: r.address(at("money", "payments", "resolve")), Button: "Resolve…", Danger: true,
			Text: "For a payment that is unclaimed or unknown. Check the records of the payment provider first.", Fields: []field{
				{ID: "reference", Name: "reference", Label: "Reference", Required: true},
				{ID: "state-to", Name: "state", Label: "The payment", Options: []option{
					{Value: string(store.PaymentCredited), Label: "arrived: credit it"}, {Value: string(store.PaymentFailed), Label: "failed"},
				}},
				{ID: "agent_id", Name: "agent_id", Label: "Agent", Hint: "Only for an unclaimed payment."},
			},
		}}})
}

func paymentState(s store.PaymentState) cell {
	return cell{Text: string(s), State: map[store.PaymentState]string{
		store.PaymentCredited: "ok", store.PaymentUnknown: "bad", store.PaymentUnclaimed: "warn", store.PaymentSettling: "warn",
	}[s]}
}

func (r *request) statementsPage() error {
	l := listing[billing.Statement]{
		caption: "Statements, by agent", empty: "No account matches.",
		columns: []column[billing.Statement]{
			{"Agent", func(s billing.Statement) cell { return r.agentCell(s.AgentID) }},
			{"Name", func(s billing.Statement) cell { return text(s.Name) }},
			{"Currency", func(s billing.Statement) cell { return text(s.Currency) }},
			{"Opening", func(s billing.Statement) cell { return amount(s.Opening.Balance, "") }},
			{"Topped up", func(s billing.Statement) cell { return amount(s.ToppedUp, "") }},
			{"Reversed", func(s billing.Statement) cell { return amount(s.Reversed, "") }},
			{"Captured", func(s billing.Statement) cell { return amount(s.Closing.Captured, "") }},
			{"Closing", func(s billing.Statement) cell { return amount(s.Closing.Balance, "") }},
		},
		fetch: pagesOf(r, operation.Statements, billing.StatementQuery{
			Service: r.service(), AgentID: r.agent(), From: r.moment("from"), To: r.moment("to"),
		}),
	}
	return l.page(r, pageView{Title: "Statements"},
		r.filtered(r.search("agent", "Agent id"), r.time("from", "From (UTC)"), r.time("to", "To (UTC)")))
}

func (r *request) invoicesPage() error {
	l := listing[billing.IssuedInvoice]{
		caption: "Invoices, the newest first", empty: "No invoice was issued.",
		columns: []column[billing.IssuedInvoice]{
			{"Number", func(i billing.IssuedInvoice) cell {
				return link(i.Number, r.address(at("agents", string(i.AgentID), "invoice"), "month", i.Month))
			}},
			{"Month", func(i billing.IssuedInvoice) cell { return text(i.Month) }},
			{"Agent", func(i billing.IssuedInvoice) cell { return r.agentCell(i.AgentID) }},
			{"Buyer", func(i billing.IssuedInvoice) cell { return text(i.Buyer) }},
			{"Amount", func(i billing.IssuedInvoice) cell { return amount(i.Amount, i.Currency) }},
			{"Payable", func(i billing.IssuedInvoice) cell { return amount(i.Payable, "") }},
			{"Issued", func(i billing.IssuedInvoice) cell { return when(i.IssuedAt) }},
		},
		fetch: pagesOf(r, operation.IssuedInvoices, billing.IssuedQuery{Service: r.service(), AgentID: r.agent()}),
	}
	return l.page(r, pageView{
		Title: "Invoices", Lead: "Issued invoices. Issue one on the page of an agent, and print it or send the file.",
	}, r.filtered(r.search("agent", "Agent id")))
}

func (r *request) ledgerPage() error {
	l := listing[calls.Entry]{
		caption: "Entries of the ledger, the newest first", empty: "The ledger has no such entry.",
		columns: []column[calls.Entry]{
			{"Number", func(e calls.Entry) cell { return number(e.Seq) }},
			{"Time", func(e calls.Entry) cell { return when(e.At) }},
			{"Agent", func(e calls.Entry) cell { return r.agentCell(e.AgentID) }},
			{"Amount", func(e calls.Entry) cell { return amount(e.Amount, e.Currency) }},
			{"Change", func(e calls.Entry) cell { return text(changeText(e)) }},
			{"By", func(e calls.Entry) cell { return text(e.By) }},
			{"Call", func(e calls.Entry) cell { return r.executionCell(e.ExecutionID) }},
			{"Reference", func(e calls.Entry) cell { return text(e.Reference) }},
		},
		fetch: pagesOf(r, operation.Ledger, r.usage()),
	}
	return l.page(r, pageView{Title: "Ledger"}, r.filtered(r.search("agent", "Agent id"), r.choice("state", "State", chargeStates...)))
}

func changeText(e calls.Entry) string {
	switch {
	case e.To == "":
		return "top-up"
	case e.From == "":
		return string(e.To)
	default:
		return string(e.From) + " → " + string(e.To)
	}
}

// moneyActions are the actions on the pages about money.
var moneyActions = []action{
	{
		path: "money/calls/{id}/resolve", operation: operation.Resolve.Name(), done: "The call is resolved.", back: toExecution,
		question: "Resolve this call?", rows: reviewResolution,
		do: func(r *request) error {
			of := r.record(r.PathValue("id"))
			return run(r, of, operation.Resolve, calls.Resolution{Record: of, State: store.State(r.PostForm.Get("state"))})
		},
	},
	{
		path: "money/calls/{id}/refund", operation: operation.Refund.Name(), done: "The charge is refunded.", back: toExecution,
		question: "Refund this charge?", rows: reviewRefund,
		do: func(r *request) error {
			of, f := r.record(r.PathValue("id")), r.PostForm
			return run(r, of, operation.Refund, billing.RefundRequest{
				Record: of, Amount: f.Get("amount"), Name: f.Get("name"), Reason: f.Get("reason"),
			})
		},
	},
	{
		path: "money/payments/resolve", operation: operation.ResolvePayment.Name(), done: "The payment is resolved.",
		question: "Resolve this payment?",
		back:     func(*request) string { return at("money", "payments") },
		do: func(r *request) error {
			f := r.PostForm
			return run(r, r.record(f.Get("reference")), operation.ResolvePayment, billing.PaymentResolution{
				Service: r.service(), Reference: f.Get("reference"), State: store.PaymentState(f.Get("state")), AgentID: pat.AgentID(f.Get("agent_id")),
			})
		},
	},
}

func toExecution(r *request) string { return at("money", "calls", r.PathValue("id")) }

// monthAt returns the month that is a number of months after the present one.
func (r *request) monthAt(months int) string {
	now := r.console.Now().UTC()
	return time.Date(now.Year(), now.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC).Format("2006-01")
}

// draftCell links to the invoice of an agent for a month, to print: a draft unless it was issued.
func (r *request) draftCell(agent, month string) cell {
	return link("Invoice of "+month+", to print", r.address(at("agents", agent, "invoice"), "month", month))
}

// today returns midnight UTC.
func (r *request) today() time.Time { return r.console.Now().UTC().Truncate(24 * time.Hour) }
