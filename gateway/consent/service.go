// Package consent lets people agree to the policy of a service for clients without a key, on the gateway's own page: it handles the
// request of the client, the page, the code and the tokens. It is an OAuth 2.1 authorization server, as MCP requires, without a
// transport: a door reads the requests and renders the responses.
//
//	consents := consent.New(consent.Config{…})
//	request, err := consents.Ask(ctx, call, query)              // what to show
//	step, err := consents.Agree(ctx, call, request, decision)   // a code, or that the operator must approve first
//	tokens, err := consents.Exchange(ctx, call, code)
//
// Every error is an *Error, with an OAuth code, or a *reason.Refusal. Package service decides what a consent permits, and package pat
// what evidence of it is stored.
package consent

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/ratelimit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	codeLife = time.Minute
	// mostClients bounds the registered clients of a service, and unusedFor is how long one is kept without a consent. At the bound, the
	// oldest without a consent that is older than sparedFor is removed for a new one; that is enough time to read a page.
	mostClients = 10_000
	unusedFor   = 24 * time.Hour
	sparedFor   = time.Hour
	fetchTime   = 5 * time.Second // for a client document, including the wait for a place
)

// fetches are the places for fetching client documents. Addresses share them, and leave a quarter to clients that an approved agent has
// consented for.
var fetches = fairqueue.Bounds{Places: 32, Waiting: 128, Wait: fetchTime}

// A Store holds what outlives a request. Its errors are store.ErrNotFound, store.ErrUsed and store.ErrFull.
type Store interface {
	AddConsent(ctx context.Context, c store.Consent) error
	Consent(ctx context.Context, service, handle string) (store.Consent, error)
	ConsentByRefresh(ctx context.Context, service, handle string) (store.Consent, error)
	SetCode(ctx context.Context, service, handle, code string, until time.Time) error
	UseCode(ctx context.Context, service, handle, code string) error
	Rotate(ctx context.Context, service, handle, refresh, next string) error
	AddClient(ctx context.Context, c store.Client, most int, before time.Time) error
	Client(ctx context.Context, service, id string) (store.Client, error)
	KeepClient(ctx context.Context, service, id string, until time.Time) error
	AddInvitation(ctx context.Context, i store.Invitation) error
	TakeInvitation(ctx context.Context, service, code string) (store.Invitation, error)
	Agreement(ctx context.Context, service string, id pat.AgreementID) (pat.Agreement, error)
	Agent(ctx context.Context, service string, id pat.AgentID) (pat.Agent, error)
}

// A Config configures a Service. All fields are required.
type Config struct {
	Store Store
	// PerCaller bounds the consents of one Call.From, as many registrations, and as many fetches of client documents; and how often one
	// consent is refreshed.
	PerCaller limit.Rate
	// All bounds the consents and the registrations of all callers together, because each costs a durable write. Requests that PerCaller
	// refuses do not count. Consents by invitation have a separate, equal bound.
	All      limit.Rate
	Recorder agree.Recorder
	Now      func() time.Time
}

// A Service handles consents for all services. It is safe for concurrent use.
type Service struct {
	store     Store
	consents  *ratelimit.Set
	register  *ratelimit.Set
	fetched   *ratelimit.Set
	refreshed *ratelimit.Set // by consent
	all       *ratelimit.Set // of all callers, under one name
	fetching  *fairqueue.Places
	agreeing  singleflight.Group // by handle: a form sent twice at the same time is one decision
	documents *documents
	trusted   trustedClients
	recorder  agree.Recorder
	now       func() time.Time
}

// New makes a Service.
func New(c Config) *Service {
	return &Service{
		store: c.Store, consents: ratelimit.NewSet(c.PerCaller), register: ratelimit.NewSet(c.PerCaller), fetched: ratelimit.NewSet(c.PerCaller),
		refreshed: ratelimit.NewSet(c.PerCaller), all: ratelimit.NewSet(c.All),
		fetching: fairqueue.New(fetches), documents: newDocuments(), trusted: newTrustedClients(),
		recorder: c.Recorder, now: c.Now,
	}
}

// SetPerCaller changes Config.PerCaller.
func (d *Service) SetPerCaller(r limit.Rate) {
	d.consents.SetRate(r)
	d.register.SetRate(r)
	d.fetched.SetRate(r)
	d.refreshed.SetRate(r)
}

// SetAll changes Config.All.
func (d *Service) SetAll(r limit.Rate) { d.all.SetRate(r) }

// ask counts a request of a caller. The error is a *reason.Refusal.
func (d *Service) ask(of *ratelimit.Set, from string) error {
	if !of.Admit(from, d.now()) {
		return reason.TooManyConnections.Refusal("Too many requests for consent from this address.").After(of.Wait()).
			ShedFor(reason.ShedAgreementsAddress)
	}
	return nil
}

