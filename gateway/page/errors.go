package page

import (
	_ "embed"
	"encoding/json"
	"html/template"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
)

// An errorsView is the template data of a page about one reason or about all reasons.
type errorsView struct {
	Style  template.CSS
	Name   string // the name of the service
	List   string // URL of the list of reasons
	Agents string // URL of agents.json
	// Protocol is the URL of the page about the protocol.
	Protocol string
	One      *errorView
	All      []errorView
}

type errorView struct {
	Reason reason.Reason
	URL    string
}

// Error returns the HTML page for one reason.
func Error(s *service.Definition, r reason.Reason) ([]byte, error) {
	v := newErrorsView(s)
	v.One = &errorView{r, s.HelpURL(r)}
	return render("errors.html", v)
}

// Errors returns the HTML page that lists all reasons that agents can receive in a refusal.
func Errors(s *service.Definition) ([]byte, error) {
	v := newErrorsView(s)
	for _, r := range reason.All() {
		if !r.ForOperators() {
			v.All = append(v.All, errorView{r, s.HelpURL(r)})
		}
	}
	return render("errors.html", v)
}

// A reasonDoc describes one reason in JSON.
type reasonDoc struct {
	Reason     reason.Reason `json:"reason"`
	Code       reason.Code   `json:"code"`
	Status     int           `json:"status"`
	UIMCode    string        `json:"uim_code,omitempty"`
	Message    string        `json:"message"`
	Suggestion string        `json:"suggestion"`
	Help       string        `json:"help"`
	HelpURL    string        `json:"help_url"`
}

func describedOf(s *service.Definition, r reason.Reason) reasonDoc {
	return reasonDoc{r, r.Code(), r.Status(), r.Number(), r.Message(), r.Suggestion(), r.Help(), s.HelpURL(r)}
}

// ErrorJSON returns the content of Error as JSON.
func ErrorJSON(s *service.Definition, r reason.Reason) ([]byte, error) {
	return json.Marshal(describedOf(s, r))
}

// ErrorsJSON returns the content of ErrorJSON for all reasons that Errors lists, as JSON.
func ErrorsJSON(s *service.Definition) ([]byte, error) {
	all := struct {
		Errors []reasonDoc `json:"errors"`
	}{}
	for _, r := range reason.All() {
		if !r.ForOperators() {
			all.Errors = append(all.Errors, describedOf(s, r))
		}
	}
	return json.Marshal(all)
}

func newErrorsView(s *service.Definition) *errorsView {
	return &errorsView{
		Style: template.CSS(frontCSS), //nolint:gosec // a constant file of this package
		Name:  s.Name(), List: s.At("/errors"), Agents: s.At("/agents.json"), Protocol: s.At(ProtocolPath),
	}
}
