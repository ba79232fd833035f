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

	"github.com/uimgate/uimgate/agent/fetch"
	"github.com/uimgate/uimgate/pat"
)

// A PolicySeen says what the caller accepts. Nothing else is signed.
type PolicySeen struct {
	// Digest of the policy the caller has read: Policy.Digest.
	Digest string
	// Scope asked for: entries such as example.com:search:v1:execute; nil asks for all the policy permits.
	Scope []string
	// Issuer accepts a service that speaks in this name although its host does not vouch for it: see IssuerError.
	Issuer string
	// Declared is what the agent says of itself under its signature, such as its purpose, where the policy asks. Only
	// a fresh agreement carries it. Nil: nothing.
	Declared pat.Declared
}

// An Agreement is what came of agreeing.
type Agreement struct {
	ID           string // the service's name for it; may be empty
	PolicyUID    string
	PolicyDigest string
	Form         Form
	ExpiresAt    time.Time     // of the PAT; zero: the service did not say
	Scope        []string      // granted; nil: the service did not say
	ScopeOmitted []pat.Omitted // asked for and not granted
}

// Agree signs the policy the service offers now, if and only if it is the one the caller has seen, and
// keeps the PAT it gets for it. Errors: *PolicyChangedError, *IssuerError, *PendingError (the operator
// has to approve first), *Error, those of package fetch, ErrOptions and ErrAnswer. UIM core 4.2.
func (s *Service) Agree(ctx context.Context, seen PolicySeen) (Agreement, error) {
	c := s.client
	if c.o.Key == nil {
		return Agreement{}, fmt.Errorf("%w: agreeing needs a key", ErrOptions)
	}
	if !digestForm(seen.Digest) {
		return Agreement{}, fmt.Errorf("%w: say which policy is accepted by its digest, such as sha-256:…", ErrOptions)
	}
	if err := seen.Declared.Check(); err != nil {
		return Agreement{}, fmt.Errorf("%w: what is declared %w", ErrOptions, err)
	}
	session := s.Session()
	if err := c.vouched(session, seen.Issuer); err != nil {
		return Agreement{}, err
	}
	same := session.pending.text != nil && session.pendingFor == seen.Digest && slices.Equal(session.Requested, seen.Scope) &&
		maps.EqualFunc(session.Declared, seen.Declared, slices.Equal)
	session.AcceptedIssuer, session.Requested, session.Declared = seen.Issuer, slices.Clone(seen.Scope), maps.Clone(seen.Declared)
	if same {
		if again, err := s.agreeAgain(ctx, session); err == nil || !errors.Is(err, errNotPending) {
			return again, err
		}
	}
	policy, err := s.Policy(ctx)
	if err != nil {
		return Agreement{}, err
	}
	if policy.Digest != seen.Digest {
		return Agreement{}, &PolicyChangedError{Agreed: seen.Digest, Offered: policy.Digest}
	}
	return s.sign(ctx, session, policy)
}

// sign tries the forms of agreement that are allowed until one is understood.
func (s *Service) sign(ctx context.Context, session Session, policy Policy) (Agreement, error) {
	forms := []Form{FormFresh}
	if s.client.o.AllowStatic && len(session.Declared) == 0 {
		forms = append(forms, staticForms...)
	}
	var first error
	for _, form := range forms {
		agreement, err := s.signAs(ctx, form, session, policy)
		var refusal *Error
		if errors.As(err, &refusal) && form == FormFresh && refusal.Is(ErrPolicyMismatch) && refusal.Offered == policy.Digest {
			// It is the same document, which the service calls by another name.
			policy.UID = refusal.offeredUID
			agreement, err = s.signAs(ctx, form, session, policy)
		}
		if err == nil {
			return agreement, nil
		}
		if first == nil {
			first = err
		}
		if !errors.Is(err, errForm) && !notUnderstood(err) {
			if form == FormFresh {
				return Agreement{}, changed(err, policy.Digest)
			}
			break
		}
	}
	return Agreement{}, first // what the fresh agreement was told says most
}

func (s *Service) signAs(ctx context.Context, form Form, session Session, policy Policy) (Agreement, error) {
	var request signed
	var err error
	if form == FormFresh {
		request, err = s.client.signFresh(session, policy, session.Requested)
	} else {
		request, err = s.client.signStatic(form, policy)
	}
	if err != nil {
		return Agreement{}, err
	}
	body := map[string]any{"agent_id": session.AgentID, "signed_policy": request.policy, "agent_public_key": request.publicKey}
	if len(session.Requested) > 0 {
		body["scope"] = session.Requested
	}
	data, err := json.Marshal(body)
	if err != nil {
		return Agreement{}, fmt.Errorf("writing the agreement: %w", err)
	}
	session.Form, session.PolicyUID, session.PolicyDigest = form, policy.UID, policy.Digest
	return s.issue(ctx, session, data)
}

