package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/pat"
)

// An Acceptance names what the caller accepts. Nothing else is signed.
type Acceptance struct {
	// Digest of the policy the caller has read: Policy.Digest.
	Digest string
	// Scope is the scope to ask for: entries such as example.com:search:v1:execute; nil asks for all the policy permits.
	Scope []string
	// Issuer accepts a service that uses this name although its host does not vouch for it: see IssuerError.
	Issuer string
	// Declared are the facts that the agent declares about itself under its signature, such as its purpose, where the policy requires
	// them. Only a fresh agreement carries them. Nil: none.
	Declared pat.Declaration
}

// An Agreement is what the service has accepted.
type Agreement struct {
	ID           string // given by the service; may be empty
	PolicyUID    string
	PolicyDigest string
	Form         Form
	ExpiresAt    time.Time          // of the PAT; zero: not stated by the service
	Scope        []string           // granted; nil: not stated by the service
	ScopeOmitted []pat.OmittedEntry // requested and not granted
}

// Agree signs the policy that the service offers now, if and only if it is the one that the caller accepts, and keeps the
// PAT that the service issues for it. Errors: *PolicyChangedError, *IssuerError, *PendingError (the operator has to
// approve first), *Error, those of package fetch, ErrOptions and ErrAnswer. UIM core 4.2.
func (s *Service) Agree(ctx context.Context, accepted Acceptance) (Agreement, error) {
	c := s.client
	if c.o.Key == nil && c.o.UAgent == nil {
		return Agreement{}, fmt.Errorf("%w: agreeing needs a key", ErrOptions)
	}
	if !IsDigest(accepted.Digest) {
		return Agreement{}, fmt.Errorf("%w: name the policy to accept by its digest, such as sha-256:…", ErrOptions)
	}
	if err := accepted.Declared.Check(); err != nil {
		return Agreement{}, fmt.Errorf("%w: what is declared %w", ErrOptions, err)
	}
	session := s.Session()
	if err := c.checkIssuer(ctx, session, accepted.Issuer); err != nil {
		return Agreement{}, err
	}
	if c.o.UAgent != nil && len(accepted.Declared) > 0 {
		return Agreement{}, fmt.Errorf("%w: an agreement in an envelope declares nothing", ErrOptions)
	}
	waiting := session.pendingFor(accepted) && c.o.UAgent == nil // an envelope is good once
	session.AcceptedIssuer, session.Requested = accepted.Issuer, slices.Clone(accepted.Scope)
	session.Declared = maps.Clone(accepted.Declared)
	if waiting {
		if again, err := s.repeatAgreement(ctx, session); err == nil || !errors.Is(err, errNotPending) {
			return again, err
		}
	}
	policy, err := s.Policy(ctx)
	if err != nil {
		return Agreement{}, err
	}
	if policy.Digest != accepted.Digest {
		return Agreement{}, &PolicyChangedError{Agreed: accepted.Digest, Offered: policy.Digest}
	}
	return s.sign(ctx, session, policy)
}

// pendingFor reports whether an agreement to the same policy waits for approval.
func (s Session) pendingFor(a Acceptance) bool {
	return s.Pending() && s.pendingDigest == a.Digest && slices.Equal(s.Requested, a.Scope) &&
		maps.EqualFunc(s.Declared, a.Declared, slices.Equal)
}

// sign tries the permitted forms of agreement until the service accepts one.
func (s *Service) sign(ctx context.Context, session Session, policy Policy) (Agreement, error) {
	if s.client.o.UAgent != nil {
		return s.signEnvelope(ctx, session, policy)
	}
	forms := []Form{FormFresh}
	if s.client.o.AllowStatic && len(session.Declared) == 0 {
		forms = append(forms, staticForms...)
	}
	var first error
	for _, form := range forms {
		agreement, err := s.signAs(ctx, form, session, policy)
		refusal, refused := errors.AsType[*Error](err)
		if refused && form == FormFresh && refusal.Is(ErrPolicyMismatch) && refusal.Offered == policy.Digest {
			// It is the same document, under another uid.
			policy.UID = refusal.offeredUID
			agreement, err = s.signAs(ctx, form, session, policy)
		}
		if err == nil {
			return agreement, nil
		}
		if first == nil {
			first = err
		}
		if !errors.Is(err, errFormUnsupported) && !formUnknown(err) {
			if form == FormFresh {
				return Agreement{}, policyChange(err, policy.Digest)
			}
			break
		}
	}
	return Agreement{}, first // the error for the fresh agreement is the most precise
}

