package upstream

import (
	"errors"
	"fmt"
	"net/textproto"
	"net/url"
	"strings"
)

// An AuthHeader is a header that authenticates the gateway to the service. String and GoString do not reveal its value.
type AuthHeader struct{ Name, Value string }

func (a AuthHeader) String() string { return hidden(a.Name) }

// GoString prevents %#v from printing the value.
func (a AuthHeader) GoString() string { return hidden(a.Name) }

func hidden(set string) string {
	if set == "" {
		return "(none)"
	}
	return "(hidden)"
}

// OAuth2 configures access tokens that are obtained with client credentials (RFC 6749 4.4). String and GoString do not reveal the secret.
type OAuth2 struct {
	TokenURL               *url.URL // nil: no access tokens
	ClientID, ClientSecret string
	Scopes                 []string
}

func (o OAuth2) String() string { return hidden(o.ClientID) }

// GoString prevents %#v from printing the secret.
func (o OAuth2) GoString() string { return hidden(o.ClientID) }

// owned are the headers that this package sets or that control the connection. The configuration must not replace them.
var owned = map[string]bool{
	"host": true, "content-length": true, "content-type": true, "content-encoding": true, "transfer-encoding": true,
	"connection": true, "keep-alive": true, "te": true, "trailer": true, "upgrade": true, "expect": true,
	"accept": true, "accept-encoding": true, "user-agent": true, "traceparent": true,
}

// usable reports whether the configuration may set a header with this name.
func usable(name string) bool {
	lower := strings.ToLower(name)
	return isToken(name) && !owned[lower] && !strings.HasPrefix(lower, "uim-") && !strings.HasPrefix(lower, "proxy-")
}

// authorization is the name of the header for OAuth2.
const authorization = "Authorization"

// setCredentials checks the credentials and prepares their headers. The error does not contain values.
func (u *Upstream) setCredentials() error {
	key := textproto.CanonicalMIMEHeaderKey(u.cfg.IdempotencyHeader)
	if key != "" && !usable(key) {
		return fmt.Errorf("upstream idempotency_header: %q cannot be used", key)
	}
	for _, a := range u.cfg.AuthHeaders {
		name := textproto.CanonicalMIMEHeaderKey(a.Name)
		switch {
		case !usable(a.Name) || name == key:
			return fmt.Errorf("upstream auth.header: the name %q cannot be used", a.Name)
		case a.Value == "" || !isHeaderValue(a.Value):
			return errors.New("upstream auth.header: the value is empty or contains control characters")
		case u.auth.Get(name) != "":
			return fmt.Errorf("upstream auth: the %q header has two values", name)
		}
		u.auth.Set(name, a.Value)
		u.credentials = append(u.credentials, headerSecrets(a.Value)...)
	}
	o := u.cfg.OAuth2
	switch {
	case o.TokenURL == nil:
		return nil
	case key == authorization:
		return errors.New("upstream idempotency_header: Authorization cannot be used, because it contains the credential")
	case u.auth.Get(authorization) != "":
		return errors.New("upstream auth: the Authorization header has two values")
	case o.ClientID == "" || o.ClientSecret == "" || o.TokenURL.Hostname() == "":
		return errors.New("upstream auth.oauth2: client_id, client_secret or the host of token_url is missing")
	}
	u.tokens, u.credentials = newTokens(u.cfg), append(u.credentials, o.ClientSecret)
	return nil
}

// isCredential reports whether a header contains a credential of the configuration.
func (u *Upstream) isCredential(name string) bool {
	return u.auth.Get(name) != "" || u.tokens != nil && strings.EqualFold(name, authorization)
}
