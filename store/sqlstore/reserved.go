package sqlstore

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

// takeReserved takes an agent id from the keys it is not reserved for, and ends their agreements and all PATs of the id, if the
// key of an agreement is one it is reserved for and does not have it. What the agent owes and has used up stays with the id. A
// block stays too. PATs are kept for a time after they expire.
func (t *tx) takeReserved(ctx context.Context, n pat.NewAgreement, kept time.Duration) error {
	a := n.Agreement
	if len(n.Reserved) == 0 {
		return nil
	}
	record, exists, err := t.agent(ctx, a.Service, a.AgentID)
	if err != nil || !exists || record.Status != pat.AgentActive {
		return err
	}
	if owner, err := t.keyOwner(ctx, a.Service, a.KeyID); err != nil || owner != "" {
		return err
	}
	args := []any{a.Service, a.AgentID}
	for _, key := range n.Reserved {
		args = append(args, key)
	}
	others := " WHERE service = ? AND agent_id = ? AND key_id NOT IN (?" + strings.Repeat(", ?", len(n.Reserved)-1) + ")"
	gone, err := t.exec(ctx, "DELETE FROM agent_keys"+others, args...)
	if err != nil {
		return err
	}
	if gone > 0 {
		if _, err := t.exec(ctx, "UPDATE agreements SET state = 'revoked'"+others, args...); err != nil {
			return err
		}
		if err := t.endReserved(ctx, a, kept); err != nil {
			return err
		}
	}
	if err := t.addKey(ctx, a.Service, a.AgentID, a.KeyID); err != nil {
		return err
	}
	return t.endOtherStatic(ctx, a)
}

// endReserved records for every process that the PATs of an agent end, without a block.
func (t *tx) endReserved(ctx context.Context, a pat.Agreement, kept time.Duration) error {
	r := pat.Revocation{
		Service: a.Service, Kind: pat.RevokedAgent, Subject: string(a.AgentID), At: t.now, Until: t.now.Add(pat.MaxTTL + kept),
		Reason: "the id is reserved for another key",
	}
	if err := t.coverIssued(ctx, &r); err != nil {
		return err
	}
	seq, err := t.nextChange(ctx)
	if err != nil {
		return err
	}
	if err := t.addRevocation(ctx, r, seq); err != nil {
		return err
	}
	_, err = t.exec(ctx, "UPDATE agents SET seq = ? WHERE service = ? AND id = ?", seq, a.Service, a.AgentID)
	return err
}

// Holders returns the agents with some ids that have keys.
func (s *Store) Holders(ctx context.Context, service string, ids []pat.AgentID) ([]pat.Agent, error) {
	agents := make([]pat.Agent, len(ids))
	for i, id := range ids {
		agents[i] = pat.Agent{Service: service, ID: id}
	}
	err := s.readAllKeys(ctx, agents)
	return slices.DeleteFunc(agents, func(a pat.Agent) bool { return len(a.Keys) == 0 }), err
}

// ReadHolders is Store.Holders of the database at a place (see Open), which may be in use. It changes nothing. A database of a version
// before services were recorded has no answer: nil.
func ReadHolders(ctx context.Context, place, service string, ids []pat.AgentID) (agents []pat.Agent, err error) {
	err = readOnly(ctx, place, func(s *Store, version int64) error {
		if version < schema.Services {
			return nil
		}
		agents, err = s.Holders(ctx, service, ids)
		return err
	})
	return agents, err
}
