package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/signin"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// signInView is the data of the page on which people sign in.
type signInView struct {
	Next, Code, Problem string
	Link                bool   // the page is that of a one-time link
	Provider, Start     string // host of the identity provider, and the address that redirects to it; empty: none
}

func (r *request) signInPage() error {
	return r.write(http.StatusOK, "signin", r.signInView(r.URL.Query().Get("next"), ""))
}

// signIn starts a session for the holder of the admin token.
func (r *request) signIn() error {
	if err := r.ParseForm(); err != nil {
		return errForm
	}
	view := r.signInView(r.PostForm.Get("next"), "")
	if err := r.checkToken(strings.TrimSpace(r.PostForm.Get("token"))); err != nil {
		f := r.credentialRefused(err)
		view.Problem = f.Message
		return r.write(f.Status(), "signin", view)
	}
	who := r.as("operator", string(api.RoleAdmin), "token")
	if err := r.begin(who, proof{credential: r.console.Tokens.Digest(), at: r.console.Now()}); err != nil {
		return err
	}
	return r.redirect(view.Next)
}

// linkPage asks before it uses a one-time link, because programs that preview links would use it up.
func (r *request) linkPage() error {
	return r.write(http.StatusOK, "signin", signInView{Link: true, Code: r.URL.Query().Get("code"), Next: admin.ConsolePath})
}

func (r *request) useLink() error {
	if err := r.ParseForm(); err != nil {
		return errForm
	}
	l, err := r.takeCode(r.PostForm.Get("code"))
	if err != nil {
		if errors.Is(err, errStore) {
			return err
		}
		_ = r.credentialRefused(err)
		return r.write(http.StatusForbidden, "signin", r.signInView("",
			"The link was used before, or it has expired. Run uimgate console to get another."))
	}
	who := r.as(l.Name, l.Role, "link")
	if err := r.begin(who, proof{at: r.console.Now()}); err != nil {
		return err
	}
	return r.redirect(admin.ConsolePath)
}

// credentialRefused counts and logs a refused token or code, with the address that it came from. It returns the refusal.
func (r *request) credentialRefused(err error) *reason.Refusal {
	if errors.Is(err, errCode) {
		err = reason.InvalidToken.Refusal("The code of the console is wrong.")
	}
	f := admin.RefusalFor(err)
	if r.console.Shed != nil {
		r.console.Shed(f.Shed)
	}
	r.console.Log.Warn("console sign-in refused", zap.String("page", r.Pattern), zap.String("reason", string(f.Reason)),
		zap.String("address", r.peer().String()), zap.String("by", r.caller.Name))
	return f
}

// checkToken returns a refusal if a string is not the admin token, or if too many wrong ones came from the address.
func (r *request) checkToken(text string) error {
	if err := r.console.Tokens.Throttled(r.peer()); err != nil {
		return err
	}
	return r.console.Tokens.Check(r.peer(), text)
}

// errCode means that a one-time code is wrong.
var errCode = errors.New("the code is wrong")

// takeCode uses up a one-time code. A wrong code does not delay further attempts from its address: a code of 128 bits cannot be guessed,
// and other people may have the same address, such as that of the machine.
func (r *request) takeCode(code string) (store.ConsoleLink, error) {
	if !signin.IsConsoleCode(code) {
		return store.ConsoleLink{}, errCode
	}
	l, err := r.console.Store.TakeConsoleLink(r.Context(), signin.ConsoleCode(code))
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.ConsoleLink{}, errCode
	case err != nil:
		return store.ConsoleLink{}, errors.Join(errStore, err)
	}
	return l, nil
}

func (r *request) signOut() error {
	if err := r.console.Store.EndConsoleSession(r.Context(), r.session.ID); err != nil {
		return errors.Join(errStore, err)
	}
	r.setCookie("", -1)
	r.console.Operator.SignIn.SignedOut(r.caller, r.peer())
	if r.signedOutOf() {
		return nil
	}
	return r.redirect(admin.ConsolePath + "signin")
}

// nextOf returns the address of a page of the console, or that of the overview if text is another address.
func nextOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || strings.ContainsAny(text, "\\\r\n\t") {
		return admin.ConsolePath
	}
	page, ok := strings.CutPrefix(u.EscapedPath(), admin.ConsolePath)
	if !ok || strings.HasPrefix(page, "signin") || strings.HasPrefix(page, "oidc") {
		return admin.ConsolePath
	}
	return (&url.URL{Path: u.Path, RawPath: u.RawPath, RawQuery: u.RawQuery}).String()
}

func (r *request) redirect(to string) error {
	http.Redirect(r.w, r.Request, to, http.StatusSeeOther)
	return nil
}
