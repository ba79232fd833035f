package console

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/internal/connlimit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/store"
)

// Errors of requests that are refused before an operation runs.
var (
	errNoPage    = errors.New("the console has no such page")
	errSignedOut = errors.New("the browser has no session")
	errForm      = errors.New("the form is not one of this session")
	errForeign   = errors.New("the request comes from another website")
	errStore     = errors.New("the store cannot be reached")
)

// A request is one request of a browser.
type request struct {
	*http.Request

	console *Console
	w       http.ResponseWriter
	secret  string // of the session
	session store.ConsoleSession
	caller  api.Caller
	of      string // the service of the record that the page shows; empty: the page is not about one record
}

// identify finds the session of a request, or returns errSignedOut.
func (r *request) identify() error {
	if err := r.checkOrigin(); err != nil {
		return err
	}
	cookie, err := r.Cookie(cookieName(r.Host))
	if err != nil || len(cookie.Value) > 64 {
		return errSignedOut
	}
	s, err := r.sessionOf(digestOf(cookie.Value))
	if err != nil {
		return err
	}
	r.secret, r.session = cookie.Value, s
	r.caller = r.as(s.Name, s.Role, s.Via)
	now := r.console.Now()
	until := earlier(now.Add(idleTime), s.EndsAt)
	if until.Sub(s.Until) >= time.Minute && r.Pattern != "GET /console/events" { // an open page alone does not keep a session
		if err := r.console.Store.KeepConsoleSession(r.Context(), s.ID, until); errors.Is(err, store.ErrUsed) {
			return errSignedOut
		}
	}
	return nil
}

// sessionOf returns the session with an id, or errSignedOut if it has ended.
func (r *request) sessionOf(id string) (store.ConsoleSession, error) {
	s, err := r.console.Store.ConsoleSession(r.Context(), id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return s, errSignedOut
	case err != nil:
		return s, errors.Join(errStore, err)
	}
	if s.Via == "token" && s.Credential != r.console.Tokens.Digest() || s.Via == viaOIDC && r.console.outdated(s) {
		_ = r.console.Store.EndConsoleSession(r.Context(), s.ID) // after an error, its next request is refused here again
		return s, errSignedOut
	}
	return s, nil
}

// as returns the caller of the operations of this request.
func (r *request) as(name, role, via string) api.Caller {
	return api.Caller{Name: name, Role: api.Role(role), Via: via, RequestID: r.w.Header().Get(admin.HeaderRequestID)}
}

// A proof is how a person has proved who they are.
type proof struct {
	credential string // store.ConsoleSession.Credential
	subject    string // identifies the person at the identity provider; empty: none
	at         time.Time
}

// begin starts a session, and sets its cookie.
func (r *request) begin(who api.Caller, p proof) error {
	secret := random()
	now := r.console.Now()
	s := store.ConsoleSession{
		ID: digestOf(secret), Name: who.Name, Role: string(who.Role), Via: who.Via, Credential: p.credential, CreatedAt: now,
		ConfirmedAt: p.at, EndsAt: now.Add(sessionTime), Until: now.Add(idleTime),
	}
	if old, err := r.Cookie(cookieName(r.Host)); err == nil {
		_ = r.console.Store.EndConsoleSession(r.Context(), digestOf(old.Value)) // after an error, it ends when it expires
	}
	if err := r.console.Store.AddConsoleSession(r.Context(), s); err != nil {
		return errors.Join(errStore, err)
	}
	r.setCookie(secret, int(sessionTime.Seconds()))
	r.console.Operator.SignIn.SignedIn(who, p.subject, r.peer())
	return nil
}

func (r *request) setCookie(value string, age int) {
	http.SetCookie(r.w, &http.Cookie{ //nolint:gosec // the socket and loopback have no TLS
		Name: cookieName(r.Host), Value: value, Path: admin.ConsolePath, MaxAge: age, HttpOnly: true, Secure: r.TLS != nil,
		SameSite: http.SameSiteStrictMode,
	})
}

// cookieName differs between gateways on one machine, because browsers send cookies to all ports of a host.
func cookieName(host string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(host)))
	return "uimgate_console_" + hex.EncodeToString(sum[:4])
}

// checkOrigin returns errForeign for a form of another website.
func (r *request) checkOrigin() error {
	if r.console.origins.Check(r.Request) != nil {
		return errForeign
	}
	if origin := r.Header.Get("Origin"); origin != "" && r.Method == http.MethodPost {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return errForeign
		}
	}
	return nil
}

// checkForm reads the form of a request, and returns errForm unless it has the token for its path.
func (r *request) checkForm() error {
	if err := r.ParseForm(); err != nil {
		return errForm
	}
	if !hmac.Equal([]byte(r.PostForm.Get("csrf")), []byte(r.csrf(r.URL.EscapedPath()))) {
		return errForm
	}
	return nil
}

// maxText is the maximum length of a value of the query and of the id in a path, in bytes.
const maxText = 512

// checkText returns a refusal if a value of the query or the id in the path is not one line of at most maxText bytes. It also refuses a
// form that contains NUL or invalid UTF-8, which PostgreSQL does not store.
func (r *request) checkText() error {
	line := func(s string) bool {
		return len(s) <= maxText && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
	}
	if !line(r.PathValue("id")) {
		return reason.NoSuchRecord.Refusal("")
	}
	for _, values := range r.URL.Query() {
		if !line(strings.Join(values, "")) {
			return reason.MalformedRequest.Refusal(fmt.Sprintf("Each query parameter must be one line of at most %d bytes.", maxText))
		}
	}
	for _, values := range r.PostForm {
		if text := strings.Join(values, ""); !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return reason.MalformedRequest.Refusal("The form contains text that is not valid UTF-8, or a NUL.")
		}
	}
	return nil
}

// csrf returns the token that a form of this session needs for a path.
func (r *request) csrf(path string) string {
	mac := hmac.New(sha256.New, []byte(r.secret))
	mac.Write([]byte("uimgate console form " + path))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// confirmed reports whether the person has recently proved their identity.
func (r *request) confirmed() bool {
	age := r.console.Now().Sub(r.session.ConfirmedAt)
	return age >= 0 && age < confirmTime
}

// peer returns the address that the request comes from.
func (r *request) peer() netip.Addr { return connlimit.Peer(r.RemoteAddr) }

func random() string {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // crypto/rand.Read never fails
	return base64.RawURLEncoding.EncodeToString(secret)
}

func digestOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
