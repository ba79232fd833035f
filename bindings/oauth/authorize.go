package oauth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/gateway/consent"
	"github.com/uimgate/uimgate/gateway/page"
	"github.com/uimgate/uimgate/pat"
)

// Members of the form that are not parameters of the authorization request.
const (
	memberRequested  = "requested" // scope of the authorization request; the member scope is the scope that the person permits
	memberTicket     = "ticket"
	memberDecision   = "decision"
	memberInvitation = "invitation"
	memberPlan       = "plan"
	memberEarlier    = "earlier" // handle of the earlier consent that the page mentions
)

func queryOf(v url.Values, scope string) consent.Query {
	return consent.Query{
		ResponseType: v.Get("response_type"), ClientID: v.Get("client_id"), RedirectURI: v.Get("redirect_uri"),
		Challenge: v.Get("code_challenge"), ChallengeMethod: v.Get("code_challenge_method"), State: v.Get("state"),
		Scope: v.Get(scope), Resource: v.Get("resource"),
	}
}

// fieldsOf returns the hidden members of the form, which repeat the authorization request.
func fieldsOf(q consent.Query) []page.Field {
	return []page.Field{
		{Name: "response_type", Value: q.ResponseType},
		{Name: "client_id", Value: q.ClientID},
		{Name: "redirect_uri", Value: q.RedirectURI},
		{Name: "code_challenge", Value: q.Challenge},
		{Name: "code_challenge_method", Value: q.ChallengeMethod},
		{Name: "state", Value: q.State},
		{Name: memberRequested, Value: q.Scope},
		{Name: "resource", Value: q.Resource},
	}
}

// A question is an authorization request that a person must decide on.
type question struct {
	*request
	query         consent.Query
	authorization *consent.Request
	page          *page.Consent
	shown         page.Shown
	now           time.Time
	browser       string // the value of the cookie, which is secret
}

// question reads and checks an authorization request. scope is the name of the value that holds the requested scope.
func (d *Door) question(q *request, values url.Values, scope string) (*question, error) {
	x := &question{
		request: q, query: queryOf(values, scope), page: d.page(q.Service.Definition), now: d.now(), browser: q.cookie(),
	}
	var err error
	x.authorization, err = d.consents.Ask(q.r.Context(), q.AgreeCall(), x.query, d.fetcher(q.Service.Definition))
	return x, x.refuse(err, false)
}

// prepare renders the content of the page. It compares the policy with that of an earlier consent: the one whose handle is the argument
// earlier or, if newest is set, the last one that this browser gave the client.
func (d *Door) prepare(x *question, earlier string, newest bool) (err error) {
	ctx := x.r.Context()
	x.authorization.Earlier = nil
	if validCookie(x.browser) && (newest || earlier != "") {
		if newest {
			earlier = ""
		}
		x.authorization.Earlier, err = d.consents.Earlier(ctx, x.AgreeCall(), x.authorization, digestOf(x.browser), earlier)
	}
	if err == nil {
		x.shown, err = x.page.Shown(ctx, x.authorization)
	}
	return x.refuse(err, true)
}

// A clientError is an error that the client receives at a URL.
type clientError struct {
	error
	url string
}

// refuse returns an error as a *clientError if the client may receive it, and otherwise unchanged, for the person. Anyone can register a
// client with any redirect URI, so an error before the person has seen the consent page does not redirect the browser: the error page has a
// link instead. A redirect URI on the person's own machine is the exception. See RFC 9700, section 4.11.2.
func (x *question) refuse(err error, seen bool) error {
	own, ok := errors.AsType[*consent.Error](err)
	if !ok || !own.ToClient || x.authorization == nil {
		return err
	}
	to := x.authorization
	location := x.location(to.RedirectURI, to.State, "error", string(own.Code), "error_description", ascii(own.Description))
	host, local := consent.SentTo(to.RedirectURI)
	if seen || local {
		return &clientError{err, location}
	}
	x.back = page.Link{To: host, URL: location}
	return err
}

