package console

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/reason"
)

// An action is the operation of one form.
type action struct {
	path      string // pattern below admin.ConsolePath
	operation string // of the admin API: it needs the same role
	done      string // describes the completed action on the next page
	// question asks for confirmation before the action; empty: the action is carried out at once. Actions that move money or stop an agent
	// have one. The person must then have proved their identity recently.
	question string
	do       func(*request) error
	back     func(*request) string // the next page
	show     func(*request) error  // carries out the action and shows its result; nil: do and back
	// rows describes what the person confirms. nil: the fields of the form.
	rows func(*request) []field
}

// allActions returns the actions of all pages.
func allActions() []action {
	return append(slices.Concat(
		agentActions, agreementActions, moneyActions, stopActions, settingsActions, editActions(), tryActions(), curationActions(),
	), decideAction())
}

// actionAt returns the action of a form that is sent to an address.
func actionAt(address string) (action, bool) {
	path, _, _ := strings.Cut(address, "?")
	segments := strings.Split(strings.TrimPrefix(path, admin.ConsolePath), "/")
	for _, a := range allActions() {
		pattern := strings.Split(a.path, "/")
		if len(pattern) == len(segments) && slices.EqualFunc(pattern, segments, func(p, s string) bool {
			return p == s || p == "{id}" &&
				s != ""
		}) {
			return a, true
		}
	}
	return action{}, false
}

// doneText returns the text to show after the action with this name.
func doneText(name string) string {
	for _, a := range allActions() {
		if a.path == name {
			return a.done
		}
	}
	return ""
}

// act carries out an action, after the person has confirmed it.
func (r *request) act(a action) error {
	if err := r.console.Operator.MayUse(r.caller, a.operation); err != nil {
		return err
	}
	if a.question != "" {
		if r.PostForm.Get("confirmed") != "yes" {
			return r.review(a, "")
		}
		if !r.confirmed() {
			problem, err := r.reauthenticate()
			if err != nil {
				return err
			}
			if problem != "" {
				return r.review(a, problem)
			}
		}
	}
	if a.show != nil {
		return a.show(r)
	}
	if err := a.do(r); err != nil {
		return err
	}
	return r.redirect(r.address(a.back(r), "done", a.path))
}

// A reviewView is the data of the page on which a person confirms an action.
type reviewView struct {
	frame

	Question, Problem, Action, CSRF string
	Rows                            []field // the contents of the form
	Hidden                          []field
	Prove                           bool   // the person must prove their identity
	Provider, Start                 string // how to do so at the identity provider: its host, and an address; empty: not possible
	Back                            string
}

// unseen are the fields of forms that a review does not show.
var unseen = []string{"csrf", "confirmed", "credential"}

func (r *request) review(a action, problem string) error {
	view := reviewView{
		Question: a.question, Problem: problem, Action: r.URL.RequestURI(), CSRF: r.csrf(r.URL.EscapedPath()), Prove: !r.confirmed(),
		Back: r.address(a.back(r)),
	}
	if id := r.PathValue("id"); id != "" {
		view.Rows = append(view.Rows, field{Label: recordLabel(a.path), Value: id})
	}
	_, scoped := r.PostForm["scope"] // the form itself names the service, or every service
	if len(r.console.Directory.Current().Services()) > 1 && !scoped && !strings.HasPrefix(a.path, "settings/") {
		view.Rows = append(view.Rows, field{Label: "Service", Value: r.service()})
	}
	for _, name := range slices.Sorted(maps.Keys(r.PostForm)) {
		value := r.lines(name)
		if slices.Contains(unseen, name) {
			continue
		}
		view.Hidden = append(view.Hidden, field{Name: name, Value: value})
		if value != "" && a.rows == nil {
			view.Rows = append(view.Rows, field{Label: memberWords(name), Value: value})
		}
	}
	if a.rows != nil {
		view.Rows = append(view.Rows, a.rows(r)...)
	}
	if p := r.console.provider(); p != nil && r.session.Via == viaOIDC {
		view.Provider, view.Start = p.Host(), with(at("oidc", "start"), "again", "yes")
	}
	view.Title = "Confirm"
	view.Session, view.Who, view.Role, view.SignOut = true, r.session.Name, r.session.Role, r.csrf(at("signout"))
	status := http.StatusOK
	if problem != "" {
		status = http.StatusForbidden
	}
	return r.write(status, "review", view)
}

// reauthenticate checks the credential of a form, which is the admin token or a code of uimgate console. It returns a description of the
// problem.
func (r *request) reauthenticate() (problem string, err error) {
	credential := strings.TrimSpace(r.PostForm.Get("credential"))
	if credential == "" && r.session.Via == viaOIDC {
		return "Sign in again at the identity provider, or enter the admin token or a code.", nil
	}
	if credential == "" {
		return "Enter the admin token or a code.", nil
	}
	l, err := r.takeCode(credential)
	switch {
	case err == nil:
		if !api.Role(l.Role).Allows(r.caller.Role) {
			_ = r.credentialRefused(errCode)
			return "The code is for the role " + l.Role + ", but you have signed in as " + string(r.caller.Role) + ".", nil
		}
	case errors.Is(err, errCode):
		if err := r.checkToken(credential); err != nil {
			f := r.credentialRefused(err)
			if f.Reason != reason.InvalidToken {
				return f.Message, nil
			}
			return "This is neither the admin token nor a code that can be used.", nil
		}
	default:
		return "", err
	}
	now := r.console.Now()
	if err := r.console.Store.ConfirmConsoleSession(r.Context(), r.session.ID, now); err != nil {
		return "", errors.Join(errStore, err)
	}
	r.session.ConfirmedAt = now
	return "", nil
}
