package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/gateway/service"
)

const consentsRoute = service.ConsentsPath

// own handles GET /oauth/consents: it shows the consents that this browser gave.
func (d *Door) own(q *request) error { return d.showOwn(q, nil) }

// showOwn responds with the consents that this browser gave. rejected may be nil.
func (d *Door) showOwn(q *request, rejected *page.RejectedChange) error {
	p, browser := d.page(q.Service.Definition), q.cookie()
	var list []consent.OwnConsent
	var err error
	if validCookie(browser) {
		list, err = d.consents.Own(q.r.Context(), q.AgreeCall(), digestOf(browser))
	}
	if err != nil {
		return err
	}
	fields := func(handle, ticket string) []page.Field {
		return []page.Field{{Name: memberID, Value: handle}, {Name: memberTicket, Value: ticket}}
	}
	body, err := p.Own(list, page.OwnForms{
		End: func(handle string) []page.Field { return fields(handle, endTicket(browser, handle)) },
		Change: func(handle string, changes int) []page.Field {
			return fields(handle, changeTicket(browser, handle, changes))
		},
	}, rejected)
	if err == nil {
		q.writePage(http.StatusOK, body, "")
	}
	return err
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

// changeTicket is like endTicket, for the form that changes a budget. changes is how often the budget was changed before.
func changeTicket(browser, handle string, changes int) string {
	return browserMAC(browser, "budget", handle, strconv.Itoa(changes))
}

// decideOwn handles POST /oauth/consents, which ends a consent of this browser or changes its budget.
func (d *Door) decideOwn(q *request) error {
	form, err := readForm(q)
	browser, id := q.cookie(), form.Get(memberID)
	site := q.r.Header.Get("Sec-Fetch-Site")
	switch {
	case err != nil:
	case site != "" && site != "same-origin", !validCookie(browser):
		err = errOtherForm
	case form.Get(memberDecision) == "change":
		return d.changeOwn(q, form, browser)
	case form.Get(memberDecision) != "end", !hmac.Equal([]byte(endTicket(browser, id)), []byte(form.Get(memberTicket))):
		err = errOtherForm
	default:
		err = d.consents.EndOwn(q.r.Context(), q.AgreeCall(), id, digestOf(browser))
	}
	if err != nil {
		return err
	}
	return q.toOwn()
}

var errOtherForm = &consent.Error{
	Code: consent.AccessDenied, Description: "This form can be sent only from its own page, in the same browser.",
}

func (q *request) toOwn() error {
	q.w.Header().Set("Location", "consents")
	q.w.WriteHeader(http.StatusSeeOther)
	return nil
}

// changeOwn changes the budget of a consent of this browser.
func (d *Door) changeOwn(q *request, form url.Values, browser string) error {
	id := form.Get(memberID)
	own, err := d.consents.OwnConsent(q.r.Context(), q.AgreeCall(), id, digestOf(browser))
	if err != nil {
		return err
	}
	rejected := &page.RejectedChange{Handle: id, Amount: form.Get(memberBudget), PerCall: form.Get(memberPerCall)}
	ticket, shown := []byte(form.Get(memberTicket)), own.Changes
	for shown > 0 && !hmac.Equal([]byte(changeTicket(browser, id, shown)), ticket) { // at most store.MaxBudgets rounds
		shown--
	}
	switch {
	case !hmac.Equal([]byte(changeTicket(browser, id, shown)), ticket):
		return errOtherForm
	case own.Offer == nil || own.Budget == nil:
		return &consent.Error{Code: consent.InvalidRequest, Description: "The budget of this consent can no longer be changed."}
	}
	spending := page.BudgetInput{
		May: true, Amount: strings.TrimSpace(rejected.Amount), Period: string(own.Budget.Period), PerCall: strings.TrimSpace(rejected.PerCall),
		Entries: own.Budget.Intents,
	}
	budget, wrong := budgetOf(spending, &consent.BudgetChoice{BudgetOffer: *own.Offer})
	if isZero(spending.Amount, own.Budget.Currency) { // the consent stays, and costs nothing
		none := *own.Budget
		none.Nano, none.PerCall.Nano = 0, 0
		budget, wrong = &none, ""
	}
	switch {
	case wrong != "":
		rejected.Wrong = wrong
	case budget.Amount == own.Budget.Amount && budget.PerCall == own.Budget.PerCall: // sent twice, or nothing to change
		return q.toOwn()
	case shown != own.Changes:
		rejected.Wrong = "The budget has been changed since you opened the page. Check it, and change it again."
	default:
		err = d.consents.ChangeBudget(q.r.Context(), q.AgreeCall(), &own, consent.NewBudget{
			Amount: budget.Amount, PerCall: budget.PerCall, Address: network(q.Caller.Address), UserAgent: q.r.UserAgent(),
		})
		failed, ok := errors.AsType[*consent.Error](err)
		switch {
		case err == nil:
			return q.toOwn()
		case !ok || failed.Code != consent.InvalidGrant:
			return err
		}
		rejected.Wrong = failed.Description
	}
	return d.showOwn(q, rejected)
}
