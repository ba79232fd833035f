package records

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// takeReserved gives an agent id to the key of an agreement if the id is reserved for that key (see n.Reserved) and the key does not have
// it yet. Other keys for which the id is not reserved lose the id: their agreements and all PATs of the id end. The debt of the agent and
// the units that it has used stay with the id. The id of a blocked agent is not taken. kept is how long the record of a PAT is kept after
// the PAT has expired.
func (s *Records) takeReserved(ctx context.Context, t *engine.Tx, n pat.NewAgreement, kept time.Duration) error {
	a := n.Agreement
	if len(n.Reserved) == 0 {
		return nil
	}
	record, exists := s.agent(ctx, t, a.Service, a.AgentID)
	if !exists || record.Status != pat.AgentActive || s.keyOwner(ctx, t, a.Service, a.KeyID) != "" {
		return nil
	}
	args := []any{a.Service, a.AgentID}
	for _, key := range n.Reserved {
		args = append(args, key)
	}
	others := " WHERE service = ? AND agent_id = ? AND key_id NOT IN (?" + strings.Repeat(", ?", len(n.Reserved)-1) + ")"
	if t.Run(ctx, "DELETE FROM agent_keys"+others, args...) > 0 {
		t.Run(ctx, "UPDATE agreements SET state = 'revoked'"+others, args...)
		s.endReserved(ctx, t, a, kept)
	}
	if err := s.addKey(ctx, t, a.Service, a.AgentID, a.KeyID); err != nil {
		return err
	}
	s.endOtherStatic(ctx, t, a)
	return nil
}

// endReserved records, for all processes, that the PATs of an agent have ended. It does not block the agent.
func (s *Records) endReserved(ctx context.Context, t *engine.Tx, a pat.Agreement, kept time.Duration) {
	r := pat.Revocation{
		Service: a.Service, Kind: pat.RevokedAgent, Subject: string(a.AgentID), At: t.Now(), Until: t.Now().Add(pat.MaxTTL + kept),
		Reason: "the id is reserved for another key",
	}
	s.coverIssued(ctx, t, &r)
	seq := t.NextChange(ctx)
	s.addRevocation(ctx, t, r, seq)
	t.Run(ctx, "UPDATE agents SET seq = ? WHERE service = ? AND id = ?", seq, a.Service, a.AgentID)
}

// Holders returns those of the given agents that have keys.
func (s *Records) Holders(ctx context.Context, service string, ids []pat.AgentID) ([]pat.Agent, error) {
	agents := make([]pat.Agent, len(ids))
	for i, id := range ids {
		agents[i] = pat.Agent{Service: service, ID: id}
	}
	err := s.readKeys(ctx, agents)
	return slices.DeleteFunc(agents, func(a pat.Agent) bool { return len(a.Keys) == 0 }), err
}
