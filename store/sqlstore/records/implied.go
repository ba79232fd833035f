package records

import (
	"context"
	"slices"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// impliedAgreement returns the newest implied agreement of the agent of a to the same policy with the same scope, or nil if there is none.
// An agreement that was made before the last revocation of the agent or the policy does not count. If any implied agreement of the agent to
// the policy was revoked, the error is pat.ErrReplayed.
func (s *Records) impliedAgreement(ctx context.Context, t *engine.Tx, a pat.Agreement) (*pat.Agreement, error) {
	var same *pat.Agreement
	for was := range engine.Records(ctx, t, scanAgreement, "SELECT "+agreementRead+` FROM agreements
		WHERE service = ? AND agent_id = ? AND policy_digest = ? AND key_id = ? AND assurance = ? ORDER BY created_at DESC, id DESC`,
		a.Service, recordOf(a.AgentID, a.Assurance), a.PolicyDigest, a.KeyID, string(pat.Implied)) {
		switch {
		case was.State == pat.AgreementRevoked:
			return nil, pat.ErrReplayed
		case same == nil && slices.Equal(was.Scope, a.Scope):
			same = &was
		}
	}
	if same == nil || s.ended(ctx, t, pat.Token{
		Service: a.Service, AgentID: a.AgentID, PolicyDigest: a.PolicyDigest, Assurance: pat.Implied, IssuedAt: same.CreatedAt,
	}) {
		return nil, nil //nolint:nilnil // there is none
	}
	return same, nil
}
