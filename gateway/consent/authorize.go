package consent

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	maxState      = 2048 // bytes
	maxUserAgent  = 256  // characters
	maxInvitation = 64   // bytes
	challengeSize = 43   // base64url of SHA-256
)

// A Query holds the parameters of an authorization request as received (RFC 6749 4.1.1, RFC 7636 4.3, RFC 8707 2).
type Query struct {
	ResponseType, ClientID, RedirectURI, Challenge, ChallengeMethod, State, Scope, Resource string
}

// A Request is a valid authorization request, which a person can accept or deny.
type Request struct {
	Client      Client
	RedirectURI string
	State       string
	Challenge   string
	Resource    string
	Scope       pat.Scope // the scope that can be granted, and the omitted entries
	Policy      pat.Offer
	// Budget bounds what the person may permit the client to spend. nil: the client can spend nothing.
	Budget *BudgetChoice
	// Plans are the plans of the policy that include a part of the scope, in the order of the policy. If NoPlan is true, a consent without a
	// plan also includes a part of the scope. Plans is empty if the policy has no plans.
	Plans  []string
	NoPlan bool
	// Invited means that the person needs an invitation of the operator. Approved means that the operator must approve the consent.
	Invited, Approved bool
	// Earlier is the earlier consent of the same browser for this client, if the policy has changed since; otherwise nil. See Service.Earlier.
	Earlier *Earlier
}

// A BudgetChoice describes the budgets that a person may give to a client.
type BudgetChoice struct {
	service.BudgetOffer

	Entries []string // scope entries of the intents that may be charged, at most pat.MaxBudgetIntents; some of them may be free
}

// Ask checks an authorization request. Errors are an *Error or a *reason.Refusal. If Ask returns a Request together with an *Error that has
// ToClient set, the client may receive the error, at the redirect URI of the Request and with its state.
func (d *Service) Ask(ctx context.Context, c agree.Call, q Query, fetch Fetch) (*Request, error) {
	if _, err := open(c.Service); err != nil {
		return nil, err
	}
	client, err := d.Client(ctx, c, q.ClientID, fetch)
	if err != nil {
		return nil, err
	}
	uri := q.RedirectURI
	if uri == "" && len(client.Redirects) == 1 && withoutPort(client.Redirects[0]) == "" {
		uri = client.Redirects[0]
	}
	if !client.redirects(uri) {
		return nil, failed(InvalidRequest, "The redirect URI is not one of the client's redirect URIs.")
	}
	if len(q.State) > maxState || !utf8.ValidString(q.State) || strings.ContainsFunc(q.State, unicode.IsControl) { // RFC 6749 A.5
		return nil, failed(InvalidRequest, "state is too long, is not valid UTF-8, or contains control characters.")
	}
	r := &Request{
		Client: client, RedirectURI: uri, State: q.State, Challenge: q.Challenge, Resource: Resource(c.Service.Definition),
		Policy: c.Service.Offer(),
	}
	r.Invited, r.Approved = c.Service.ConsentAdmission()
	return r, d.check(ctx, c, r, q)
}

// check checks the parts of a request whose errors the client may receive, and sets the scope of r.
func (d *Service) check(ctx context.Context, c agree.Call, r *Request, q Query) error {
	text := func(code Code, description string) error { return &Error{code, description, true} }
	switch {
	case q.ResponseType != "code":
		return text(UnsupportedResponseType, "response_type must be code.")
	case q.ChallengeMethod != "S256":
		return text(InvalidRequest, "code_challenge_method must be S256.")
	case !challenge(q.Challenge):
		return text(InvalidRequest, "code_challenge must be the base64url of a SHA-256 digest.")
	case q.Resource != "" && q.Resource != r.Resource:
		return text(InvalidTarget, "resource must be "+r.Resource)
	}
	requested := strings.Fields(q.Scope)
	if len(requested) == 0 || slices.Contains(requested, pat.WholeScope(c.Service.Issuer)) {
		requested = nil
	}
	granted, err := planned(ctx, c, r, requested, nil)
	if r.Budget = d.budgetChoice(ctx, c, requested); r.Budget != nil && err != nil { // every intent may cost money
		if _, refused := errors.AsType[*Error](errorOf(err)); refused {
			granted, err = pat.Scope{Limit: c.Service.TokenRate}, nil
		}
	}
	if own, ok := errors.AsType[*Error](errorOf(err)); ok {
		return text(own.Code, own.Description)
	}
	r.Scope = granted
	return errorOf(err)
}

// budgetChoice returns the budgets that the person may give to the client for the requested intents; nil: none.
func (d *Service) budgetChoice(ctx context.Context, c agree.Call, requested []string) *BudgetChoice {
	offer := c.Service.BudgetOffer()
	if offer == nil {
		return nil
	}
	spends := func(_, currency string) bool { return currency == offer.Max.Currency }
	all, err := planned(ctx, c, new(Request), requested, spends)
	if err != nil {
		return nil
	}
	choice := &BudgetChoice{BudgetOffer: *offer}
	for _, entry := range all.Entries {
		in, err := c.Service.Executable(strings.TrimSuffix(entry, ":execute"))
		if err == nil && len(choice.Entries) < pat.MaxBudgetIntents && c.Service.Charges(ctx, in, offer.Max.Currency) {
			choice.Entries = append(choice.Entries, entry)
		}
	}
	if len(choice.Entries) == 0 {
		return nil
	}
	return choice
}

