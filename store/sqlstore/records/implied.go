package records

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// impliedAgreement returns the newest implied agreement of the agent of a to the same policy with the same scope, or nil if there is none.
// An agreement that was made before the last revocation of the agent or the policy does not count. If one of these agreements was revoked,
// the error is pat.ErrReplayed.
func (s *Records) impliedAgreement(ctx context.Context, t *engine.Tx, a pat.Agreement) (*pat.Agreement, error) {
	var same *pat.Agreement
	revoked := false
	err := t.Rows(ctx, "SELECT "+agreementRead+` FROM agreements
		WHERE service = ? AND agent_id = ? AND policy_digest = ? AND key_id = ? AND assurance = ? ORDER BY created_at DESC, id DESC`, []any{
		a.Service, recordOf(a.AgentID, a.Assurance), a.PolicyDigest, a.KeyID, string(pat.Implied),
	}, func(scan engine.Scan) error {
		was, err := scanAgreement(scan)
		switch {
		case was.State == pat.AgreementRevoked:
			revoked = true
		case same == nil && slices.Equal(was.Scope, a.Scope):
			same = &was
		}
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case revoked:
		return nil, pat.ErrReplayed
	case same == nil:
		return nil, nil //nolint:nilnil // there is none
	}
	ended, err := s.ended(ctx, t, pat.Token{
		Service: a.Service, AgentID: a.AgentID, PolicyDigest: a.PolicyDigest, Assurance: pat.Implied, IssuedAt: same.CreatedAt,
	})
	if err != nil || ended {
		return nil, err
	}
	return same, nil
}
