package console

import (
	"cmp"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// recordLabels name the kinds of records by the beginning of the path of an action.
var recordLabels = []struct{ prefix, label string }{
	{"agents/", "Agent"}, {"agreements/", "Agreement"}, {"money/calls/", "Call"},
}

// recordLabel names the record that an action concerns.
func recordLabel(path string) string {
	i := slices.IndexFunc(recordLabels, func(l struct{ prefix, label string }) bool { return strings.HasPrefix(path, l.prefix) })
	if i < 0 {
		return "Record"
	}
	return recordLabels[i].label
}

// rowsOf omits the rows without a value.
func rowsOf(list ...field) []field {
	return slices.DeleteFunc(list, func(f field) bool { return f.Value == "" })
}

// chargeRows describe the charge of the call that an action concerns. If it cannot be read, there are none: the action then reports why.
func (r *request) chargeRows() []field {
	e, err := read(r, operation.Execution, r.record(r.PathValue("id")))
	if err != nil {
		return nil
	}
	return rowsOf(
		field{Label: "Agent", Value: string(e.AgentID)}, field{Label: "Intent", Value: e.Intent},
		field{Label: "Charge", Value: strings.TrimSpace(e.Amount + " " + e.Currency)},
	)
}

func reviewRefund(r *request) []field {
	refund := cmp.Or(strings.TrimSpace(r.PostForm.Get("amount")), "all that is left of the charge")
	return append(r.chargeRows(), rowsOf(field{Label: "Refund", Value: refund}, field{Label: "Reason", Value: r.PostForm.Get("reason")})...)
}

func reviewResolution(r *request) []field {
	return append(r.chargeRows(), rowsOf(field{Label: "The call", Value: labelOf(resolutions, r.PostForm.Get("state"))})...)
}

// resolutions are the choices for a call of unknown outcome.
var resolutions = []option{
	{Value: string(store.Captured), Label: "was carried out: the agent pays"},
	{Value: string(store.Released), Label: "was not carried out: the agent does not pay"},
}

func reviewRotation(r *request) []field {
	return []field{
		{Label: "Key for", Value: labelOf(rotated, r.PostForm.Get("purpose"))},
		{Label: "On every replica", Value: yesNo(r.PostForm.Get("all") == "yes")},
	}
}

// labelOf returns the label of a choice, or the value if it is not a choice.
func labelOf(options []option, value string) string {
	for _, o := range options {
		if o.Value == value {
			return o.Label
		}
	}
	return value
}

func reviewTopUp(r *request) []field {
	change := "Add"
	if r.PostForm.Get("reverse") == "yes" {
		change = "Subtract"
	}
	rows := rowsOf(
		field{Label: change, Value: strings.TrimSpace(r.PostForm.Get("amount"))}, field{Label: "Reference", Value: r.PostForm.Get("reference")},
	)
	of := billing.AccountQuery{Service: r.service(), AgentID: pat.AgentID(r.PathValue("id"))}
	accounts, err := read(r, operation.Accounts, of)
	if err != nil {
		return rows
	}
	for _, a := range accounts.Items {
		rows = append(rows, field{Label: "Balance now", Value: a.Balance + " " + a.Currency})
	}
	return rows
}

// reviewInvoice describes an invoice: its month and its buyer. An issued invoice never changes.
func reviewInvoice(r *request) []field {
	rows := rowsOf(field{Label: "Month", Value: strings.TrimSpace(r.PostForm.Get("month"))})
	buyer, err := read(r, operation.Buyer, r.record(r.PathValue("id")))
	if err != nil {
		return rows
	}
	address := strings.Join(append(append([]string{buyer.Name}, buyer.Address...), buyer.Country), ", ")
	if buyer.Name == "" {
		address = "not set: first fill in the form \"Invoices go to\" on the page of the agent"
	}
	return append(rows, field{Label: "Goes to", Value: address})
}
