package agreements

import (
	"context"
	"fmt"
	"slices"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/door"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
)

// An AgreementProof is the result of verifying an agreement.
type AgreementProof struct {
	Proved    bool      `json:"proved"`
	Text      string    `json:"text"` // what is proved, or why nothing is
	Agreement Agreement `json:"agreement"`
}

// VerifyAgreement verifies the bundle that ExportAgreement returns, as anyone can do without this gateway: see pat.VerifyExport.
func (o *Operations) VerifyAgreement(ctx context.Context, s *service.Service, r api.Record) (AgreementProof, error) {
	a, err := o.Agreement(ctx, s, r)
	if err != nil {
		return AgreementProof{}, err
	}
	bundle, err := o.ExportAgreement(ctx, s, r)
	if err != nil {
		return AgreementProof{}, err
	}
	forms := door.Forms(o.Doors)
	e, err := pat.VerifyExport(bundle, forms)
	if err != nil {
		return AgreementProof{Text: err.Error(), Agreement: a}, nil //nolint:nilerr // it is the result
	}
	return AgreementProof{Proved: true, Text: ProvedBy(e, forms), Agreement: a}, nil
}

// ProvedBy describes what a verified bundle proves. forms are those of other protocols.
func ProvedBy(e pat.ExportedAgreement, forms []pat.Form) string {
	record, consented := e.Agreement.Consent()
	if !consented && slices.ContainsFunc(forms, func(f pat.Form) bool { return slices.Contains(f.InWords, e.Agreement.Form) }) {
		return "this key agreed to this policy in words, in a message to another agent. Only the exporter claims that this other agent is the " +
			"service, and the id, the state and the time."
	}
	if e.Agreement.Assurance == pat.Implied {
		return "this key sent a message of this type to another agent. The message names neither the policy nor an intent. " +
			"Only the exporter claims that this other agent is the service, that the message calls an intent and implies this policy, " +
			"and the scope, the id, the state and the time."
	}
	if !consented {
		return "this key signed this policy. Only the exporter claims the id, the state and the time."
	}
	invited := ""
	if record.Invitation != "" {
		invited = fmt.Sprintf(" The operator had invited %q.", record.Invitation)
	}
	return fmt.Sprintf("the gateway's own key signed a record that a person consented to this policy on its page, for the client %q "+
		"(%q), and was redirected to %q.%s%s The record shows what the gateway saw, and proves nothing about the person or the client.",
		record.ClientName, record.ClientID, record.RedirectHost, invited, changedBudgets(e.Budgets))
}

// changedBudgets describes the changes of the budget of a consent.
func changedBudgets(list []pat.ExportedBudget) (text string) {
	proved := 0
	for _, b := range list {
		if b.Proved {
			proved++
		}
	}
	if proved > 0 {
		newest := list[proved-1].Budget
		text = fmt.Sprintf(" The gateway's keys signed the changes of its budget, %d in number, "+
			"the last one to %s with at most %s for each call.", proved, newest, newest.PerCall)
	}
	if unproved := len(list) - proved; unproved > 0 {
		text += fmt.Sprintf(" NOT PROVED: the last changes of the budget, %d in number. "+
			"The gateway has deleted the keys that signed them.", unproved)
	}
	return text
}
