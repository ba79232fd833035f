package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/service"
)

const consentsRoute = service.ConsentsPath

// own handles GET /oauth/consents: it shows the consents that this browser gave.
func (d *Door) own(q *request) {
	p, browser := d.page(q.Service.Definition), q.cookie()
	var list []consent.OwnConsent
	var err error
	if validCookie(browser) {
		list, err = d.consents.Own(q.r.Context(), q.AgreeCall(), digestOf(browser))
	}
	if err != nil {
		q.failPage(p, err)
		return
	}
	body, err := p.Own(list, func(handle string) []page.Field {
		return []page.Field{{Name: memberID, Value: handle}, {Name: memberTicket, Value: endTicket(browser, handle)}}
	})
	if err != nil {
		q.failPage(p, err)
		return
	}
	q.writePage(http.StatusOK, body, "")
}

// endTicket returns a MAC that binds the form that ends a consent to the browser. Other sites cannot compute it, because they do not have
// the cookie.
func endTicket(browser, handle string) string {
	return browserMAC(browser, "end", handle)
}

// browserMAC returns a MAC over parts, whose key is the value of the cookie that identifies a browser.
func browserMAC(browser string, parts ...string) string {
	mac := hmac.New(sha256.New, []byte(browser))
	for _, part := range parts {
		mac.Write([]byte(url.QueryEscape(part) + "\n"))
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// endOwn handles POST /oauth/consents, which ends a consent of this browser.
func (d *Door) endOwn(q *request) {
	p := d.page(q.Service.Definition)
	form, err := readForm(q)
	if err == nil {
		err = once(form)
	}
	browser, id := q.cookie(), form.Get(memberID)
	site := q.r.Header.Get("Sec-Fetch-Site")
	switch {
	case err != nil:
	case site != "" && site != "same-origin", !validCookie(browser), form.Get(memberDecision) != "end",
		!hmac.Equal([]byte(endTicket(browser, id)), []byte(form.Get(memberTicket))):
		err = &consent.Error{Code: consent.AccessDenied, Description: "This form can be sent only from its own page, in the same browser."}
	default:
		err = d.consents.EndOwn(q.r.Context(), q.AgreeCall(), id, digestOf(browser))
	}
	if err != nil {
		q.failPage(p, err)
		return
	}
	q.w.Header().Set("Location", "consents")
	q.w.WriteHeader(http.StatusSeeOther)
}
