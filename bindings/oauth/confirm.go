package oauth

import (
	"crypto/hmac"
	"net/http"
	"net/url"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/execute"
	"github.com/uimgate/uimgate/gateway/page"
)

const confirmRoute = execute.ConfirmPath

// memberID is the id of a confirmation, in the query of the page and in its form.
const memberID = "id"

// A decision is a call that a person is asked to confirm.
type decision struct {
	*request
	page    *page.Consent
	asked   *consent.Confirmation
	call    page.Call
	browser string // the value of the cookie, which is secret
}

// decision reads the call with an id.
func (d *Door) decision(q *request, id string) (_ *decision, err error) {
	x := &decision{request: q, page: d.page(q.Service.Definition), browser: q.cookie()}
	browser := ""
	if validCookie(x.browser) {
		browser = digestOf(x.browser)
	}
	if x.asked, err = d.consents.Confirmation(q.r.Context(), q.AgreeCall(), id, browser); err == nil {
		x.call, err = x.page.Call(x.asked)
	}
	return x, err
}

// confirm handles GET /oauth/confirm: it shows a call that a person can confirm, and its state. It changes nothing.
func (d *Door) confirm(q *request) error {
	values, err := url.ParseQuery(q.r.URL.RawQuery)
	if err != nil {
		values = nil
	}
	return d.showCall(q, values.Get(memberID), false)
}

// showCall responds with the page about the call with an id.
func (d *Door) showCall(q *request, id string, changed bool) error {
	x, err := d.decision(q, id)
	if err != nil {
		return err
	}
	fields := []page.Field{{Name: memberID, Value: x.asked.Asked.ID}, {Name: memberTicket, Value: x.mac("ticket", x.call.Digest)}}
	body, err := x.page.Confirmation(x.asked, x.call, fields, x.token(), changed)
	if err == nil {
		x.writeSecured(http.StatusOK, body, page.ConfirmSecurity())
	}
	return err
}

// mac returns a MAC that only this browser can cause the gateway to compute: it binds a string to the cookie and to the call.
func (x *decision) mac(purpose, text string) string {
	return browserMAC(x.browser, "confirmation", purpose, x.asked.Asked.ID, x.asked.Asked.Binding, text)
}

// token returns the token for clients of UIM. Only the browser can obtain it, because it is derived from the cookie.
func (x *decision) token() string { return x.mac("token", "") }

// decideCall handles POST /oauth/confirm, which contains the person's decision about a call.
func (d *Door) decideCall(q *request) error {
	form, err := readForm(q)
	if err != nil {
		return err
	}
	id := form.Get(memberID)
	if site := q.r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		if err = d.consents.Miss(q.r.Context(), q.AgreeCall(), id); err == nil {
			err = &consent.Error{Code: consent.AccessDenied, Description: "This form can be sent only from its own page."}
		}
		return err
	}
	x, err := d.decision(q, id)
	if err != nil {
		q.failPage(d.page(q.Service.Definition), err)
		if err := d.consents.Miss(q.r.Context(), q.AgreeCall(), id); err != nil {
			q.Refusal = consent.RefusalOf(err)
		}
		return nil
	}
	confirmed := form.Get(memberDecision) == "confirm"
	valid := confirmed || form.Get(memberDecision) == "refuse"
	if !valid || !hmac.Equal([]byte(x.mac("ticket", x.call.Digest)), []byte(form.Get(memberTicket))) {
		if err := d.consents.Miss(q.r.Context(), q.AgreeCall(), id); err != nil {
			return err
		}
		return d.showCall(q, id, true)
	}
	if x.asked.State == consent.ToDecide {
		err = d.consents.Decide(q.r.Context(), q.AgreeCall(), x.asked, consent.ConfirmationDecision{
			Confirm: confirmed, Page: x.call.Digest, Token: digestOf(x.token()), Address: network(q.Caller.Address), UserAgent: q.r.UserAgent(),
		})
	}
	if err != nil {
		return err
	}
	q.w.Header().Set("Location", "confirm?"+url.Values{memberID: {id}}.Encode()) // so that reloading the page sends no form
	q.w.WriteHeader(http.StatusSeeOther)
	return nil
}
