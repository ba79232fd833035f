package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"unicode"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

//go:embed copy.js
var copyJS string

// ConfirmSecurity returns the Content-Security-Policy of the pages of Confirmation. Their form posts to the origin of the page, and their
// only script copies the token.
func ConfirmSecurity() string {
	return "default-src 'none'; style-src 'sha256-" + hashOf(frontCSS) + "'; script-src 'sha256-" + hashOf(copyJS) +
		"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

// A confirmView is the template data of a page about one call that a person is asked to confirm.
type confirmView struct {
	Style   template.CSS
	Script  template.JS
	Title   string
	Name    string // the name of the service
	State   string
	Changed bool
	Call    template.HTML
	Budget  *budgetState
	Until   string
	Fields  []Field
	Token   string // the token for clients of UIM; empty: the client needs none
	Front   string
}

// A callView is the template data for the content that a person confirms.
type callView struct {
	Name, Client, Intent, UID, Description string
	Parameters                             []Field
	Price                                  string // empty: the call costs nothing
	Policy                                 string
}

// A budgetState shows a budget before and after a call.
type budgetState struct {
	Budget, Before, After string // After is empty if the call can no longer be decided
	Over                  bool   // the call exceeds what is left
}

// A Call is the content that a person confirms.
type Call struct {
	html   template.HTML
	Digest string // the digest of the content
}

// Call renders the content that a person confirms.
func (c *Consent) Call(asked *consent.Confirmation) (Call, error) {
	v := callView{
		Name: c.name, Client: clientName(asked.Client), UID: asked.Asked.Intent, Intent: asked.Asked.Intent, Policy: asked.Asked.PolicyDigest,
	}
	if in := asked.Intent; in != nil {
		v.Description = cut(in.Description, consentDescription)
		if in.Name != "" {
			v.Intent = in.Name
		}
	}
	if !asked.Asked.Charge.IsZero() {
		v.Price = asked.Asked.Charge.String()
	}
	var err error
	if v.Parameters, err = argumentsOf(asked.Asked.Parameters); err != nil {
		return Call{}, err
	}
	html, err := fragment("call", &v)
	return Call{html, pat.DigestOf([]byte(html))}, err
}

func clientName(name string) string {
	if name == "" {
		return "An unnamed client"
	}
	return name
}

// argumentsOf returns the members of a JSON object, sorted, with their values as JSON. The parameters of a call that was made are empty,
// and have no members.
func argumentsOf(text []byte) ([]Field, error) {
	if len(text) == 0 {
		return nil, nil
	}
	tree, err := strictjson.Decode(text)
	if err != nil {
		return nil, err
	}
	object, _ := strictjson.AsObject(tree)
	var out []Field
	for name, value := range object {
		shown, err := strictjson.Append(nil, value)
		if err != nil {
			return nil, err
		}
		out = append(out, Field{visible(name), visible(string(shown))})
	}
	slices.SortFunc(out, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// visible escapes characters that are invisible or change the direction of text, so that a page shows exactly what is sent.
func visible(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == ' ' || unicode.IsGraphic(r) && !unicode.IsSpace(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, "\\u%04x", r)
	}
	return b.String()
}

// Confirmation returns the page about a call that a person is asked to confirm. call is its content. Its form sends fields back with the
// decision. The page shows token if the call is confirmed and its client needs one. If changed is true, the page has a note that its form
// was not accepted.
func (c *Consent) Confirmation(asked *consent.Confirmation, call Call, fields []Field, token string, changed bool) ([]byte, error) {
	v := confirmView{
		Style: template.CSS(frontCSS), Script: template.JS(copyJS), //nolint:gosec // constant files of this package
		Title: "Confirm a call: " + c.name, Name: c.name, State: string(asked.State), Changed: changed, Call: call.html, Fields: fields,
		Until: asked.Asked.Until.UTC().Format(minuteFormat), Front: c.service.At("/"),
	}
	if asked.State == consent.Confirmed && asked.Asked.Door == "" {
		v.Token = token
	}
	if b := asked.Budget; b != nil && !asked.Asked.Charge.IsZero() {
		v.Budget = &budgetState{Budget: allowanceWords(b.Allowance), Before: asked.Left.String()}
		if asked.State == consent.ToDecide {
			after := asked.Left
			after.Nano -= limit.AllowanceLeft(limit.AllowanceUnits(asked.Asked.Charge), b.Currency).Nano
			v.Budget.After, v.Budget.Over = after.String(), after.Nano < 0
		}
	}
	return render("confirm.html", &v)
}
