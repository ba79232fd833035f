// Package consent lets people agree to the policy of a service for clients without a key, on a page of the gateway. It implements the OAuth
// 2.1 authorization server that MCP requires, but no transport: a door reads the requests and renders the responses.
//
//	consents := consent.New(consent.Config{…})
//	request, err := consents.Ask(ctx, call, query)              // the page to show
//	step, err := consents.Agree(ctx, call, request, decision)   // a code, or a consent that waits for the approval of the operator
//	tokens, err := consents.Exchange(ctx, call, code)
//
// Every error is an *Error, with an OAuth code, or a *reason.Refusal. Package service decides what a consent permits, and package pat
// decides what evidence of a consent is stored.
package consent

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/uimgate/uimgate/gateway/agree"
	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/internal/fairqueue"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/ratelimit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

const (
	codeLife = time.Minute
	// mostClients is the maximum number of registered clients of a service. A client without a consent is deleted after unusedFor. If there
	// are already mostClients, a new client replaces the oldest client that has no consent and is older than sparedFor. A person can read the
	// page within sparedFor.
	mostClients = 10_000
	unusedFor   = 24 * time.Hour
	sparedFor   = time.Hour
	fetchTime   = 5 * time.Second // maximum time to fetch a client document, including the wait for a place
)

// fetches are the places for fetching client documents. The callers share these places fairly, and a quarter of the
// places is reserved for the clients in Service.trusted.
var fetches = fairqueue.Bounds{Places: 32, Waiting: 128, Wait: fetchTime}

// A Store is the persistent storage of a Service. Its methods return store.ErrNotFound, store.ErrUsed and store.ErrFull.
type Store interface {
	AddConsent(ctx context.Context, c store.Consent) error
	Consent(ctx context.Context, service, handle string) (store.Consent, error)
	ConsentByRefresh(ctx context.Context, service, handle string) (store.Consent, error)
	LastConsent(ctx context.Context, service, browser, client string) (store.Consent, error)
	SetCode(ctx context.Context, service, handle, code string, until time.Time) error
	UseCode(ctx context.Context, service, handle, code string) error
	Rotate(ctx context.Context, service, handle, refresh, next string) error
	AddClient(ctx context.Context, c store.Client, maxClients int, before time.Time) error
	Client(ctx context.Context, service, id string) (store.Client, error)
	KeepClient(ctx context.Context, service, id string, until time.Time) error
	AddInvitation(ctx context.Context, i store.Invitation) error
	TakeInvitation(ctx context.Context, service, code string) (store.Invitation, error)
	ConsentsOf(ctx context.Context, service, browser string, limit int) ([]store.Consent, error)
	Executions(ctx context.Context, f store.Filter) ([]store.Execution, error)
	ConsentOf(ctx context.Context, service string, agreement pat.AgreementID) (store.Consent, error)
	Confirmation(ctx context.Context, service, id string) (store.Confirmation, error)
	DecideConfirmation(ctx context.Context, service, id, token, record string, until time.Time) error
	MissConfirmation(ctx context.Context, service, id string, most int) error
	Budget(ctx context.Context, service string, id pat.AgreementID) (record string, number int, err error)
	SetBudget(ctx context.Context, service string, id pat.AgreementID, number int, b pat.SignedBudget) error
	// Fits returns the states of limits, and a *store.LimitError if one of them does not admit a call.
	Fits(ctx context.Context, service string, of []store.Reservation) ([]limit.Status, error)
	Agreement(ctx context.Context, service string, id pat.AgreementID) (pat.Agreement, error)
	Agent(ctx context.Context, service string, id pat.AgentID) (pat.Agent, error)
}

// A Config configures a Service. All fields are required.
type Config struct {
	Store Store
	// PerCaller limits the consents of one Call.From and, separately, its registrations and its fetches of client documents. It also limits
	// how often one consent is refreshed.
	PerCaller limit.Rate
	// All limits the consents and registrations of all callers together, because each needs a durable write. Requests that PerCaller
	// refuses do not count. Consents by invitation have a separate limit of the same size.
	All      limit.Rate
	Recorder agree.Recorder
	Now      func() time.Time
}

// A Service handles consents for all web services of the gateway. It is safe for concurrent use.
type Service struct {
	store     Store
	asked     *ratelimit.Set // by kind of request, and by caller or consent
	all       *ratelimit.Set // all callers together, under strangers or invited
	fetching  *fairqueue.Places
	agreeing  singleflight.Group                 // by handle: a form that is sent twice at the same time is one decision
	documents *cache.Cache[string, keptDocument] // by URL
	// trusted are the clients with a consent whose agent the operator has approved, as far as this process has seen, by service and id.
	trusted  *cache.Cache[[2]string, struct{}]
	recorder agree.Recorder
	now      func() time.Time
}