func (s *Service) signAs(ctx context.Context, form Form, session Session, policy Policy) (Agreement, error) {
	var static signedPolicy // the same for every address
	if form != FormFresh {
		var err error
		if static, err = s.client.signStatic(form, policy); err != nil {
			return Agreement{}, err
		}
	}
	session.Form, session.PolicyUID, session.PolicyDigest = form, policy.UID, policy.Digest
	return s.issue(ctx, session, func(address string) ([]byte, error) {
		signed := static
		if form == FormFresh {
			var err error
			if signed, err = s.client.signFresh(session, policy, address); err != nil {
				return nil, err
			}
		}
		body := map[string]any{"agent_id": session.AgentID, "signed_policy": signed.policy, "agent_public_key": signed.publicKey}
		if len(session.Requested) > 0 {
			body["scope"] = session.Requested
		}
		return json.Marshal(body)
	})
}

// issue sends an agreement, made for the address it is sent to, and keeps the session with the PAT that it returns.
func (s *Service) issue(ctx context.Context, session Session, bodyFor func(address string) ([]byte, error)) (Agreement, error) {
	var body []byte // as it was sent last
	answer, err := s.postFor(ctx, issueOp, session.Endpoints.Issue, nil, func(address string) (made []byte, err error) {
		body, err = bodyFor(address)
		return body, err
	})
	if err != nil {
		return Agreement{}, err
	}
	return s.issued(session, answer, body)
}

// issued keeps the session with the PAT of an answer to the agreement in body, or what waits for the operator.
func (s *Service) issued(session Session, answer fetch.Answer, body []byte) (Agreement, error) {
	next, err := s.client.readPAT(session, answer)
	if _, pending := errors.AsType[*PendingError](err); pending {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.session.pending, s.session.pendingDigest = newSecret(string(body)), session.PolicyDigest
		s.session.Requested, s.session.AcceptedIssuer, s.session.Declared = session.Requested, session.AcceptedIssuer, session.Declared
		s.session.pendingForm, s.session.pendingUID = session.Form, session.PolicyUID
		return Agreement{}, err
	}
	if err != nil {
		return Agreement{}, err
	}
	next.pending, next.pendingDigest = secret{}, ""
	s.keepSession(next)
	return next.agreement(), nil
}

var errNotPending = errors.New("the agreement no longer waits for approval")

// repeatAgreement sends an agreement that waits for approval once more, with the same body, so that the service
// recognizes it.
func (s *Service) repeatAgreement(ctx context.Context, session Session) (Agreement, error) {
	session.Form, session.PolicyUID, session.PolicyDigest = session.pendingForm, session.pendingUID, session.pendingDigest
	agreement, err := s.issue(ctx, session, func(string) ([]byte, error) { return []byte(session.pending.reveal()), nil })
	for _, over := range []error{ErrAgreementStale, ErrAgreementReplayed, ErrPolicyMismatch} {
		if errors.Is(err, over) {
			return Agreement{}, errNotPending
		}
	}
	return agreement, err
}

// keepSession replaces the session, except for the endpoints, which may have been narrowed down since it was copied.
func (s *Service) keepSession(next Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next.Endpoints = s.session.Endpoints
	s.session = next
}

func (s Session) agreement() Agreement {
	return Agreement{
		ID: s.AgreementID, PolicyUID: s.PolicyUID, PolicyDigest: s.PolicyDigest, Form: s.Form, ExpiresAt: s.ExpiresAt,
		Scope: slices.Clone(s.Scope), ScopeOmitted: slices.Clone(s.ScopeOmitted),
	}
}

// formUnknown reports whether an error may mean that the service does not accept this form of agreement, rather than that it
// rejects the agreement.
func formUnknown(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Reason != "" {
		return false
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
		return true
	}
	return false
}

// policyChange turns an *Error that names another policy into a *PolicyChangedError; other errors are returned as they are.
func policyChange(err error, agreed string) error {
	e, ok := errors.AsType[*Error](err)
	if ok && (e.Is(ErrPolicyMismatch) || e.Is(ErrPolicyRequiresAgreement)) && e.Offered != agreed {
		return &PolicyChangedError{Agreed: agreed, Offered: e.Offered, Cause: e}
	}
	return err
}
