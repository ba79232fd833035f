package upstream

import (
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"slices"
	"strings"
)

func hidden(set string) string {
	if set == "" {
		return "(none)"
	}
	return "(hidden)"
}

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
	for _, given := range slices.Sorted(maps.Keys(u.cfg.AuthHeaders)) {
		name, value := textproto.CanonicalMIMEHeaderKey(given), u.cfg.AuthHeaders[given].Reveal()
		switch {
		case !usable(given) || name == key:
			return fmt.Errorf("upstream auth.header: the name %q cannot be used", given)
		case value == "" || !isHeaderValue(value):
			return errors.New("upstream auth.header: the value is empty or contains control characters")
		case u.auth.Get(name) != "":
			return fmt.Errorf("upstream auth: the %q header has two values", name)
		}
		u.auth.Set(name, value)
		u.credentials = append(u.credentials, headerSecrets(value)...)
	}
	o := u.cfg.OAuth2
	switch {
	case o.TokenURL == nil:
		return nil
	case key == authorization:
		return errors.New("upstream idempotency_header: Authorization cannot be used, because it contains the credential")
	case u.auth.Get(authorization) != "":
		return errors.New("upstream auth: the Authorization header has two values")
	case o.ClientID == "" || o.ClientSecret.IsEmpty() || o.TokenURL.Hostname() == "":
		return errors.New("upstream auth.oauth2: client_id, client_secret or the host of token_url is missing")
	}
	u.tokens, u.credentials = newTokens(u.cfg), append(u.credentials, o.ClientSecret.Reveal())
	return nil
}

// isCredential reports whether a header contains a credential of the configuration.
func (u *Upstream) isCredential(name string) bool {
	return u.auth.Get(name) != "" || u.tokens != nil && strings.EqualFold(name, authorization)
}