// ask handles GET /oauth/authorize: it shows the consent page. See RFC 6749, section 4.1.1.
func (d *Door) ask(q *request) error {
	values, err := url.ParseQuery(q.r.URL.RawQuery)
	if err == nil {
		err = once(values)
	} else {
		err = &consent.Error{Code: consent.InvalidRequest, Description: "The query is malformed."}
	}
	if err != nil {
		return err
	}
	x, err := d.question(q, values, "scope")
	if err != nil {
		return err
	}
	return d.showNewest(x, false)
}

// showNewest responds with the consent page, with what has changed since the last consent of the browser. changed is as in show.
func (d *Door) showNewest(x *question, changed bool) error {
	if err := d.prepare(x, "", true); err != nil {
		return err
	}
	return x.show(changed, "")
}

// show responds with the consent page. It sets a new cookie if the browser has no valid one. changed and wrong are as in page.Consent.Ask.
func (x *question) show(changed bool, wrong string) error {
	if !validCookie(x.browser) {
		x.browser = newCookie()
		x.setCookie(x.browser, 0)
	}
	fields := append(fieldsOf(x.query), page.Field{Name: memberTicket, Value: x.ticket(rand.Text())})
	if e := x.authorization.Earlier; e != nil {
		fields = append(fields, page.Field{Name: memberEarlier, Value: e.Handle})
	}
	body, err := x.page.Ask(x.shown, fields, x.authorization.Invited || x.authorization.Approved, changed, wrong, x.now)
	if err == nil {
		x.writePage(http.StatusOK, body, x.authorization.RedirectURI)
	}
	return err
}

// ticket returns a MAC that binds the form to the browser, the request, the content that was shown, and one display of that content,
// which nonce identifies. Other sites cannot compute a ticket, because they do not have the cookie.
func (x *question) ticket(nonce string) string {
	mac := hmac.New(sha256.New, []byte(x.browser))
	for _, f := range append(fieldsOf(x.query), page.Field{Name: "shown", Value: x.shown.Digest}, page.Field{Name: "nonce", Value: nonce}) {
		mac.Write([]byte(f.Name + "=" + url.QueryEscape(f.Value) + "\n"))
	}
	return nonce + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// seed returns the seed of a decision. It is derived from the cookie, the ticket of the form, and the permissions that the person gives.
func (x *question) seed(ticket string, scope []string, plan string, s page.BudgetInput) (seed consent.Seed) {
	mac := hmac.New(sha512.New, []byte(x.browser))
	texts := append([]string{"decision", ticket}, scope...)
	if plan != "" {
		texts = append(texts, "plan", plan)
	}
	if s.May {
		texts = append(texts, "spend", s.Amount, s.Period, s.PerCall)
		texts = append(texts, s.Entries...)
	}
	for _, text := range texts {
		mac.Write([]byte(url.QueryEscape(text) + "\n"))
	}
	copy(seed[:], mac.Sum(nil))
	return seed
}

// decide handles POST /oauth/authorize, which contains the person's decision.
func (d *Door) decide(q *request) error {
	if site := q.r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return &consent.Error{Code: consent.AccessDenied, Description: "This form can be sent only from its own page."}
	}
	form, err := readForm(q, "scope", memberPay)
	if err != nil {
		return err
	}
	x, err := d.question(q, form, memberRequested)
	if err == nil {
		err = d.prepare(x, form.Get(memberEarlier), false)
	}
	if err != nil {
		return err
	}
	ticket := form.Get(memberTicket)
	nonce, _, _ := strings.Cut(ticket, ".")
	if !validCookie(x.browser) || !hmac.Equal([]byte(x.ticket(nonce)), []byte(ticket)) {
		return d.showNewest(x, true)
	}
	spending := spendingOf(form)
	plan := form.Get(memberPlan)
	chosen, err := x.shown.Leaving(form["scope"], plan, spending) // in case the page must be shown again
	if err != nil {
		return err
	}
	x.shown = chosen
	switch form.Get(memberDecision) {
	case "agree":
	case "leave":
		x.redirect(x.authorization.RedirectURI, x.authorization.State, "error", string(consent.AccessDenied),
			"error_description", "The person did not agree.")
		return nil
	default:
		return x.show(false, "Please agree, or leave without agreeing.")
	}
	if !x.offers(form, plan) {
		return x.show(false, "Choose a plan for the client.")
	}
	budget, wrong := budgetOf(spending, x.authorization.Budget)
	if wrong != "" {
		return x.show(false, wrong)
	}
	step, err := d.consents.Agree(q.r.Context(), q.AgreeCall(), x.authorization, consent.Decision{
		Scope: form["scope"], Budget: budget, Plan: plan, Page: x.shown.Digest, Browser: digestOf(x.browser), Address: network(q.Caller.Address),
		UserAgent: q.r.UserAgent(), Invitation: strings.TrimSpace(form.Get(memberInvitation)),
		Seed: x.seed(ticket, form["scope"], plan, spending),
	})
	return x.agreed(step, err)
}

