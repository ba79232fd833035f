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

// An Acceptance identifies the policy that the caller accepts. The client signs no other policy.
type Acceptance struct {
	// Digest is the Policy.Digest of the policy that the caller has read.
	Digest string
	// Scope is the requested scope: entries such as example.com:search:v1:execute. nil requests everything that the policy permits.
	Scope []string
	// Issuer, if not empty, is the name of a service that the caller accepts although the service's host does not vouch for the
	// name: see IssuerError.
	Issuer string
	// With OnDate, an agreement to a policy that takes effect later begins when that policy does; until then, the session
	// keeps the present agreement. Without OnDate, the client uses the new agreement at once, and pays its prices.
	OnDate bool
	// Declared holds the facts that the agent declares about itself under its signature, such as its purpose, if the policy
	// requires them. Only an agreement of FormFresh carries them. nil means none.
	Declared pat.Declaration
	// Plan is the plan of the policy that the agent chooses; empty means no plan. The agent signs it as Declared[pat.PlanName]. A new
	// agreement with another plan ends the earlier agreement.
	Plan string
}

// An Agreement describes an agreement that the service has accepted.
type Agreement struct {
	ID           string // chosen by the service; may be empty
	PolicyUID    string
	PolicyDigest string
	Form         Form
	NotBefore    time.Time          // when the PAT becomes valid; zero if it is valid at once
	ExpiresAt    time.Time          // expiry of the PAT; zero if the service does not state it
	Scope        []string           // granted scope; nil if the service does not state it
	ScopeOmitted []pat.OmittedEntry // requested entries that were not granted
}

// Agree signs the policy that the caller accepts, if it is the one in force at the service or the one that takes effect next, and keeps the
// PAT that the service issues. From then on, the client trusts the keys with which the service signs receipts at this time. Errors:
// *PolicyChangedError, *IssuerError, *PendingError (the operator must approve the agent first), *Error, the errors of package fetch,
// ErrOptions, ErrAnswer, ErrNoDoor and ErrRelay. See UIM core, section 4.2.
func (s *Service) Agree(ctx context.Context, accepted Acceptance) (Agreement, error) {
	agreement, err := s.agree(ctx, accepted)
	if err == nil && s.Endpoints().Receipts != "" {
		s.pin(ctx)
	}
	return agreement, err
}

func (s *Service) agree(ctx context.Context, accepted Acceptance) (Agreement, error) {
	c := s.client
	if c.o.Key == nil && c.o.UAgent == nil {
		return Agreement{}, fmt.Errorf("%w: a key is required to agree", ErrOptions)
	}
	if !IsDigest(accepted.Digest) {
		return Agreement{}, fmt.Errorf("%w: the accepted policy must be named by its digest, such as sha-256:…", ErrOptions)
	}
	if accepted.Plan != "" {
		declared := pat.Declaration{pat.PlanName: {accepted.Plan}}
		maps.Copy(declared, accepted.Declared)
		if declared.Plan() != accepted.Plan {
			return Agreement{}, fmt.Errorf("%w: Declared and Plan name different plans", ErrOptions)
		}
		accepted.Declared = declared
	}
	if err := accepted.Declared.Check(); err != nil {
		return Agreement{}, fmt.Errorf("%w: the declaration %w", ErrOptions, err)
	}
	session := s.Session()
	if err := c.checkIssuer(ctx, session, accepted.Issuer); err != nil {
		return Agreement{}, err
	}
	if c.o.UAgent != nil && (len(accepted.Declared) > 1 || len(accepted.Declared) == 1 && accepted.Declared.Plan() == "") {
		return Agreement{}, fmt.Errorf("%w: an agreement in an envelope can carry a plan, but no other declaration", ErrOptions)
	}
	waiting := session.pendingFor(accepted) && c.o.UAgent == nil // a service accepts an envelope only once
	session.AcceptedIssuer, session.Requested = accepted.Issuer, slices.Clone(accepted.Scope)
	session.Declared, session.plan = maps.Clone(accepted.Declared), accepted.Plan
	if waiting {
		if again, err := s.repeatAgreement(ctx, session); err == nil || !errors.Is(err, errNotPending) {
			return again, err
		}
	}
	policy, inForce, err := s.offered(ctx, accepted.Digest)
	if err != nil {
		return Agreement{}, err
	}
	session.onDate = accepted.OnDate && !inForce
	return s.sign(ctx, session, policy)
}

// offered fetches the policy with the given digest: the one in force, or the one that takes effect next. If the service
// offers no such policy, the error is a *PolicyChangedError.
func (s *Service) offered(ctx context.Context, digest string) (policy Policy, inForce bool, err error) {
	policy, err = s.Policy(ctx)
	if err != nil || policy.Digest == digest {
		return policy, true, err
	}
	next, known, err := s.Successor(ctx)
	if err != nil || !known || next.Digest != digest {
		return Policy{}, false, &PolicyChangedError{Agreed: digest, Offered: policy.Digest}
	}
	return next.Policy, false, nil
}

