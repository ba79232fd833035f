package config

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// authorization is the header that basic and oauth2 set.
const authorization = "Authorization"

// checkAuth checks the credentials for an upstream, and sets Sent to the headers that result from header, headers and basic.
func (l *loader) checkAuth(path string, u *Upstream) {
	a := &u.Auth
	a.Sent = map[string]Secret{}
	l.checkAuthHeader(path, a)
	for _, name := range slices.Sorted(maps.Keys(a.Headers)) {
		at := path + ".headers[" + strconv.Quote(name) + "]"
		text, ok := strictjson.ScalarText(a.Headers[name].Tree())
		if !ok || strings.TrimSpace(text) == "" || !printable(text) {
			l.Errorf(at, "cannot be in a header: want text or a number, on one line")
		} else if canonical, ok := l.header(at, name); ok {
			l.send(path, a, canonical, strings.TrimSpace(text))
		}
	}
	if text := a.Basic.Reveal(); text != "" {
		if user, _, found := strings.Cut(text, ":"); !found || user == "" || !printable(text) {
			l.Errorf(path+".basic", `want "user:password", on one line`)
		} else {
			l.send(path, a, authorization, "Basic "+base64.StdEncoding.EncodeToString([]byte(text)))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(a.Query)) {
		l.checkFixedAt(path+".query["+strconv.Quote(key)+"]", Place{InQuery, key}, a.Query[key])
	}
	for _, key := range slices.Sorted(maps.Keys(a.Body)) {
		l.checkFixedAt(path+".body["+strconv.Quote(key)+"]", BodyPlace(key), a.Body[key])
	}
	l.checkOAuth2(path, u)
}

func (l *loader) checkAuthHeader(path string, a *Auth) {
	text := a.Header.Reveal()
	if text == "" {
		return
	}
	name, value, found := strings.Cut(text, ":")
	value = strings.TrimSpace(value)
	if !found || value == "" || !printable(value) {
		l.Errorf(path+".header", `want "Name: value", on one line`)
		return
	}
	if !fieldName().MatchString(name) { // an invalid name may be the secret itself
		l.Errorf(path+".header", `want "Name: value": the text before the colon is not a header name`)
		return
	}
	if canonical, ok := l.header(path+".header", name); ok {
		l.send(path, a, canonical, value)
	}
}

// send adds a header to Sent. It reports an error if the header already has a value.
func (l *loader) send(path string, a *Auth, name, value string) {
	if _, taken := a.Sent[name]; taken {
		l.Errorf(path, "sets the %s header twice: give one value", name)
		return
	}
	a.Sent[name] = NewSecret(value)
}

func (l *loader) checkOAuth2(path string, u *Upstream) {
	o, at := &u.Auth.OAuth2, path+".oauth2"
	if o.TokenURL == nil {
		if o.ClientID != "" || !o.ClientSecret.IsEmpty() || len(o.Scopes) > 0 {
			l.Errorf(at+".token_url", "is required with client_id, client_secret or scopes")
		}
		return
	}
	if o.ClientID == "" {
		l.Errorf(at+".client_id", "is required with token_url")
	}
	if o.ClientSecret.IsEmpty() {
		l.Errorf(at+".client_secret", "is required with token_url")
	}
	host := o.TokenURL.Hostname()
	if o.TokenURL.Scheme != "https" && !loopback(host) && (u.URL == nil || host != u.URL.Hostname()) {
		l.Errorf(at+".token_url", "must be https: the client secret is sent to it")
	}
	for i, scope := range o.Scopes { // RFC 6749 3.3
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			l.Errorf(at+".scopes["+strconv.Itoa(i)+"]", `is not a scope: want visible ASCII without " and \`)
		}
	}
	if _, taken := u.Auth.Sent[authorization]; taken {
		l.Errorf(path, "sets the %s header, which oauth2 sets too: give only one of them", authorization)
	}
}

// BodyPlace returns the place of a member of each request body. The key is the member's name, or a JSON pointer, which begins with /.
func BodyPlace(key string) Place {
	if strings.HasPrefix(key, "/") {
		return Place{InBody, key}
	}
	return Place{InBody, "/" + strictjson.Escape(key)}
}