// New returns a Service.
func New(c Config) *Service {
	return &Service{
		store: c.Store, asked: ratelimit.NewSet(c.PerCaller), all: ratelimit.NewSet(c.All), fetching: fairqueue.New(fetches),
		documents: cache.New(cache.Options[string, keptDocument]{Max: mostCached}),
		trusted:   cache.New(cache.Options[[2]string, struct{}]{Max: mostTrusted}),
		recorder:  c.Recorder, now: c.Now,
	}
}

// SetPerCaller changes Config.PerCaller.
func (d *Service) SetPerCaller(r limit.Rate) { d.asked.SetRate(r) }

// SetAll changes Config.All.
func (d *Service) SetAll(r limit.Rate) { d.all.SetRate(r) }

// ask counts a request of one kind against the limit of its caller. The error is a *reason.Refusal.
func (d *Service) ask(kind, from string) error {
	if !d.asked.Admit(kind+" "+from, d.now()) {
		return reason.TooManyConnections.Refusal("This address sent too many requests for consent.").After(d.asked.Wait()).
			ShedFor(reason.ShedAgreementsAddress)
	}
	return nil
}

// The names of the limits in Service.all.
const (
	strangers = "strangers"
	invited   = "invited"
)

// keep counts a request against a limit of all callers. The error is a *reason.Refusal.
func (d *Service) keep(of string) error {
	if !d.all.Admit(of, d.now()) {
		return reason.Overloaded.Refusal("Too many people are giving consents at the moment.").After(d.all.Wait()).ShedFor(reason.ShedAgreements)
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

// An Error is an OAuth error. Its description is for developers of the client, in ASCII characters that need no escaping.
type Error struct {
	Code        Code
	Description string
	// ToClient means that the client receives the error, by redirect. Otherwise only the person sees it.
	ToClient bool
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Description }

func failed(code Code, description string) *Error {
	return &Error{Code: code, Description: description}
}

// errorOf converts an error into an *Error or a *reason.Refusal. It returns nil for nil.
func errorOf(err error) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	planErr, _ := errors.AsType[*pat.PlanError](err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pat.ErrPolicyChanged), errors.Is(err, pat.ErrPolicyMismatch):
		return failed(InvalidGrant, "The terms of the service have changed since the consent: ask the person again.")
	case errors.Is(err, pat.ErrRevoked), errors.Is(err, pat.ErrBlocked):
		return failed(InvalidGrant, "The consent has ended.")
	case errors.Is(err, pat.ErrNotAdmitted):
		return failed(AccessDenied, "The operator of the service has not admitted this person.")
	case planErr != nil:
		return failed(InvalidScope, "The plan does not include any of the chosen intents.")
	case errors.Is(err, pat.ErrFreshRequired), errors.Is(err, pat.ErrNothingGranted), errors.Is(err, pat.ErrBadScope):
		return failed(InvalidScope, "A consent cannot grant any entry of this scope: sign an agreement with a key.")
	}
	return refusal.For(err)
}

// open returns the settings for consents to a service. It returns an *Error if the operator has disabled consents for that service, and a
// *reason.Refusal if the operator has stopped consents or the service for the time being.
func open(s *service.Service) (*service.Consent, error) {
	for _, kind := range []pat.StopKind{pat.StopConsent, pat.StopService} {
		if err := s.Verifier.Stopped(kind, ""); err != nil {
			return nil, refusal.For(err)
		}
	}
	consent := s.Announced().Consent
	if consent == nil || !consent.Open {
		return nil, failed(UnauthorizedClient, "The operator has disabled consents: sign an agreement with a key.")
	}
	return consent, nil
}

// The paths of the OAuth endpoints and of their metadata. See RFC 6749, section 3; RFC 8414, section 3.
const (
	AuthorizePath = "/oauth/authorize"
	TokenPath     = "/oauth/token" //nolint:gosec // a path
	MetadataPath  = "/.well-known/oauth-authorization-server"
)

// Resource returns the URL of the endpoint that tokens are for, or "" if the service has none.
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

// record passes the Event of a request to the Recorder and to c.Observe.
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

// RefusalOf converts an error of a Service into a Refusal for the log and the metrics.
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
