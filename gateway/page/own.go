package page

import (
	_ "embed"
	"html/template"
	"strings"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

// An ownView is the template data of a person's own page.
type ownView struct {
	Style    template.CSS
	Title    string
	Name     string // the name of the service
	Consents []ownConsentView
	Front    string
}

type ownConsentView struct {
	ID, Client, ClientID, Sent string
	Since, Until, State        string
	Open                       bool // it permits something, or waits for the operator
	Intents                    []string
	Agent                      string
	Budget                     *budgetState
	PerCall                    string
	Charges                    []chargeView
	Fields                     []Field
	Change                     *budgetChangeView // nil: the budget cannot be changed
}

// A budgetChangeView is the form that changes a budget.
type budgetChangeView struct {
	Currency, Amount, PerCall string // the amounts as decimals, or as the person typed them
	Most, MostCall            string // in words
	Wrong                     string // what the person must correct
	Fields                    []Field
}

// OwnForms returns the hidden fields of the forms of a consent.
type OwnForms struct {
	End    func(handle string) []Field
	Change func(handle string, changes int) []Field
}

// A RejectedChange is a changed budget that was not accepted, to be shown again in its form.
type RejectedChange struct {
	Handle, Amount, PerCall string // the amounts as the person typed them
	Wrong                   string // what the person must correct
}

// A chargeView is one charge under a consent.
type chargeView struct{ At, Intent, Amount, State, ID string }

// Own returns the page on which a person sees, changes and ends the consents of a browser. rejected is a change to show again; it may be
// nil.
func (c *Consent) Own(list []consent.OwnConsent, forms OwnForms, rejected *RejectedChange) ([]byte, error) {
	v := ownView{
		Style: template.CSS(frontCSS), //nolint:gosec // a constant file of this package
		Title: "Your consents: " + c.name, Name: c.name, Front: c.service.At("/"),
	}
	for i := range list {
		v.Consents = append(v.Consents, c.ownConsent(&list[i], forms, rejected))
	}
	return render("own.html", &v)
}

func (c *Consent) ownConsent(own *consent.OwnConsent, forms OwnForms, rejected *RejectedChange) ownConsentView {
	v := ownConsentView{
		ID: own.Handle, Client: clientName(own.Record.ClientName), ClientID: own.Record.ClientID, Sent: own.Record.RedirectHost,
		Since: own.Agreement.CreatedAt.UTC().Format(minuteFormat), Until: own.Until.UTC().Format(minuteFormat),
		Open: own.Open || own.Pending, State: "has ended", Agent: string(own.Agreement.AgentID),
	}
	switch {
	case own.Open:
		v.State = "is valid"
	case own.Pending:
		v.State = "waits for the operator"
	}
	if v.Open {
		v.Fields = forms.End(own.Handle)
	}
	for _, entry := range own.Agreement.Scope {
		v.Intents = append(v.Intents, c.intentName(strings.TrimSuffix(entry, ":execute")))
	}
	if b := own.Budget; b != nil {
		v.Budget, v.PerCall = &budgetState{Budget: allowanceWords(b.Allowance), Before: own.Left.String()}, b.PerCall.String()
		if own.Offer != nil {
			v.Change = budgetChange(own, forms, rejected)
		}
	}
	for _, e := range own.Charges {
		v.Charges = append(v.Charges, chargeView{
			e.BeganAt.UTC().Format(minuteFormat), c.intentName(e.Intent), e.Charge.String(), string(e.State), e.ID,
		})
	}
	return v
}

func budgetChange(own *consent.OwnConsent, forms OwnForms, rejected *RejectedChange) *budgetChangeView {
	most := own.Offer.Max
	if own.Budget.Period == limit.Day && most.Period == limit.Month {
		most = limit.Allowance{Amount: money.Amount{Nano: most.Nano / 31, Currency: most.Currency}, Period: limit.Day}
	}
	v := &budgetChangeView{
		Currency: own.Budget.Currency, Amount: own.Budget.Decimal(), PerCall: own.Budget.PerCall.Decimal(),
		Most: allowanceWords(most), MostCall: own.Offer.PerCall.String(), Fields: forms.Change(own.Handle, own.Changes),
	}
	if own.Budget.Nothing() {
		v.PerCall = ""
	}
	if rejected != nil && rejected.Handle == own.Handle {
		v.Amount, v.PerCall, v.Wrong = rejected.Amount, rejected.PerCall, rejected.Wrong
	}
	return v
}

// intentName returns the name of an intent or, if it has none, its uid.
func (c *Consent) intentName(uid string) string {
	if in := c.intents[uid+":execute"]; in != nil && in.Name != "" {
		return in.Name
	}
	return uid
}
