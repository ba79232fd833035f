// Package agree lets agents agree to the policy of a service: it issues, renews, revokes and introspects PATs for every protocol. A door
// passes the Service a function that reads the request. The door then renders the result or the Refusal.
//
//	agreements := agree.New(agree.Config{…})
//	issued, err := agreements.Issue(ctx, agree.Call{Service: s, From: address}, read)
//	var refused *reason.Refusal // every error is one
//
// Package pat defines agreements, the stored evidence for them, and their records.
package agree

import (
	"context"
	"errors"
	"time"

	"github.com/uimgate/uimgate/gateway/refusal"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// A Config configures a Service. All fields are required.
type Config struct {
	// PerCaller limits the rate of agreements of one Call.From, and separately that of its renewals.
	PerCaller limit.Rate
	Recorder  Recorder
	Now       func() time.Time
}

// A Service processes the agreements of agents with all web services of the gateway, and the requests of agents about their PATs. It is
// safe for concurrent use.
type Service struct {
	agreements, renewals *admission
	recorder             Recorder
	now                  func() time.Time
}

// New returns a Service.
func New(c Config) *Service {
	return &Service{
		agreements: newAdmission(c.PerCaller, c.Now), renewals: newAdmission(c.PerCaller, c.Now), recorder: c.Recorder, now: c.Now,
	}
}

// SetPerCaller changes Config.PerCaller.
func (d *Service) SetPerCaller(r limit.Rate) {
	d.agreements.perCaller.SetRate(r)
	d.renewals.perCaller.SetRate(r)
}

// A Call is one request of an agent to a Service, through any door.
type Call struct {
	Service *service.Service
	// From is the caller to which the limits apply: the client's address, or the sender of a message if the transport authenticates it.
	From    string
	Observe func(*Event) // receives the Event of the call; may be nil
}

// Issue verifies a signed agreement and returns a PAT or, if the operator must first approve the agent, a pending agreement. It calls read
// at most once, and only after admission, so that the gateway does not read the bodies of callers that exceed their limits. Every error is
// a *reason.Refusal. See UIM core, section 4.2.
func (d *Service) Issue(ctx context.Context, c Call, read func() (pat.IssueRequest, error)) (pat.Issuance, error) {
	return d.issued(c, Agreement, d.agreements, func() (pat.Issuance, error) {
		if err := c.Service.Verifier.Stopped(pat.StopService, ""); err != nil { // renewals continue, so that PATs do not end because of a stop
			return pat.Issuance{}, err
		}
		r, err := read()
		if err != nil {
			return pat.Issuance{}, err
		}
		r.Admit = d.agreements.keep
		return c.Service.Issuance.Issue(ctx, r)
	})
}

// Renew returns a new PAT under the agreement of an existing PAT. It calls read at most once, and only after admission. Every error is a
// *reason.Refusal. See UIM core, section 4.4.
func (d *Service) Renew(ctx context.Context, c Call, read func() (pat.RenewRequest, error)) (pat.Issuance, error) {
	return d.issued(c, Renewal, d.renewals, func() (pat.Issuance, error) {
		r, err := read()
		if err != nil {
			return pat.Issuance{}, err
		}
		if r.Token == "" {
			return pat.Issuance{}, pat.ErrMissing
		}
		r.Admit = d.renewals.keep
		return c.Service.Issuance.Renew(ctx, r)
	})
}

// issued is the common part of Issue and Renew: admission, and the Event.
func (d *Service) issued(c Call, operation Operation, by *admission, do func() (pat.Issuance, error)) (pat.Issuance, error) {
	began := d.now()
	issued, err := pat.Issuance{}, by.ask(c.From)
	if err == nil {
		err = caught(func() (err error) { issued, err = do(); return err })
		by.accessible(c.From, err)
	}
	e := &Event{Operation: operation, AgreementID: issued.AgreementID, Pending: issued.State == pat.AgreementPending}
	if issued.Claims != nil {
		e.AgentID, e.TokenID, e.Digest = issued.Claims.Subject, issued.Claims.ID, issued.Claims.PolicyDigest
	}
	return issued, d.finish(c, began, e, err)
}

// Revoke revokes a PAT. Anyone who has the PAT may revoke it. If the token belongs to another service or is no longer valid, Revoke does
// nothing and returns no error. Every error is a *reason.Refusal. See UIM core, section 4.5; RFC 7009, section 2.2.
func (d *Service) Revoke(ctx context.Context, c Call, token string) error {
	began := d.now()
	err := caught(func() error { return c.Service.Issuance.RevokeToken(ctx, token) })
	return d.finish(c, began, &Event{Operation: Revocation}, err)
}

// Introspect returns the state of a PAT. The PAT must also be the bearer token of the request. read returns the token to introspect;
// Introspect calls it once, unless bearer is empty. Every error is a *reason.Refusal. See RFC 7662.
func (d *Service) Introspect(ctx context.Context, c Call, bearer string, read func() (token string, err error)) (pat.Introspection, error) {
	began := d.now()
	var found pat.Introspection
	err := caught(func() (err error) { found, err = d.introspect(ctx, c.Service, bearer, read); return err })
	return found, d.finish(c, began, &Event{
		Operation: Introspection, AgentID: found.Subject, TokenID: found.ID, AgreementID: found.Agreement, Digest: found.PolicyDigest,
	}, err)
}

func (d *Service) introspect(
	ctx context.Context, s *service.Service, bearer string, read func() (string, error),
) (pat.Introspection, error) {
	if bearer == "" {
		return pat.Introspection{}, pat.ErrMissing
	}
	token, err := read()
	if err != nil {
		return pat.Introspection{}, err
	}
	if token != bearer {
		return pat.Introspection{}, reason.InsufficientPermissions.Refusal("A PAT can be introspected only with the same PAT as bearer token.")
	}
	return s.Introspect(ctx, token, d.now())
}

// caught calls the function do, and converts a panic into a refusal.
func caught(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = refusal.Panic(p)
		}
	}()
	return do()
}

// finish records the outcome of a call, and converts err into a Refusal. If the agent has to agree to the offered policy, the refusal
// identifies that policy.
func (d *Service) finish(c Call, began time.Time, e *Event, err error) error {
	e.At, e.Service, e.Took = began, c.Service.ID, d.now().Sub(began)
	if err != nil {
		refused := refusal.For(err)
		if blocked, ok := errors.AsType[*pat.BlockedError](err); ok {
			e.AgentID, e.TokenID = blocked.AgentID, blocked.TokenID
		}
		switch refused.Reason {
		case reason.PolicyMismatch, reason.PolicyRequiresAgreement, reason.FreshAgreementRequired: // add the policy to agree to
			refused.With("policy", c.Service.PolicyRef()).With("issuer", c.Service.Issuer)
			if changed, ok := errors.AsType[*pat.PolicyChangedError](err); ok {
				c.Service.AddChanges(refused, changed.Agreed)
			}
		default:
		}
		e.Reason, e.Shed = refused.Reason, refused.Shed
		err = refused
	}
	d.recorder.RecordAgreement(e)
	if c.Observe != nil {
		c.Observe(e)
	}
	return err
}
