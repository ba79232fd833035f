package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/wire"
	"github.com/uimgate/uimgate/internal/oidc"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// viaOIDC is the Via of the sessions of people who signed in through the identity provider.
const viaOIDC = "oidc"

// maxAnswer bounds the query with which the identity provider sends a browser back, in bytes.
const maxAnswer = 16 << 10

// provider returns the identity provider, or nil if there is none.
func (c *Console) provider() *oidc.Provider {
	if c.OIDC == nil {
		return nil
	}
	return c.OIDC()
}

// credentialOf identifies a person, and the configuration with which the person signed in. The session ends when either changes.
func credentialOf(p *oidc.Provider, subject string) string {
	return p.Digest() + "." + digestOf(subject)
}

// outdated reports whether a session began with another configuration of the identity provider.
func (c *Console) outdated(s store.ConsoleSession) bool {
	p := c.provider()
	return p == nil || !strings.HasPrefix(s.Credential, p.Digest()+".")
}

// startOIDC sends a browser to the identity provider. With again=yes, the person of the session proves again who they are.
func (r *request) startOIDC() error {
	p := r.console.provider()
	if p == nil {
		return errNoPage
	}
	q := r.URL.Query()
	if home := p.Redirect(); home.Host != r.Host { // the cookie must reach the host to which the provider sends the browser back
		if q.Get("moved") != "" {
			return reason.HostNotAllowed.Refusal("The address of the console is not the one in admin.oidc.redirect: open " + home.Host + ".")
		}
		to := url.URL{Scheme: home.Scheme, Host: home.Host, Path: at("oidc", "start")}
		return r.redirect(with(to.String(), "next", nextOf(q.Get("next")), "again", q.Get("again"), "moved", "yes"))
	}
	attempt := oidc.Attempt{Next: nextOf(q.Get("next"))}
	if q.Get("again") == "yes" {
		if err := r.identify(); err != nil {
			return err
		}
		if r.session.Via != viaOIDC {
			return errNoPage
		}
		attempt.Session = r.session.ID
	}
	to, cookie, err := p.Begin(r.Context(), attempt)
	if err != nil {
		return r.signInFailed(err, oidc.Person{Attempt: attempt})
	}
	http.SetCookie(r.w, r.attemptCookie(p, cookie, int(oidc.AttemptTime.Seconds())))
	return r.redirect(to)
}

// attemptCookie returns the cookie of a sign-in. SameSite is Lax, so that the browser also sends the cookie when the identity provider
// redirects it back.
func (r *request) attemptCookie(p *oidc.Provider, value string, age int) *http.Cookie {
	c := &http.Cookie{ //nolint:gosec // loopback has no TLS
		Name: strings.Replace(cookieName(r.Host), "console", "signin", 1), Value: value, Path: admin.ConsolePath + "oidc", MaxAge: age,
		HttpOnly: true, Secure: p.Redirect().Scheme == "https", SameSite: http.SameSiteLaxMode,
	}
	if c.Secure {
		c.Name, c.Path = "__Host-"+c.Name, "/" // no other host of the domain can set it
	}
	return c
}

// finishOIDC signs in a person whom the identity provider has redirected back.
func (r *request) finishOIDC() error {
	p := r.console.provider()
	if p == nil {
		return errNoPage
	}
	if len(r.URL.RawQuery) > maxAnswer {
		return r.signInFailed(oidc.ErrAttempt, oidc.Person{})
	}
	named := r.attemptCookie(p, "", -1)
	cookie, err := r.Cookie(named.Name)
	if err != nil {
		return r.signInFailed(oidc.ErrAttempt, oidc.Person{})
	}
	http.SetCookie(r.w, named)
	person, err := p.Finish(r.Context(), cookie.Value, r.URL.Query())
	if person.Attempt.Session != "" && (err == nil || errors.Is(err, oidc.ErrNoRole)) {
		return r.proved(p, person)
	}
	if err != nil {
		return r.signInFailed(err, person)
	}
	who := r.as(person.Name, person.Role, viaOIDC)
	// Only an authentication that the provider reports is a proof: a browser that is still signed in there proves nothing.
	evidence := proof{credential: credentialOf(p, person.Subject), subject: person.Subject, at: person.AuthenticatedAt}
	if err := r.begin(who, evidence); err != nil {
		return err
	}
	// Browsers do not send the cookie of the session after a redirect that another website began.
	return r.write(http.StatusOK, "continue", nextOf(person.Attempt.Next))
}