// pendingFor reports whether an agreement to the same policy, with the same scope and declaration, waits for approval.
func (s Session) pendingFor(a Acceptance) bool {
	return s.Pending() && s.kept.PendingDigest == a.Digest && slices.Equal(s.Requested, a.Scope) &&
		maps.EqualFunc(s.Declared, a.Declared, slices.Equal)
}

// sign tries the permitted forms of agreement in turn until the service accepts one.
func (s *Service) sign(ctx context.Context, session Session, policy Policy) (Agreement, error) {
	if s.client.o.UAgent != nil {
		if session.onDate {
			return Agreement{}, fmt.Errorf("%w: an agreement in an envelope takes effect at once", ErrOptions)
		}
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
			// The service offers the same document under a different uid.
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
	var static signedPolicy // static signatures do not depend on the address
	if form != FormFresh {
		var err error
		if static, err = s.client.signStatic(form, policy); err != nil {
			return Agreement{}, err
		}
	}
	session.Form, session.PolicyUID, session.PolicyDigest, session.Document = form, policy.UID, policy.Digest, policy.Raw
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
		if session.plan != "" {
			body["plan"] = session.plan
		}
		if session.onDate {
			body["effective"] = "on_date"
		}
		return json.Marshal(body)
	})
}

// issue sends an agreement, which bodyFor creates for each address, and keeps the session with the PAT that the service returns.
func (s *Service) issue(ctx context.Context, session Session, bodyFor func(address string) ([]byte, error)) (Agreement, error) {
	var body []byte // the last body that was sent
	answer, err := s.postFor(ctx, issueOp, session.Endpoints.Issue, nil, func(address string) (made []byte, err error) {
		body, err = bodyFor(address)
		return body, err
	})
	if err != nil {
		return Agreement{}, err
	}
	return s.issued(session, answer, body)
}

// issued keeps the session with the PAT in the response to an agreement. If the operator has to approve the agreement first, issued
// keeps body, so that the agreement can be sent again.
func (s *Service) issued(session Session, answer fetch.Answer, body []byte) (Agreement, error) {
	next, err := s.client.readPAT(session, answer)
	if _, pending := errors.AsType[*PendingError](err); pending {
		s.mu.Lock()
		defer s.mu.Unlock()
		waiting := &s.session.kept
		waiting.Pending, waiting.PendingDigest = newSecret(string(body)), session.PolicyDigest
		s.session.Requested, s.session.AcceptedIssuer, s.session.Declared = session.Requested, session.AcceptedIssuer, session.Declared
		waiting.PendingForm, waiting.PendingUID, waiting.PendingDocument = session.Form, session.PolicyUID, session.Document
		return Agreement{}, err
	}
	if err != nil {
		return Agreement{}, err
	}
	s.keepAgreement(next, body)
	next.kept.Pending, next.kept.PendingDigest, next.kept.PendingDocument, next.next = secret{}, "", nil, nil
	if present := s.Session(); present.Agreed() && next.NotBefore.After(s.client.o.Now()) {
		present.next = &next
		s.keepSession(present)
		return next.agreement(), nil
	}
	s.keepSession(next)
	return next.agreement(), nil
}

var errNotPending = errors.New("the agreement no longer waits for approval")

// repeatAgreement sends again an agreement that waits for approval, with the same body, so that the service recognizes it. If the
// service no longer accepts the agreement, the error is errNotPending.
func (s *Service) repeatAgreement(ctx context.Context, session Session) (Agreement, error) {
	session.Form, session.PolicyUID, session.PolicyDigest = session.kept.PendingForm, session.kept.PendingUID, session.kept.PendingDigest
	session.Document = session.kept.PendingDocument
	agreement, err := s.issue(ctx, session, func(string) ([]byte, error) { return []byte(session.kept.Pending.reveal()), nil })
	for _, over := range []error{ErrAgreementStale, ErrAgreementReplayed, ErrPolicyMismatch} {
		if errors.Is(err, over) {
			return Agreement{}, errNotPending
		}
	}
	return agreement, err
}

// keepSession replaces the session, except for the endpoints and the keys, which may have changed since next was copied from the session.
func (s *Service) keepSession(next Session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next.Endpoints, next.Keys = s.session.Endpoints, s.session.Keys
	s.session = next
}

func (s Session) agreement() Agreement {
	return Agreement{
		ID: s.AgreementID, PolicyUID: s.PolicyUID, PolicyDigest: s.PolicyDigest, Form: s.Form, ExpiresAt: s.ExpiresAt,
		NotBefore: s.NotBefore,
		Scope:     slices.Clone(s.Scope), ScopeOmitted: slices.Clone(s.ScopeOmitted),
	}
}

// formUnknown reports whether an error may mean that the service does not support this form of agreement. A service that rejects
// the agreement itself gives a reason.
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

// policyChange converts an *Error that requires a policy other than the agreed one into a *PolicyChangedError; it returns other
// errors unchanged.
func policyChange(err error, agreed string) error {
	e, ok := errors.AsType[*Error](err)
	if ok && (e.Is(ErrPolicyMismatch) || e.Is(ErrPolicyRequiresAgreement)) && e.Offered != agreed {
		return &PolicyChangedError{Agreed: agreed, Offered: e.Offered, Cause: e}
	}
	return err
}
