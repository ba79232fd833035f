package console

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/reason"
)

//go:embed assets
var assets embed.FS

// templates are parsed when the first page is requested.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(assets, "assets/*.html"))
})

// asset serves the stylesheet, the script and the icon.
func (c *Console) asset(w http.ResponseWriter, r *http.Request) {
	types := map[string]string{
		"style.css": "text/css; charset=utf-8", "console.js": "text/javascript; charset=utf-8",
		"icon.svg": "image/svg+xml",
	}
	name := r.PathValue("name")
	data, err := assets.ReadFile("assets/" + name)
	if types[name] == "" || err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", types[name])
	w.Header().Set("Cache-Control", "public, max-age=300")
	_, _ = w.Write(data) //nolint:gosec // a file of this program; the browser has disconnected
}

// A frame is a page with its header and navigation.
type frame struct {
	pageView

	Who, Role, SignOut string // SignOut is the CSRF token
	Nav                []option
	Services           []option
	Path               string
	Done               string // describes the last action
	Session            bool
}

// show writes a page for the person who has signed in.
func (r *request) show(status int, p pageView) error {
	f := frame{pageView: p, Path: r.URL.EscapedPath()}
	if r.secret != "" {
		f.Session, f.Who, f.Role, f.SignOut = true, r.session.Name, r.session.Role, r.csrf(at("signout"))
		f.Done = doneText(r.URL.Query().Get("done"))
		for _, n := range navigation {
			f.Nav = append(f.Nav, option{Value: r.address(at(n.path)), Label: n.label, Selected: n.path == r.section()})
		}
		if list := r.console.Directory.Current().Services(); len(list) > 1 {
			for _, s := range list {
				f.Services = append(f.Services, option{Value: s.ID, Label: s.ID, Selected: s.ID == r.service()})
			}
		}
	}
	for i := range f.Sections {
		f.Sections[i].Forms = r.allowed(f.Sections[i].Forms)
	}
	return r.write(status, "page", f)
}

// section returns the first segment of the path below admin.ConsolePath.
func (r *request) section() string {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, admin.ConsolePath), "/")
	return first
}

// service returns the id of a service: the one of the record on the page, the one that the request names or, if there is neither, the first
// one.
func (r *request) service() string {
	if r.of != "" {
		return r.of
	}
	if id := r.PostForm.Get("service"); id != "" {
		return id
	}
	if id := r.URL.Query().Get("service"); id != "" {
		return id
	}
	return r.console.Directory.Current().Services()[0].ID
}

// address adds the service of the request to an address, if there are several services.
func (r *request) address(to string, pairs ...string) string {
	if len(r.console.Directory.Current().Services()) > 1 {
		pairs = append(pairs, "service", r.service())
	}
	return with(to, pairs...)
}

// write executes a template, and sends the result.
func (r *request) write(status int, name string, data any) error {
	var out bytes.Buffer
	if err := templates().ExecuteTemplate(&out, name, data); err != nil {
		return fmt.Errorf("the page %s: %w", name, err)
	}
	r.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	r.w.WriteHeader(status)
	_, _ = r.w.Write(visible(out.Bytes())) // the browser has disconnected
	return nil
}

// visible replaces the characters that control or reorder text, or that are invisible, with their numbers. Names and descriptions
// are untrusted: without this, they could make a page look different from its contents.
func visible(html []byte) []byte {
	if !bytes.ContainsFunc(html, invisible) {
		return html
	}
	var out bytes.Buffer
	for _, c := range string(html) {
		if invisible(c) {
			fmt.Fprintf(&out, "⟨U+%04X⟩", c)
			continue
		}
		out.WriteRune(c)
	}
	return out.Bytes()
}

// invisible reports whether a character controls or reorders text, or is invisible.
func invisible(c rune) bool {
	return c != '\n' && c != '\t' && (c == utf8.RuneError || unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co))
}

// exact returns the value of a control as HTML that visible does not change, because the browser sends the value back. HTML has no
// references to most control characters: visible replaces these.
func exact(value string) template.HTML {
	var out strings.Builder
	for _, c := range value {
		if invisible(c) && (c == '\r' || !unicode.Is(unicode.Cc, c)) {
			fmt.Fprintf(&out, "&#x%X;", c)
			continue
		}
		out.WriteString(template.HTMLEscapeString(string(c)))
	}
	return template.HTML(out.String()) //nolint:gosec // every character is escaped
}

