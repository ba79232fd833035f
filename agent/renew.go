package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

const (
	mostRenewBefore = time.Minute
	proofHeader     = "Uim-Proof"
)

// Renew gets a PAT that lives longer for the same agreement, now. Where the service knows no renewal, or
// the PAT is too old for it, the same policy is agreed to again, in the form it was: one that has changed
// is a *PolicyChangedError. Calls at the same time share one renewal. UIM core 4.4.
func (s *Service) Renew(ctx context.Context) (Agreement, error) {
	before := s.Session()
	if !before.Agreed() {
		return Agreement{}, ErrNotAgreed
	}
	return s.renewFrom(ctx, before)
}

// renewFrom gets a successor of the PAT in before, unless there is one by now.
func (s *Service) renewFrom(ctx context.Context, before Session) (Agreement, error) {
	// The work goes on for the others if one of those who wait for it gives up.
	work := context.WithoutCancel(ctx)
	done := s.renewing.DoChan("renew", func() (any, error) {
		// Who comes late to a renewal that ended just now has it already.
		if now := s.Session(); now.token != before.token {
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
	header := bearer(session)
	if session.tokenID != "" && s.client.o.Key != nil {
		digest, err := pat.RenewDigest(pat.TokenID(session.tokenID))
		if err != nil {
			return Agreement{}, fmt.Errorf("proving the key: %w", err)
		}
		if err := s.proveTo(header, session, digest); err != nil {
			return Agreement{}, err
		}
	}
	answer, err := s.post(ctx, renewing, session.Endpoints.Renew, header, nil)
	var refusal *Error
	if errors.As(err, &refusal) && s.replaceable(session, refusal) && s.client.o.Key != nil {
		return s.agreeUnchanged(ctx, session)
	}
	if err != nil {
		return Agreement{}, changed(err, session.PolicyDigest)
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
	s.keep(next)
	return next.agreement(), nil
}

// replaceable reports whether a refused renewal can be replaced by agreeing to the same policy again.
// After a revocation it cannot: whoever revoked meant it.
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

// agreeUnchanged agrees to the policy of a session once more, if it is still the one offered.
func (s *Service) agreeUnchanged(ctx context.Context, session Session) (Agreement, error) {
	policy, err := s.Policy(ctx)
	if err != nil {
		return Agreement{}, err
	}
	if policy.Digest != session.PolicyDigest {
		return Agreement{}, &PolicyChangedError{Agreed: session.PolicyDigest, Offered: policy.Digest}
	}
	if session.Form == FormFresh || session.Form == "" {
		policy.UID = session.PolicyUID
		return s.signAs(ctx, FormFresh, session, policy)
	}
	if !s.client.o.AllowStatic {
		return Agreement{}, fmt.Errorf("%w: the policy would have to be signed bare again (%s), which AllowStatic does not permit", ErrOptions, session.Form)
	}
	return s.signAs(ctx, session.Form, session, policy)
}

// proveTo adds a proof of key for the digest to a request's header.
func (s *Service) proveTo(header http.Header, session Session, digest string) error {
	proof, err := pat.SignProof(s.client.o.Key, pat.ProofBinding{Audience: session.Issuer, TokenID: pat.TokenID(session.tokenID), Digest: digest}, s.client.o.Now())
	if err != nil {
		return fmt.Errorf("proving the key: %w", err)
	}
	header.Set(proofHeader, proof)
	return nil
}

func bearer(session Session) http.Header {
	return http.Header{"Authorization": {"Bearer " + session.token.reveal()}}
}

// current is the session with a PAT that is good for a while, renewed where it is due.
func (s *Service) current(ctx context.Context) (Session, error) {
	session := s.Session()
	if !session.Agreed() {
		return Session{}, ErrNotAgreed
	}
	now := s.client.o.Now()
	if !session.due(now, s.client.o.RenewBefore) {
		return session, nil
	}
	_, err := s.renewFrom(ctx, session)
	var changed *PolicyChangedError
	switch {
	case err == nil:
		return s.Session(), nil
	case errors.As(err, &changed), ctx.Err() != nil, !now.Before(session.ExpiresAt):
		return Session{}, err
	}
	return session, nil // it still works; the next call tries again
}

// due reports whether it is time to renew. A PAT whose end is not known never is.
func (s Session) due(now time.Time, before time.Duration) bool {
	if s.ExpiresAt.IsZero() {
		return false
	}
	if before == 0 {
		before = min(mostRenewBefore, s.ExpiresAt.Sub(s.IssuedAt)/10)
	}
	return !now.Before(s.ExpiresAt.Add(-before))
}

// Revoke ends the PAT, at the service and here. Agree again for another. RFC 7009; UIM core 4.5.
func (s *Service) Revoke(ctx context.Context) error {
	session := s.Session()
	if !session.Agreed() {
		return ErrNotAgreed
	}
	header := bearer(session)
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	body := url.Values{"token": {session.token.reveal()}, "token_type_hint": {"access_token"}}.Encode()
	if _, err := s.post(ctx, revoking, session.Endpoints.Revoke, header, []byte(body)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session.token == session.token {
		s.session.token, s.session.tokenID, s.session.ExpiresAt = secret{}, "", time.Time{}
	}
	return nil
}

func (s *Service) agentsURL() *url.URL {
	u, err := url.Parse(s.Endpoints().Agents)
	if err != nil {
		return &url.URL{Scheme: "https", Host: "unknown.invalid"} // vouches for nothing
	}
	return u
}
