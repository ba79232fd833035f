package records

import (
	"bytes"
	"context"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const agreementColumns = `service, id, issuer, agent_id, key_id, public_key, policy_uid, policy_digest, assurance, form,
	has_signed, signed, signature, nonce, scope, state, created_at, plan`

const (
	newBudget = `COALESCE((SELECT b.record FROM budgets b WHERE b.service = agreements.service AND b.agreement_id = agreements.id
		ORDER BY b.number DESC LIMIT 1), '')`
	// agreementRead are the columns that scanAgreement scans.
	agreementRead = agreementColumns + ", " + newBudget
)

func scanAgreement(scan engine.Scan) (a pat.Agreement, err error) {
	var hasSigned bool
	err = scan(
		&a.Service, &a.ID, &a.Issuer, &a.AgentID, &a.KeyID, &a.PublicKey, &a.PolicyUID, &a.PolicyDigest, &a.Assurance, &a.Form,
		&hasSigned, &a.Signed, &a.Signature, &a.Nonce, (*list)(&a.Scope), &a.State, engine.Stored(&a.CreatedAt), &a.Plan, &a.NewBudget)
	if !hasSigned {
		a.Signed = nil
	}
	a.AgentID = agentOf(a.AgentID, a.Assurance)
	return a, err
}

// Agree implements pat.Agreements. If the key or the id belongs to another agent, Agree reports that before anything else about the agent.
// If a static agreement of the same key to the same policy was revoked, the error is pat.ErrReplayed, because others can derive further
// signatures from the revoked one. An agent can repeat a request. If an earlier agreement has the same signature, Agree returns it in its
// present state in two cases: the earlier agreement is static; or it has the same nonce, had to wait for approval and has no token yet. For
// implied agreements, see pat.Agreements.
func (s *Records) Agree(ctx context.Context, n pat.NewAgreement) (pat.Agreement, error) {
	a := n.Agreement
	if a.State == "" {
		a.State = pat.AgreementActive
	}
	if a.CreatedAt.IsZero() {
		a.CreatedAt = s.db.Now()
	}
	n.Agreement = a
	result := a
	err := s.unless(n.Approved)(ctx, func(ctx context.Context, t *engine.Tx) error {
		if err := s.claim(ctx, t, n, s.tokensKept); err != nil {
			return err
		}
		earlier, err := s.earlierAgreement(ctx, t, a)
		if err != nil {
			return err
		}
		if earlier != nil {
			result = *earlier
			return nil
		}
		result = a
		if a.Nonce != "" {
			if fresh, err := s.calls.UseNonce(ctx, t, a.Service, a.KeyID, a.Nonce, n.NonceUntil); err != nil {
				return err
			} else if !fresh {
				return pat.ErrReplayed
			}
		}
		s.endOtherPlans(ctx, t, n)
		return s.insertAgreement(ctx, t, a, n)
	})
	if err != nil {
		return pat.Agreement{}, err
	}
	return result, nil
}

// earlierAgreement returns the earlier agreement that Agree returns in place of a, or nil if there is none.
func (s *Records) earlierAgreement(ctx context.Context, t *engine.Tx, a pat.Agreement) (*pat.Agreement, error) {
	if a.Assurance == pat.Implied {
		return s.impliedAgreement(ctx, t, a)
	}
	return s.sameAgreement(ctx, t, a)
}

// sameAgreement returns the earlier agreement that a repeats, or nil if there is none. The error is pat.ErrReplayed if the nonce of a was
// used in an agreement that a does not repeat, or if a is static and the earlier agreement was revoked.
func (s *Records) sameAgreement(ctx context.Context, t *engine.Tx, a pat.Agreement) (*pat.Agreement, error) {
	const q = "SELECT " + agreementRead + ", awaiting FROM agreements WHERE service = ?"
	var same *pat.Agreement
	awaiting := false
	scan := func(scan engine.Scan) (pat.Agreement, error) {
		return scanAgreement(func(dest ...any) error { return scan(append(dest, &awaiting)...) })
	}
	if a.Nonce != "" {
		seen := false
		for was := range engine.Records(ctx, t, scan, q+" AND key_id = ? AND nonce = ?", a.Service, a.KeyID, a.Nonce) {
			seen = true
			if awaiting && was.State != pat.AgreementRevoked && was.AgentID == a.AgentID && bytes.Equal(was.Signature, a.Signature) {
				same = &was
			}
		}
		if seen && same == nil {
			return nil, pat.ErrReplayed
		}
		return same, nil
	}
	if a.Assurance != pat.Static {
		return nil, nil
	}
	for was := range engine.Records(ctx, t, scan, q+" AND policy_digest = ? AND key_id = ? AND assurance = ? ORDER BY id",
		a.Service, a.PolicyDigest, a.KeyID, string(pat.Static)) {
		switch {
		case was.State == pat.AgreementRevoked:
			return nil, pat.ErrReplayed
		case same == nil && was.AgentID == a.AgentID && bytes.Equal(was.Signature, a.Signature):
			same = &was
		}
	}
	return same, nil
}

func (s *Records) insertAgreement(ctx context.Context, t *engine.Tx, a pat.Agreement, n pat.NewAgreement) error {
	scope, err := list(a.Scope).text()
	if err != nil {
		return err
	}
	p, offered := n.Policy, n.Policy.FirstOffered
	if offered.IsZero() {
		offered = t.Now()
	}
	t.Run(ctx, "INSERT INTO policies (service, digest, uid, body, first_offered) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		a.Service, a.PolicyDigest, p.UID, engine.Blob(p.Bytes), engine.Nanos(offered))
	var effective int64
	if n.OnDate && a.Plan != "" {
		effective = dateOf(t, n)
	}
	t.Run(ctx, "INSERT INTO agreements ("+agreementColumns+
		", awaiting, effective_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		a.Service, a.ID, a.Issuer, recordOf(a.AgentID, a.Assurance), a.KeyID, engine.Blob(a.PublicKey), a.PolicyUID, a.PolicyDigest,
		string(a.Assurance), a.Form, engine.Flag(a.Signed != nil), engine.Blob(a.Signed), engine.Blob(a.Signature), a.Nonce, scope,
		string(a.State),
		engine.Nanos(a.CreatedAt), a.Plan,
		engine.Flag(a.State == pat.AgreementPending), effective)
	return nil
}

// Agreement implements pat.Agreements.
func (s *Records) Agreement(ctx context.Context, service string, id pat.AgreementID) (pat.Agreement, error) {
	return engine.First(ctx, s.db, pat.ErrNotFound, "SELECT "+agreementRead+" FROM agreements WHERE service = ? AND id = ?",
		[]any{service, id}, scanAgreement)
}

// Policy returns the policy document with the given digest, or pat.ErrNotFound.
func (s *Records) Policy(ctx context.Context, service, digest string) (pat.PolicyDocument, error) {
	p := pat.PolicyDocument{Service: service, Digest: digest}
	return engine.First(ctx, s.db, pat.ErrNotFound, "SELECT uid, body, first_offered FROM policies WHERE service = ? AND digest = ?",
		[]any{service, digest}, func(scan engine.Scan) (pat.PolicyDocument, error) {
			err := scan(&p.UID, &p.Bytes, engine.Stored(&p.FirstOffered))
			return p, err
		})
}