// within returns an *Error unless a budget is within the bounds that the person was offered. It accepts a nil budget.
func (o *BudgetChoice) within(b *pat.Budget) error {
	switch {
	case b == nil:
		return nil
	case o == nil:
		return failed(InvalidRequest, "The service offers no budget.")
	case b.Check() != nil || b.Nothing():
		return failed(InvalidRequest, "The budget is not valid.")
	case !b.Fits(o.Max):
		return failed(InvalidRequest, "The budget exceeds the maximum of this service, "+o.Max.String()+".")
	case b.PerCall.Nano > o.PerCall.Nano:
		return failed(InvalidRequest, "The amount of one call exceeds the maximum of this service, "+o.PerCall.String()+".")
	case slices.ContainsFunc(b.Intents, func(uid string) bool { return !slices.Contains(o.Entries, uid+":execute") }):
		return failed(InvalidScope, "The budget names an intent that was not shown.")
	}
	return nil
}

func challenge(s string) bool {
	sum, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(s) == challengeSize && len(sum) == sha256.Size
}

// A Decision is a person's decision on the page.
type Decision struct {
	Scope      []string    // entries of Request.Scope that the person permits
	Budget     *pat.Budget // what the client may spend; nil: nothing
	Plan       string      // one of Request.Plans; empty: none
	Page       string      // the digest of the content that the page showed
	Browser    string      // the digest of the cookie that identifies the browser
	Address    string      // the network of the browser
	UserAgent  string
	Invitation string // invitation code as typed; empty: none
	// Seed is a secret of this decision. If the browser sends the form again, Seed is the same, so that Agree stores only one consent with
	// one code.
	Seed Seed
}

// A Step is the result of a decision.
type Step struct {
	Handle string // handle of the consent
	Code   string // code for the client, a secret; empty: the consent waits for the operator
	// RedirectURI is where the browser takes the code, and State is the value that the client sent in its request.
	RedirectURI, State string
	AgentID            pat.AgentID // agent that waits for the operator; only Wait sets it
}

// Agree stores a person's consent. If the form is sent again, Agree returns the same Step until the code is used or expires, and an *Error
// afterwards. Errors are an *Error or a *reason.Refusal.
func (d *Service) Agree(ctx context.Context, c agree.Call, r *Request, by Decision) (Step, error) {
	handle, secret := by.Seed.split()
	step, err, _ := d.agreeing.Do(c.Service.ID+" "+handle, func() (any, error) {
		ctx := context.WithoutCancel(ctx) // a browser that sends the form twice cancels its first request
		if step, err := d.repeated(ctx, c, handle, secret, by.Browser); !errors.Is(err, store.ErrNotFound) {
			return step, errorOf(err)
		}
		return d.agree(ctx, c, r, by, handle, secret)
	})
	return step.(Step), err //nolint:forcetypeassert // both functions return a Step
}

// repeated returns the Step of a decision that is already stored. If there is none, the error is store.ErrNotFound.
func (d *Service) repeated(ctx context.Context, c agree.Call, handle, secret, browser string) (Step, error) {
	kept, err := d.store.Consent(ctx, c.Service.ID, handle)
	step := Step{Handle: handle, RedirectURI: kept.RedirectURI, State: kept.Request}
	switch {
	case err != nil:
		return Step{}, err
	case !same(kept.Browser, browser) || kept.CodeUsed || kept.Code != "" && !d.now().Before(kept.CodeUntil):
		return Step{}, failed(InvalidRequest, "This form was already submitted. Return to the program that sent you here, and start again.")
	case same(kept.Code, digestOf(secret)):
		step.Code = handle + "." + secret
	}
	return step, nil
}

