package oauth

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/page"
)

// redirect redirects the browser to the client, with the given parameters. See RFC 6749, section 4.1.2; RFC 9207, section 2.
func (q *request) redirect(to, state string, pairs ...string) {
	q.send(q.location(to, state, pairs...))
}

// location returns a redirect URI with parameters for the client. pairs are names followed by their values.
func (q *request) location(to, state string, pairs ...string) string {
	values := url.Values{"iss": {issuer(q.Service.Definition)}}
	if state != "" {
		values.Set("state", state)
	}
	for pair := range slices.Chunk(pairs, 2) {
		values.Set(pair[0], pair[1])
	}
	separator := "?"
	if strings.Contains(to, "?") {
		separator = "&"
	}
	return to + separator + values.Encode()
}

func (q *request) send(location string) {
	h := q.w.Header()
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Location", location)
	q.w.WriteHeader(http.StatusSeeOther)
}

// failPage redirects the browser to the client if err is a *clientError. Otherwise it responds with a page that shows the error to the
// person.
func (q *request) failPage(p *page.Consent, err error) {
	to, redirected := errors.AsType[*clientError](err)
	if redirected {
		err = to.error
	}
	q.Refusal = consent.RefusalOf(err)
	if redirected {
		q.send(to.url)
		return
	}
	_, _, status := errorCode(err)
	description := q.Refusal.Message
	heading := "This request failed"
	if own, ok := errors.AsType[*consent.Error](err); ok {
		description, status = own.Description, http.StatusBadRequest
		if own.Code == consent.AccessDenied || own.Code == consent.UnauthorizedClient {
			status = http.StatusForbidden
		}
	}
	body, err := p.Failed(heading, description, q.back)
	if err != nil {
		q.w.WriteHeader(http.StatusInternalServerError)
		return
	}
	q.writePage(status, body, "")
}

func (q *request) writePage(status int, body []byte, redirectURI string) {
	q.writeSecured(status, body, page.ConsentSecurity(redirectURI))
}

// writeSecured responds with a page and its Content-Security-Policy.
func (q *request) writeSecured(status int, body []byte, security string) {
	h := q.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", security)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	q.w.WriteHeader(status)
	if q.r.Method != http.MethodHead {
		_, _ = q.w.Write(body)
	}
}