// issue sends an agreement and keeps what comes back.
func (s *Service) issue(ctx context.Context, session Session, body []byte) (Agreement, error) {
	answer, err := s.post(ctx, issuing, session.Endpoints.Issue, nil, body)
	if err != nil {
		return Agreement{}, err
	}
	next, err := s.client.readPAT(session, answer)
	if _, pending := errors.AsType[*PendingError](err); pending {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.session.pending, s.session.pendingFor = hidden(string(body)), session.PolicyDigest
		s.session.Requested, s.session.AcceptedIssuer, s.session.Declared = session.Requested, session.AcceptedIssuer, session.Declared
		s.session.pendingForm, s.session.pendingUID = session.Form, session.PolicyUID
		return Agreement{}, err
	}
	if err != nil {
		return Agreement{}, err
	}
	next.pending, next.pendingFor = secret{}, ""
	s.keep(next)
	return next.agreement(), nil
}

var errNotPending = errors.New("the agreement no longer waits for approval")

// agreeAgain sends an agreement that waits for approval once more: the same body, so that it is known.
func (s *Service) agreeAgain(ctx context.Context, session Session) (Agreement, error) {
	session.Form, session.PolicyUID, session.PolicyDigest = session.pendingForm, session.pendingUID, session.pendingFor
	agreement, err := s.issue(ctx, session, []byte(session.pending.reveal()))
	for _, over := range []error{ErrAgreementStale, ErrAgreementReplayed, ErrPolicyMismatch} {
		if errors.Is(err, over) {
			return Agreement{}, errNotPending
		}
	}
	return agreement, err
}

// keep makes a session the service's own, but for what was learnt of endpoints since it was copied.
func (s *Service) keep(next Session) {
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

// notUnderstood reports whether a refusal may mean that the service does not know this form of agreement,
// rather than that it does not want it.
func notUnderstood(err error) bool {
	var e *Error
	if !errors.As(err, &e) || e.Reason != "" {
		return false
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusUnsupportedMediaType,
		http.StatusUnprocessableEntity, http.StatusInternalServerError, http.StatusNotImplemented:
		return true
	}
	return false
}

// changed makes of a refusal that names another policy a *PolicyChangedError.
func changed(err error, agreed string) error {
	var e *Error
	if errors.As(err, &e) && (e.Is(ErrPolicyMismatch) || e.Is(ErrPolicyRequiresAgreement)) && e.Offered != agreed {
		return &PolicyChangedError{Agreed: agreed, Offered: e.Offered, Cause: e}
	}
	return err
}

// A purpose is what is asked of a service, with the most that is read of the answer.
type purpose struct {
	name string
	max  func(*Client) int64
}

var (
	issuing   = purpose{"agreeing", func(*Client) int64 { return maxPATAnswer }}
	renewing  = purpose{"renewing", func(*Client) int64 { return maxPATAnswer }}
	revoking  = purpose{"revoking", func(*Client) int64 { return maxPATAnswer }}
	executing = purpose{"executing", func(c *Client) int64 { return c.o.MaxAnswer }}
)

// post sends a request that carries a signature or a PAT to the first of the addresses that is there. It
// follows no redirect. An answer other than 2xx is an *Error.
func (s *Service) post(ctx context.Context, p purpose, addresses []string, header http.Header, body []byte) (fetch.Answer, error) {
	from := s.agentsURL()
	var first error
	for _, address := range addresses {
		h := http.Header{"Accept": {"application/json"}}
		if len(body) > 0 {
			h.Set("Content-Type", "application/json")
		}
		maps.Copy(h, header)
		answer, err := s.client.fetch.Do(ctx, fetch.Request{Method: http.MethodPost, URL: address, Header: h, Body: body, Max: p.max(s.client), From: from})
		if err != nil {
			return fetch.Answer{}, fmt.Errorf("%s: %w", p.name, err)
		}
		if answer.Status/100 == 2 {
			s.learn(addresses, address)
			return answer, nil
		}
		refusal := readError(answer)
		if answer.Status/100 == 3 {
			refusal.Message = "the service redirects, which is not followed with a PAT or a signature"
		}
		err = fmt.Errorf("%s: %w", p.name, refusal)
		if !notThere(answer) || len(addresses) == 1 {
			return fetch.Answer{}, err
		}
		if first == nil {
			first = err
		}
	}
	return fetch.Answer{}, first
}

// learn remembers which of several addresses is there.
func (s *Service) learn(addresses []string, is string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := &s.session.Endpoints
	for _, list := range []*[]string{&e.Execute, &e.Issue, &e.Renew, &e.Revoke} {
		if len(*list) > 1 && slices.Equal(*list, addresses) {
			*list = []string{is}
		}
	}
}
