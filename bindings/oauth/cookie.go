package oauth

import (
	"crypto/rand"
	"encoding/base64"
	"net/http"
	"time"
)

const cookieSize = 32 // bytes

// cookieName returns the name of the cookie. With https, the name has a prefix that prevents other hosts of the domain from setting the
// cookie. See RFC 6265bis, section 4.1.3.2.
func (q *request) cookieName() string {
	if q.Service.PublicURL.Scheme == "https" {
		return "__Host-uim-consent"
	}
	return "uim-consent"
}

// cookie returns the value of the cookie that identifies the browser, or "" if the request does not have exactly one such cookie.
func (q *request) cookie() string {
	list := q.r.CookiesNamed(q.cookieName())
	if len(list) != 1 {
		return ""
	}
	return list[0].Value
}

// setCookie sets the cookie that identifies the browser. The browser keeps it for keep or, if keep is 0, until the browser is closed.
func (q *request) setCookie(value string, keep time.Duration) {
	http.SetCookie(q.w, &http.Cookie{ //nolint:gosec // the cookie is Secure unless public_url is http
		Name: q.cookieName(), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: q.Service.PublicURL.Scheme == "https", MaxAge: int(keep / time.Second),
	})
}

func newCookie() string {
	var b [cookieSize]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func validCookie(s string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(b) == cookieSize
}
