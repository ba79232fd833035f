package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/uimgate/uimgate/internal/fetch"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

const (
	maxRenewBefore = time.Minute
	proofHeader    = "Uim-Proof"
)

// Renew gets a new PAT for the same agreement. If the service does not support renewal, or the PAT has expired, Renew agrees to the same
// policy again in the same form; if the policy has changed, the error is a *PolicyChangedError. Concurrent calls share one renewal. See UIM
// core, section 4.4.
func (s *Service) Renew(ctx context.Context) (Agreement, error) {
	before := s.Session()
	if !before.Agreed() {
		return Agreement{}, ErrNotAgreed
	}
	return s.renewFrom(ctx, before)
}

// renewFrom replaces the PAT in before, unless another call has already replaced it. If ctx ends first, renewFrom returns its error, and
// the renewal continues.
func (s *Service) renewFrom(ctx context.Context, before Session) (Agreement, error) {
	// If one caller gives up, the renewal continues for the other callers.
	work := context.WithoutCancel(ctx)
	done := s.renewing.DoChan("renew", func() (any, error) {
		// Another renewal may have completed since the caller read the session.
		if now := s.Session(); now.kept.Token != before.kept.Token {
			return now.agreement(), nil
		}
		return s.renew(work, before)
	})
	select {
	case <-ctx.Done():
		return Agreement{}, ctx.Err()
	case r := <-done:
		agreement, _ := r.Val.(Agreement)
		return agreement, r.Err
	}
}

func (s *Service) renew(ctx context.Context, session Session) (Agreement, error) {
	answer, err := s.askToRenew(ctx, session)
	signs := s.client.o.Key != nil || s.client.o.UAgent != nil
	if refusal, ok := errors.AsType[*Error](err); ok && s.replaceable(session, refusal) && signs {
		return s.agreeToSamePolicy(ctx, session)
	}
	if err != nil {
		return Agreement{}, policyChange(err, session.PolicyDigest)
	}
	next, err := s.client.readPAT(session, answer)
	if err != nil {
		return Agreement{}, err
	}
	if next.AgreementID == "" {
		next.AgreementID = session.AgreementID
	}
	if next.ScopeOmitted == nil {
		next.ScopeOmitted = session.ScopeOmitted
	}
	if next.Scope == nil {
		next.Scope = session.Scope
	}
	next.next = s.Session().next
	s.keepSession(next)
	return next.agreement(), nil
}

// askToRenew requests the renewal of a session's PAT, with a proof of key if the client has a key and the PAT has a jti.
func (s *Service) askToRenew(ctx context.Context, session Session) (fetch.Answer, error) {
	if s.client.o.UAgent != nil {
		return s.renewEnvelope(ctx, session)
	}
	header := authorization(session)
	if session.kept.TokenID != "" && s.client.o.Key != nil {
		digest, err := pat.RenewDigest(session.kept.TokenID)
		if err != nil {
			return fetch.Answer{}, fmt.Errorf("creating a proof of key: %w", err)
		}
		if err := s.addProof(header, session, digest); err != nil {
			return fetch.Answer{}, err
		}
	}
	return s.post(ctx, renewOp, session.Endpoints.Renew, header, nil)
}

// replaceable reports whether a failed renewal can be replaced by agreeing to the same policy again. After a revocation it cannot,
// because the revocation was deliberate.
func (s *Service) replaceable(session Session, e *Error) bool {
	switch e.Reason {
	case string(ErrExpiredToken):
		return true
	case "", string(reason.NoSuchPath), string(reason.MethodNotAllowed):
	default:
		return false
	}
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return true
	case http.StatusUnauthorized:
		return !session.ExpiresAt.IsZero() && !s.client.o.Now().Before(session.ExpiresAt)
	}
	return false
}

// agreeToSamePolicy agrees to the policy of a session again, if the service still offers it.
func (s *Service) agreeToSamePolicy(ctx context.Context, session Session) (Agreement, error) {
	policy, _, err := s.offered(ctx, session.PolicyDigest)
	if err != nil {
		return Agreement{}, err
	}
	if s.client.o.UAgent != nil {
		return s.signEnvelope(ctx, session, policy)
	}
	if session.Form == FormFresh || session.Form == "" {
		policy.UID = session.PolicyUID
		return s.signAs(ctx, FormFresh, session, policy)
	}
	if !s.client.o.AllowStatic {
		return Agreement{}, fmt.Errorf("%w: renewing means signing the policy alone again (%s), which is permitted only with AllowStatic",
			ErrOptions, session.Form)
	}
	return s.signAs(ctx, session.Form, session, policy)
}

// addProof adds a proof of key for the digest to a request's header.
func (s *Service) addProof(header http.Header, session Session, digest string) error {
	binding := pat.ProofBinding{Audience: session.Issuer, TokenID: session.kept.TokenID, Digest: digest}
	proof, err := pat.SignProof(s.client.o.Key, binding, s.client.o.Now())
	if err != nil {
		return fmt.Errorf("creating a proof of key: %w", err)
	}
	header.Set(proofHeader, proof)
	return nil
}

func authorization(session Session) http.Header {
	return http.Header{"Authorization": {"Bearer " + session.kept.Token.reveal()}}
}

// currentSession returns the session, after renewing the PAT if that is due. If the renewal fails while the PAT is still valid and
// the policy has not changed, currentSession returns the session with the old PAT. Errors: ErrNotAgreed and *RenewalError.
func (s *Service) currentSession(ctx context.Context) (Session, error) {
	session := s.Session()
	if !session.Agreed() {
		return Session{}, ErrNotAgreed
	}
	now := s.client.o.Now()
	if !session.renewalDue(now, s.client.o.RenewBefore) {
		return session, nil
	}
	_, err := s.renewFrom(ctx, session)
	_, changed := errors.AsType[*PolicyChangedError](err)
	switch {
	case err == nil:
		return s.Session(), nil
	case changed, ctx.Err() != nil, !now.Before(session.ExpiresAt):
		return Session{}, &RenewalError{err}
	}
	return session, nil // the PAT is still valid; the next call tries again
}

// renewalDue reports whether it is time to renew. Renewal of a PAT with an unknown expiry is never due.
func (s Session) renewalDue(now time.Time, before time.Duration) bool {
	if s.ExpiresAt.IsZero() {
		return false
	}
	if before == 0 {
		before = min(maxRenewBefore, s.ExpiresAt.Sub(s.IssuedAt)/10)
	}
	return !now.Before(s.ExpiresAt.Add(-before))
}

// Revoke revokes the PAT at the service and removes it from the session. To get another PAT, call Agree again. See RFC 7009; UIM core,
// section 4.5.
func (s *Service) Revoke(ctx context.Context) error {
	session := s.Session()
	if !session.Agreed() {
		return ErrNotAgreed
	}
	header := authorization(session)
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	body := url.Values{"token": {session.kept.Token.reveal()}, "token_type_hint": {"access_token"}}.Encode()
	if _, err := s.post(ctx, revokeOp, session.Endpoints.Revoke, header, []byte(body)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session.kept.Token == session.kept.Token {
		s.session.kept.Token, s.session.kept.TokenID, s.session.ExpiresAt = secret{}, "", time.Time{}
	}
	return nil
}

func (s *Service) agentsURL() *url.URL {
	u, err := url.Parse(s.Endpoints().Agents)
	if err != nil {
		return &url.URL{Scheme: "https", Host: "unknown.invalid"} // an unknown host grants no access to private addresses
	}
	return u
}