func (d *Service) agree(ctx context.Context, c agree.Call, r *Request, by Decision, handle, secret string) (step Step, err error) {
	began := d.now()
	var a pat.Agreement
	defer func() {
		err = errorOf(err)
		if err != nil || a.State == pat.AgreementPending {
			d.record(c, agree.Agreement, began, pat.Issuance{State: a.State, AgreementID: a.ID}, err)
		}
	}()
	if err := d.ask("consent", c.From); err != nil {
		return Step{}, err
	}
	offered, err := open(c.Service)
	if err != nil {
		return Step{}, err
	}
	for _, entry := range by.Scope {
		if !slices.Contains(r.Scope.Entries, entry) && !slices.Contains(Wide(r.Scope), entry) {
			return Step{}, failed(InvalidScope, "The chosen scope is not part of the scope that was shown.")
		}
	}
	if err := r.Budget.within(by.Budget); err != nil {
		return Step{}, err
	}
	if by.Plan != "" && !slices.Contains(r.Plans, by.Plan) || by.Plan == "" && len(r.Plans) > 0 && !r.NoPlan {
		return Step{}, failed(InvalidRequest, "Choose one of the plans that were shown.")
	}
	to, _ := SentTo(r.RedirectURI)
	request := pat.ConsentRequest{
		ClientID: r.Client.ID, ClientDocument: r.Client.Document, ClientName: r.Client.Name, RedirectHost: to, Resource: r.Resource,
		PolicyDigest: r.Policy.Digest, Scope: by.Scope, Budget: by.Budget, Plan: by.Plan, Page: by.Page, Address: by.Address,
		UserAgent: plain(by.UserAgent, maxUserAgent),
		Admit:     func() error { return d.keep(strangers) }, Once: handle,
	}
	if request.Agent, err = d.planHolder(ctx, c, r, by.Browser); err != nil {
		return Step{}, err
	}
	if by.Invitation != "" {
		invitation, taken := d.invitation(ctx, c, by.Invitation)
		if taken != nil {
			return Step{}, taken
		}
		request.Invited, request.Invitation = true, invitation.Name
		request.Admit = func() error { return d.keep(invited) }
		defer func() {
			if err != nil { // restore the invitation, so that the person can try again
				err = errors.Join(err, d.store.AddInvitation(context.WithoutCancel(ctx), invitation))
			}
		}()
	}
	if a, err = c.Service.Issuance.Consent(ctx, request); err != nil {
		return Step{}, err
	}
	until := began.Add(offered.For)
	refresh, _ := newSecret()
	kept := store.Consent{
		Service: c.Service.ID, Handle: handle, RefreshHandle: refresh, AgreementID: a.ID, ClientID: r.Client.ID, Document: r.Client.Document,
		RedirectURI: r.RedirectURI, Challenge: r.Challenge, Resource: r.Resource, Request: r.State, Browser: by.Browser,
		CreatedAt: began, Until: until,
	}
	step = Step{Handle: handle, RedirectURI: r.RedirectURI, State: r.State}
	if a.State == pat.AgreementActive {
		step.Code, kept.Code, kept.CodeUntil = handle+"."+secret, digestOf(secret), began.Add(codeLife)
	}
	if err := d.store.AddConsent(ctx, kept); err != nil {
		return Step{}, err
	}
	if r.Client.Document == "" {
		return step, d.store.KeepClient(ctx, c.Service.ID, r.Client.ID, until.Add(unusedFor))
	}
	return step, nil
}

// invitation removes an invitation from the store, so that no other consent can use it, and returns it. An *Error means that the code is
// not valid.
func (d *Service) invitation(ctx context.Context, c agree.Call, typed string) (store.Invitation, error) {
	if len(typed) > maxInvitation {
		return store.Invitation{}, failed(AccessDenied, "The invitation is not valid, or no longer valid.")
	}
	i, err := d.store.TakeInvitation(ctx, c.Service.ID, digestOf(strings.ToUpper(strings.TrimSpace(typed))))
	if errors.Is(err, store.ErrNotFound) {
		return i, failed(AccessDenied, "The invitation is not valid, or no longer valid.")
	}
	return i, err
}

// Wait returns the state of a consent that needs the approval of the operator, without waiting for that approval. browser must identify the
// browser that gave the consent. Before the approval, the Step has no code. After it, each Step has a new code, which is valid for a minute
// and replaces the previous code. Errors are an *Error or a *reason.Refusal.
func (d *Service) Wait(ctx context.Context, c agree.Call, handle, browser string) (Step, error) {
	unknown := failed(InvalidRequest, "No consent from this browser is waiting for approval.")
	if !random(handle, handleSize) {
		return Step{}, unknown
	}
	kept, err := d.store.Consent(ctx, c.Service.ID, handle)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Step{}, unknown
	case err != nil:
		return Step{}, errorOf(err)
	case !same(kept.Browser, browser) || kept.CodeUsed || !d.now().Before(kept.Until):
		return Step{}, unknown
	}
	step := Step{Handle: handle, RedirectURI: kept.RedirectURI, State: kept.Request}
	denied := &Error{AccessDenied, "The consent has ended, or the operator has rejected it.", true}
	a, err := d.store.Agreement(ctx, c.Service.ID, kept.AgreementID)
	if errors.Is(err, pat.ErrNotFound) || err == nil && (a.State == pat.AgreementRevoked || c.Service.Holds(a.PolicyDigest, "") != nil) {
		return step, denied
	}
	if err != nil {
		return step, errorOf(err)
	}
	agent, err := d.store.Agent(ctx, c.Service.ID, a.AgentID)
	switch {
	case err != nil:
		return step, errorOf(err)
	case agent.Status == pat.AgentBlocked:
		return step, denied
	case a.State == pat.AgreementPending:
		step.AgentID = a.AgentID
		return step, nil
	}
	_, secret := newSecret()
	err = d.store.SetCode(ctx, c.Service.ID, handle, digestOf(secret), d.now().Add(codeLife))
	if errors.Is(err, store.ErrUsed) {
		return Step{}, unknown
	}
	step.Code = handle + "." + secret
	return step, errorOf(err)
}

func same(a, b string) bool { return a != "" && subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