// fail shows the problem. If the person is not signed in, it shows the sign-in page.
func (r *request) fail(err error) {
	status, title, lines := r.problem(err)
	if errors.Is(err, errSignedOut) {
		r.signedOut()
		return
	}
	if status >= http.StatusInternalServerError {
		r.console.Log.Error("console", zap.String("page", r.Pattern), zap.Error(wire.Loggable(err)))
	}
	if shown := r.show(status, pageView{Title: title, Sections: []section{{Lines: lines}}}); shown != nil {
		r.console.Log.Error("console", zap.String("page", r.Pattern), zap.Error(wire.Loggable(shown)))
		http.Error(r.w, title, http.StatusInternalServerError)
	}
}

// signedOut sends a person who is not signed in to the sign-in page. If the person followed a link on another website
// or in a program, the browser has not sent the cookie. The response is then a page of this website that opens the same
// address again, so that the browser sends it.
func (r *request) signedOut() {
	if r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") == "navigate" {
		if r.write(http.StatusOK, "continue", nextOf(r.URL.RequestURI())) == nil {
			return
		}
	}
	next := ""
	if r.Method == http.MethodGet && r.Pattern != "GET /console/events" {
		next = nextOf(r.URL.RequestURI())
	}
	http.Redirect(r.w, r.Request, with(at("signin"), "next", next), http.StatusSeeOther)
}

// problem returns the status and the texts for an error.
func (r *request) problem(err error) (status int, title string, lines []string) {
	if role, ok := errors.AsType[*api.RoleError](err); ok {
		return http.StatusForbidden, "Your role does not allow this", []string{
			"You have signed in as " + string(r.caller.Role) + ". This needs the role " + string(role.Needed) + " or admin.",
		}
	}
	switch {
	case errors.Is(err, errNoPage):
		return http.StatusNotFound, "Page not found", []string{"Check the address, or choose a page above."}
	case errors.Is(err, errForm):
		return http.StatusForbidden, "This form is out of date", []string{
			"It is too long, or it was made for another session. Go back, load the page again, and send the form again. Nothing was changed.",
		}
	case errors.Is(err, errForeign):
		return http.StatusForbidden, "The request comes from another website", []string{"Nothing was changed."}
	case errors.Is(err, errStore):
		return http.StatusServiceUnavailable, "The store cannot be reached", []string{"The gateway continues to try. Load this page again later."}
	}
	f := admin.RefusalFor(err)
	title = f.Message
	if f.Reason == reason.NoSuchRecord && f.Message == reason.NoSuchRecord.Refusal("").Message {
		title = "Record not found"
		lines = append(lines, "It never existed, or the gateway has deleted it because it expired.")
	}
	suggestion, _ := f.Details["suggestion"].(string)
	if suggestion == "" {
		suggestion = f.Reason.OperatorSuggestion()
	}
	if suggestion != "" {
		lines = append(lines, suggestion)
	}
	if problems, ok := f.Details["problems"].([]reloads.Problem); ok {
		for _, p := range problems {
			lines = append(lines, problemLine(p))
		}
	}
	switch {
	case r.Method != http.MethodPost:
	case f.Status() < http.StatusInternalServerError:
		lines = append(lines, "Nothing was changed by this form. Go back to correct it.")
	default:
		lines = append(lines, "The change may have been made. Check this before you send the form again.")
	}
	return f.Status(), title, lines
}

func problemLine(p reloads.Problem) string {
	place := p.File
	if p.Line > 0 {
		place = fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return place + ": " + p.Level + ": " + p.Message
}

// allowed returns the forms that the person may use, with their CSRF tokens.
func (r *request) allowed(list []form) []form {
	out := list[:0]
	for _, f := range list {
		a, known := actionAt(f.Path)
		if !known || r.console.Operator.MayUse(r.caller, a.operation) != nil {
			continue
		}
		if u, err := url.Parse(f.Path); err == nil {
			f.CSRF = r.csrf(u.EscapedPath())
		}
		out = append(out, f)
	}
	return out
}