// The names that Service.all counts under.
const (
	strangers = "strangers"
	invited   = "invited"
)

// keep counts a request against a bound of all callers. The error is a *reason.Refusal.
func (d *Service) keep(of string) error {
	if !d.all.Admit(of, d.now()) {
		return reason.Overloaded.Refusal("Too many consents at once.").After(d.all.Wait()).ShedFor(reason.ShedAgreements)
	}
	return nil
}

// A Code is an error code of OAuth: RFC 6749 4.1.2.1 and 5.2, RFC 7591 3.2.2, RFC 8707 2.
type Code string

// The codes.
const (
	InvalidRequest          Code = "invalid_request"
	InvalidClient           Code = "invalid_client"
	InvalidGrant            Code = "invalid_grant"
	InvalidScope            Code = "invalid_scope"
	InvalidTarget           Code = "invalid_target"
	AccessDenied            Code = "access_denied"
	UnauthorizedClient      Code = "unauthorized_client"
	UnsupportedGrantType    Code = "unsupported_grant_type"
	UnsupportedResponseType Code = "unsupported_response_type"
	InvalidRedirectURI      Code = "invalid_redirect_uri"
	InvalidClientMetadata   Code = "invalid_client_metadata"
)

// An Error is a refused request. Its description is for developers of the client, in ASCII that needs no escaping.
type Error struct {
	Code        Code
	Description string
	// ToClient: the client receives the error, by redirect; otherwise only the person sees it.
	ToClient bool
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Description }

func failed(code Code, description string) *Error {
	return &Error{Code: code, Description: description}
}

// errorOf converts an error of a package below into an OAuth error.
func errorOf(err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pat.ErrPolicyChanged), errors.Is(err, pat.ErrPolicyMismatch):
		return failed(InvalidGrant, "The terms of the service have changed since: ask the person again.")
	case errors.Is(err, pat.ErrRevoked), errors.Is(err, pat.ErrBlocked):
		return failed(InvalidGrant, "The consent has ended.")
	case errors.Is(err, pat.ErrNotAdmitted):
		return failed(AccessDenied, "The operator decides who is admitted.")
	case errors.Is(err, pat.ErrFreshRequired), errors.Is(err, pat.ErrNothingGranted), errors.Is(err, pat.ErrBadScope):
		return failed(InvalidScope, "Nothing in the scope can be had by consent: agree with a key.")
	}
	return refusal.For(err)
}

// open returns how people agree to a service, if it permits that.
func open(s *service.Service) (*service.Consent, error) {
	consent := s.Announced().Consent
	if consent == nil || !consent.Open {
		return nil, failed(UnauthorizedClient, "The operator has switched consent off: agree with a key.")
	}
	return consent, nil
}

// The paths of the endpoints for clients of OAuth, and of their description. RFC 6749 3; RFC 8414 3.
const (
	AuthorizePath = "/oauth/authorize"
	TokenPath     = "/oauth/token" //nolint:gosec // a path
	MetadataPath  = "/.well-known/oauth-authorization-server"
)

// Resource is the endpoint that tokens are for; empty: the service has none.
func Resource(s *service.Definition) string {
	if consent := s.Announced().Consent; consent != nil {
		return consent.Resource
	}
	return ""
}

// Open reports whether people may agree to a service.
func Open(s *service.Definition) bool {
	consent := s.Announced().Consent
	return consent != nil && consent.Open
}

// record passes the outcome of a request to the Recorder and the caller.
func (d *Service) record(c agree.Call, operation agree.Operation, began time.Time, issued pat.Issuance, err error) {
	e := &agree.Event{
		At: began, Service: c.Service.ID, Operation: operation, Took: d.now().Sub(began), AgreementID: issued.AgreementID,
		Pending: issued.State == pat.AgreementPending,
	}
	if issued.Claims != nil {
		e.AgentID, e.TokenID, e.Digest = issued.Claims.Subject, issued.Claims.ID, issued.Claims.PolicyDigest
	}
	if err != nil {
		f := RefusalOf(err)
		e.Reason, e.Shed = f.Reason, f.Shed
	}
	d.recorder.RecordAgreement(e)
	if c.Observe != nil {
		c.Observe(e)
	}
}

// RefusalOf converts an error of a Service into a refusal, for the log and the metrics.
func RefusalOf(err error) *reason.Refusal {
	own, ok := errors.AsType[*Error](err)
	if !ok {
		return refusal.For(err)
	}
	switch own.Code {
	case InvalidGrant:
		return reason.InvalidToken.Refusal(own.Description)
	case AccessDenied, UnauthorizedClient, InvalidScope:
		return reason.InsufficientPermissions.Refusal(own.Description)
	default:
		return reason.MalformedRequest.Refusal(own.Description)
	}
}