// proved records that the person of a session has proved again who they are, and asks to return to the page that needs this. If the role of
// the person has changed, it ends the session.
func (r *request) proved(p *oidc.Provider, person oidc.Person) error {
	s, err := r.console.Store.ConsoleSession(r.Context(), person.Attempt.Session)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return errSignedOut
	case err != nil:
		return errors.Join(errStore, err)
	}
	if s.Via != viaOIDC || s.Credential != credentialOf(p, person.Subject) {
		return r.signInFailed(errOther, person)
	}
	if person.Role != s.Role {
		if err := r.console.Store.EndConsoleSession(r.Context(), s.ID); err != nil {
			return errors.Join(errStore, err)
		}
		return r.signInFailed(errRoleChanged, person)
	}
	if err := r.console.Store.ConfirmConsoleSession(r.Context(), s.ID, person.AuthenticatedAt); err != nil {
		return errors.Join(errStore, err)
	}
	return r.write(http.StatusOK, "notice", noticeView{
		Title: "You have proved who you are", Text: "Close this tab, return to the other one, and press the button there. You are not asked again " +
			"for five minutes.",
	})
}

// Errors when a person proves again who they are.
var (
	errOther       = errors.New("another person has signed in at the provider")
	errRoleChanged = errors.New("the provider now gives the person another role")
)

// A noticeView is the data of a page with one text and, optionally, a link to another website.
type noticeView struct{ Title, Text, Link, Href string }

// signInFailed logs why a person could not sign in, and shows the page for signing in with the reason. If the identity provider knows the
// person, the failure is in the audit stream too.
func (r *request) signInFailed(err error, person oidc.Person) error {
	var problem string
	status := http.StatusForbidden
	switch {
	case errors.Is(err, oidc.ErrAway):
		status, problem = http.StatusServiceUnavailable, awayText
	case errors.Is(err, oidc.ErrBusy):
		status, problem = http.StatusServiceUnavailable, "Too many people are signing in. Try again in a few seconds."
	case errors.Is(err, oidc.ErrNoRole):
		problem = "You have no role at this gateway. Ask its operators to put you into a group that has one."
	case errors.Is(err, oidc.ErrStale):
		problem = "The identity provider did not ask you to sign in again. Enter the admin token or a code in the other tab instead."
	case errors.Is(err, errOther):
		problem = "The person who signed in at the identity provider is not the one who is signed in here. Nothing was confirmed."
	case errors.Is(err, errRoleChanged):
		problem = "Your role has changed. Sign in again."
	case errors.Is(err, oidc.ErrAttempt):
		problem = "The sign-in has expired, or it was begun in another browser. Try again."
	default:
		problem = "The identity provider did not sign you in. Try again."
	}
	r.console.Log.Warn("console sign-in refused", zap.String("page", r.Pattern), zap.Error(wire.Loggable(err)),
		zap.String("address", r.peer().String()), zap.String("by", person.Name))
	if person.Subject != "" {
		who := r.as(person.Name, person.Role, viaOIDC)
		r.console.Operator.SignIn.SignInRefused(who, person.Subject, r.peer())
	}
	return r.write(status, "signin", r.signInView(person.Attempt.Next, problem))
}

const awayText = "The identity provider cannot be reached. Try again later, use a link of uimgate console, or enter the admin token."

// signInView returns the page for signing in.
func (r *request) signInView(next, problem string) signInView {
	v := signInView{Next: nextOf(next), Problem: problem}
	if p := r.console.provider(); p != nil {
		v.Provider, v.Start = p.Host(), with(at("oidc", "start"), "next", nextOf(next))
		if problem == "" && p.Away() != nil {
			v.Problem = awayText
		}
	}
	return v
}

// signedOutOf shows a page that links to the sign-out of the identity provider. It reports whether the provider has one.
func (r *request) signedOutOf() bool {
	p := r.console.provider()
	if r.session.Via != viaOIDC || p == nil {
		return false
	}
	back := url.URL{Scheme: p.Redirect().Scheme, Host: p.Redirect().Host, Path: at("signin")}
	to := p.LogoutURL(back.String())
	// A page, because the Content-Security-Policy does not let a form lead to another website.
	return to != "" && r.write(http.StatusOK, "notice", noticeView{
		Title: "You are signed out", Text: "You may still be signed in at " + p.Host() + ".", Link: "Sign out of " + p.Host(), Href: to,
	}) == nil
}
