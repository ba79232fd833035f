package page

import (
	"bytes"
	_ "embed"
	"html/template"
	"strings"

	"github.com/uimgate/uimgate/gateway/consent"
)

//go:embed own.html
var ownHTML string

var ownTemplate = template.Must(template.New("own.html").Parse(ownHTML))

// An ownView is the template data of a person's own page.
type ownView struct {
	Style    template.CSS
	Title    string
	Name     string // of the service
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
}

// A chargeView is one charge under a consent.
type chargeView struct{ At, Intent, Amount, State, ID string }

// Own returns the page on which a person sees and ends the consents of a browser. fields returns the hidden fields of the form that ends
// the consent with a handle.
func (c *Consent) Own(list []consent.OwnConsent, fields func(handle string) []Field) ([]byte, error) {
	v := ownView{
		Style: template.CSS(frontCSS), //nolint:gosec // a constant file of this package
		Title: "Your consents: " + c.name, Name: c.name, Front: c.service.At("/"),
	}
	for i := range list {
		v.Consents = append(v.Consents, c.ownConsent(&list[i], fields))
	}
	var b bytes.Buffer
	if err := ownTemplate.Execute(&b, &v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (c *Consent) ownConsent(own *consent.OwnConsent, fields func(handle string) []Field) ownConsentView {
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
		v.Fields = fields(own.Handle)
	}
	for _, entry := range own.Agreement.Scope {
		v.Intents = append(v.Intents, c.intentName(strings.TrimSuffix(entry, ":execute")))
	}
	if b := own.Budget; b != nil {
		v.Budget, v.PerCall = &budgetState{Budget: allowanceWords(b.Allowance), Before: own.Left.String()}, b.PerCall.String()
	}
	for _, e := range own.Charges {
		v.Charges = append(v.Charges, chargeView{
			e.BeganAt.UTC().Format(minuteFormat), c.intentName(e.Intent), e.Charge.String(), string(e.State), e.ID,
		})
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
