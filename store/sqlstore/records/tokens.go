package records

import (
	"context"
	"fmt"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const patColumns = `service, id, agreement_id, agent_id, key_id, policy_digest, scope, limit_rate, limit_period, assurance,
	signing_key_id, issued_at, expires_at, ends_at, renewed_to, renewed_at, CASE WHEN family = '' THEN id ELSE family END`

const newToken = `INSERT INTO tokens (service, id, agreement_id, agent_id, key_id, policy_digest, scope, limit_rate, limit_period, assurance,
	signing_key_id, issued_at, expires_at, ends_at, renewed_to, renewed_at, family) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func scanToken(scan engine.Scan) (k pat.Token, err error) {
	err = scan(&k.Service, &k.ID, &k.AgreementID, &k.AgentID, &k.KeyID, &k.PolicyDigest, (*list)(&k.Scope), &k.LimitRate, &k.LimitPeriod,
		&k.Assurance, &k.SigningKeyID, engine.Stored(&k.IssuedAt), engine.Stored(&k.ExpiresAt), engine.Stored(&k.EndsAt), &k.RenewedTo,
		engine.Stored(&k.RenewedAt), &k.Family)
	k.AgentID = agentOf(k.AgentID, k.Assurance)
	return k, err
}

func (s *Records) insertToken(ctx context.Context, t *engine.Tx, k pat.Token) error {
	scope, err := list(k.Scope).text()
	t.Run(ctx, newToken,
		k.Service, k.ID, k.AgreementID, recordOf(k.AgentID, k.Assurance), k.KeyID, k.PolicyDigest, scope, k.LimitRate, k.LimitPeriod,
		string(k.Assurance), k.SigningKeyID, engine.Nanos(k.IssuedAt), engine.Nanos(k.ExpiresAt), engine.Nanos(k.EndsAt),
		k.RenewedTo, engine.Nanos(k.RenewedAt), k.Family)
	return err
}

// mayIssue checks that neither the agent of a token nor the agent's principal is blocked, and that the agreement of the token is active.
func (s *Records) mayIssue(ctx context.Context, t *engine.Tx, k pat.Token) error {
	record := recordOf(k.AgentID, k.Assurance)
	if record != k.AgentID {
		if agent, _ := s.agent(ctx, t, k.Service, k.AgentID); agent.Status == pat.AgentBlocked {
			return pat.ErrBlocked
		}
	}
	switch a, exists := s.agent(ctx, t, k.Service, record); {
	case !exists:
		return fmt.Errorf("agent %s: %w", k.AgentID, pat.ErrNotFound)
	case a.Status != pat.AgentActive:
		return pat.ErrBlocked
	}
	s.replacePlans(ctx, t, k.Service, record)
	var state pat.AgreementState
	switch found := t.Find(ctx, "SELECT state FROM agreements WHERE service = ? AND id = ? AND agent_id = ? FOR UPDATE",
		[]any{k.Service, k.AgreementID, record}, &state); {
	case !found:
		return fmt.Errorf("agreement %s: %w", k.AgreementID, pat.ErrNotFound)
	case state != pat.AgreementActive:
		return fmt.Errorf("agreement %s is %s: %w", k.AgreementID, state, pat.ErrBlocked)
	}
	return nil
}

// Issue implements pat.Tokens. The error also wraps pat.ErrBlocked for an agreement that is pending or was revoked concurrently, and
// pat.ErrNotFound for an agreement of another agent.
func (s *Records) Issue(ctx context.Context, k pat.Token) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) (err error) {
		if err := s.mayIssue(ctx, t, k); err != nil {
			return err
		}
		given := k
		if k.Assurance == pat.Consent { // people do not consent to each PAT, so a revocation of earlier PATs also ends later ones
			t.Find(ctx, "SELECT created_at FROM agreements WHERE service = ? AND id = ?", []any{k.Service, k.AgreementID},
				engine.Stored(&given.IssuedAt))
		}
		if s.ended(ctx, t, given) {
			return pat.ErrEnded
		}
		t.Run(ctx, "UPDATE agreements SET awaiting = 0 WHERE service = ? AND id = ? AND awaiting = 1", k.Service, k.AgreementID)
		return s.insertToken(ctx, t, k)
	})
}

// Token implements pat.Tokens.
func (s *Records) Token(ctx context.Context, service string, jti pat.TokenID) (pat.Token, error) {
	return engine.First(ctx, s.db, pat.ErrNotFound, selectToken, []any{service, jti}, scanToken)
}

// Newest implements pat.Tokens.
func (s *Records) Newest(ctx context.Context, service string, agent pat.AgentID, at time.Time, n int) ([]pat.Token, error) {
	return engine.All(ctx, s.db, "SELECT "+patColumns+` FROM tokens WHERE service = ? AND agent_id = ? AND expires_at > ?
		AND (ends_at = 0 OR ends_at > ?) ORDER BY issued_at DESC, id DESC LIMIT ?`,
		[]any{service, agent, engine.Nanos(at), engine.Nanos(at), n}, scanToken)
}

const selectToken = "SELECT " + patColumns + " FROM tokens WHERE service = ? AND id = ?"

func (s *Records) token(ctx context.Context, t *engine.Tx, service string, jti pat.TokenID) (pat.Token, error) {
	k, found := engine.Record(ctx, t, scanToken, selectToken+" FOR UPDATE", service, jti)
	if !found {
		return k, pat.ErrNotFound
	}
	return k, nil
}

// Renew implements pat.Tokens. The error wraps pat.ErrBlocked if the token or its agreement, agent or policy was revoked concurrently, so
// that the new token cannot outlive the revocation. The expiry of the old token is never extended.
func (s *Records) Renew(ctx context.Context, r pat.Renewal) (pat.Token, error) {
	result, next := r.Next, r.Next
	err := s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		was, err := s.token(ctx, t, next.Service, r.Old)
		if err != nil {
			return err
		}
		if err := s.mayIssue(ctx, t, was); err != nil {
			return err
		}
		if s.revoked(ctx, t, was) {
			return fmt.Errorf("the token is revoked: %w", pat.ErrBlocked)
		}
		repeated := was.RenewedTo != "" && !was.RenewedAt.Before(r.RepeatSince)
		if r.Nonce != "" && (r.Once || !repeated) {
			if fresh, err := s.calls.UseNonce(ctx, t, next.Service, was.KeyID, r.Nonce, r.NonceUntil); err != nil {
				return err
			} else if !fresh {
				return pat.ErrReplayed
			}
		}
		if repeated {
			result, err = s.token(ctx, t, next.Service, was.RenewedTo)
			return err
		}
		result = next
		if err := s.insertToken(ctx, t, next); err != nil {
			return err
		}
		until := r.Ends
		if !was.EndsAt.IsZero() && was.EndsAt.Before(until) {
			until = was.EndsAt
		}
		t.Run(ctx, "UPDATE tokens SET ends_at = ?, renewed_to = ?, renewed_at = ? WHERE service = ? AND id = ?",
			engine.Nanos(until), next.ID, engine.Nanos(next.IssuedAt), next.Service, r.Old)
		s.renewed(ctx, t, was, until, s.tokensKept)
		return nil
	})
	if err != nil {
		return pat.Token{}, err
	}
	return result, nil
}

// renewed makes a record, for all processes, of when a renewed token expires. A recorded expiry is never extended.
func (s *Records) renewed(ctx context.Context, t *engine.Tx, old pat.Token, ends time.Time, kept time.Duration) {
	t.Run(ctx, `INSERT INTO revocations (service, kind, subject, at, until, reason, seq) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, kind, subject) DO UPDATE SET seq = excluded.seq,
		at = CASE WHEN excluded.at < revocations.at THEN excluded.at ELSE revocations.at END`,
		old.Service, string(pat.RevokedRenewed), old.ID, engine.Nanos(ends), engine.Nanos(old.ExpiresAt.Add(kept)), "renewed",
		t.NextChange(ctx))
}

// ended reports whether the token's agent or policy was revoked when the token was issued or later, or the agent has changed the plan of
// the token since.
func (s *Records) ended(ctx context.Context, t *engine.Tx, k pat.Token) bool {
	record := recordOf(k.AgentID, k.Assurance)
	query := "SELECT 1 FROM revocations WHERE service = ? AND ((kind = ? AND subject IN (?, ?) AND at >= ?) OR (kind = ? AND subject = ? AND at >= ?)"
	args := []any{
		k.Service, string(pat.RevokedAgent), k.AgentID, record, engine.Nanos(k.IssuedAt), string(pat.RevokedPolicy), k.PolicyDigest,
		engine.Nanos(k.IssuedAt),
	}
	if plan := k.Declared.Plan(); plan != "" {
		query += " OR (kind = ? AND (subject = ? AND at >= ? OR subject = ? AND at >= ?))"
		args = append(args, string(pat.RevokedPlan), pat.PlanSubject(record, plan, time.Time{}), engine.Nanos(k.Start()),
			pat.PlanSubject(record, plan, k.Start()), engine.Nanos(k.IssuedAt))
	}
	return t.Find(ctx, query+") LIMIT 1", args)
}

// revoked reports whether the token is revoked. A revocation of the token or its agreement counts regardless of when the token was issued.
func (s *Records) revoked(ctx context.Context, t *engine.Tx, k pat.Token) bool {
	return t.Find(ctx, `SELECT 1 FROM revocations WHERE service = ? AND ((kind = ? AND subject IN (?, ?)) OR (kind = ? AND subject = ?)
		OR (kind = ? AND subject IN (?, ?) AND at >= ?) OR (kind = ? AND subject = ? AND at >= ?)) LIMIT 1`,
		[]any{
			k.Service, string(pat.RevokedToken), k.ID, k.Family, string(pat.RevokedAgreement), k.AgreementID,
			string(pat.RevokedAgent), k.AgentID, recordOf(k.AgentID, k.Assurance), engine.Nanos(k.IssuedAt),
			string(pat.RevokedPolicy), k.PolicyDigest, engine.Nanos(k.IssuedAt),
		})
}