// offers reports whether the page offered the choice of plan in a form.
func (x *question) offers(form url.Values, plan string) bool {
	r := x.authorization
	switch {
	case len(r.Plans) == 0:
		return plan == ""
	case plan == "":
		return r.NoPlan && form.Has(memberPlan)
	}
	return slices.Contains(r.Plans, plan)
}

// agreed responds to a decision to agree, with the step that follows or with the error.
func (x *question) agreed(step consent.Step, err error) error {
	if err == nil { // so that the page can show what has changed if the client asks again
		x.setCookie(x.browser, x.Service.Announced().Consent.For)
	}
	own, _ := errors.AsType[*consent.Error](err)
	switch {
	case err == nil && step.Code != "":
		x.redirect(step.RedirectURI, step.State, "code", step.Code)
	case err == nil:
		x.w.Header().Set("Location", "wait?"+url.Values{"id": {step.Handle}}.Encode())
		x.w.WriteHeader(http.StatusSeeOther)
	case own != nil && own.Code == consent.InvalidGrant: // the terms have changed in the meantime
		return x.show(true, "")
	case own != nil && own.Code == consent.InvalidScope:
		return x.show(false, "Select at least one thing that the client may do, or leave without agreeing.")
	case own != nil && own.Code == consent.AccessDenied && (x.authorization.Invited || x.authorization.Approved):
		return x.show(false, "This service asks for an invitation. Enter one that is valid and has not been used.")
	default:
		return err
	}
	return nil
}

// wait handles GET /oauth/wait. It redirects to the client once the operator has approved the agent, and shows a waiting page until then.
func (d *Door) wait(q *request) error {
	browser := q.cookie()
	if !validCookie(browser) {
		return &consent.Error{Code: consent.InvalidRequest, Description: "No consent from this browser is waiting for approval."}
	}
	step, err := d.consents.Wait(q.r.Context(), q.AgreeCall(), q.r.URL.Query().Get("id"), digestOf(browser))
	if err != nil {
		x := &question{request: q}
		if step.RedirectURI != "" {
			x.authorization = &consent.Request{RedirectURI: step.RedirectURI, State: step.State}
		}
		return x.refuse(err, true)
	}
	if step.Code != "" {
		q.redirect(step.RedirectURI, step.State, "code", step.Code)
		return nil
	}
	body, err := d.page(q.Service.Definition).Waiting(step.AgentID)
	if err == nil {
		q.writePage(http.StatusOK, body, "")
	}
	return err
}

func digestOf(secret string) string { return pat.DigestOf([]byte(secret)) }

// network returns the network of an address: /24 for IPv4, /48 for IPv6, or "" if the address is invalid. A record of consent needs no
// higher precision.
func network(a netip.Addr) string {
	bits := 24
	if a.Is6() {
		bits = 48
	}
	prefix, err := a.Prefix(bits)
	if err != nil {
		return ""
	}
	return prefix.String()
}
