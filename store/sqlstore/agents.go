package sqlstore

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/pat"
)

const agentColumns = "service, id, status, approved, reason, created_at"

func scanAgent(scan scan, more ...any) (a pat.Agent, err error) {
	var created int64
	err = scan(append([]any{&a.Service, &a.ID, &a.Status, &a.Approved, &a.Reason, &created}, more...)...)
	a.CreatedAt = fromNanos(created)
	return a, err
}

// Agent implements pat.Store.
func (s *Store) Agent(ctx context.Context, service, id string) (pat.Agent, error) {
	var a pat.Agent
	found := false
	err := s.list(ctx, "SELECT "+agentColumns+" FROM agents WHERE service = ? AND id = ?", []any{service, id}, func(scan scan) (err error) {
		found = true
		a, err = scanAgent(scan)
		return err
	})
	if err != nil {
		return pat.Agent{}, err
	}
	if !found {
		return pat.Agent{}, pat.ErrNotFound
	}
	return a, s.readKeys(ctx, &a)
}

// readKeys fills in the keys of an agent.
func (s *Store) readKeys(ctx context.Context, a *pat.Agent) error {
	return s.list(ctx, "SELECT key_id FROM agent_keys WHERE service = ? AND agent_id = ? ORDER BY position", []any{a.Service, a.ID},
		func(scan scan) error {
			var key string
			err := scan(&key)
			a.Keys = append(a.Keys, key)
			return err
		})
}

// agent reads an agent inside a transaction, without its keys.
func (t *tx) agent(ctx context.Context, service, id string) (a pat.Agent, found bool, err error) {
	err = t.rows(ctx, "SELECT "+agentColumns+" FROM agents WHERE service = ? AND id = ? FOR UPDATE", []any{service, id}, func(scan scan) error {
		found = true
		a, err = scanAgent(scan)
		return err
	})
	return a, found, err
}

// keyOwner finds the agent that a key belongs to, or "".
func (t *tx) keyOwner(ctx context.Context, service, keyID string) (owner string, err error) {
	_, err = t.row(ctx, "SELECT agent_id FROM agent_keys WHERE service = ? AND key_id = ?", []any{service, keyID}, &owner)
	return owner, err
}

func (t *tx) addKey(ctx context.Context, service, agentID, keyID string) error {
	n, err := t.exec(ctx, `INSERT INTO agent_keys (service, key_id, agent_id, added_at, position)
		VALUES (?, ?, ?, ?, (SELECT COUNT(*) FROM agent_keys WHERE service = ? AND agent_id = ?)) ON CONFLICT DO NOTHING`,
		service, keyID, agentID, nanos(t.now), service, agentID)
	if err == nil && n == 0 {
		return pat.ErrKeyTaken
	}
	return err
}

// claim makes sure that the agent exists, that the key is its own, and that it is not blocked.
func (t *tx) claim(ctx context.Context, service, agentID, keyID string, approved bool) error {
	owner, err := t.keyOwner(ctx, service, keyID)
	if err != nil {
		return err
	}
	if owner != "" && owner != agentID {
		return pat.ErrKeyTaken
	}
	a, exists, err := t.agent(ctx, service, agentID)
	switch {
	case err != nil:
		return err
	case exists && a.Status != pat.AgentActive && (owner != "" || !t.hasKeys(ctx, service, agentID)):
		return pat.ErrBlocked
	case exists && owner == "":
		return pat.ErrAgentIDTaken
	case exists && approved && !a.Approved:
		return t.approve(ctx, service, agentID)
	case exists:
		return nil
	}
	n, err := t.exec(ctx, "INSERT INTO agents (service, id, status, approved, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		service, agentID, string(pat.AgentActive), flag(approved), nanos(t.now))
	if err != nil {
		return err
	}
	if n == 0 {
		return pat.ErrAgentIDTaken
	}
	return t.addKey(ctx, service, agentID, keyID)
}

// hasKeys reports whether anybody claimed the id. (An agent may be blocked before it ever came.)
func (t *tx) hasKeys(ctx context.Context, service, agentID string) bool {
	var one int
	found, err := t.row(ctx, "SELECT 1 FROM agent_keys WHERE service = ? AND agent_id = ? LIMIT 1", []any{service, agentID}, &one)
	return found || err != nil
}

// approve notes the approval and what follows from it: agreements that waited are active, and what the
// agent owes is its own credit alone.
func (t *tx) approve(ctx context.Context, service, agentID string) error {
	seq, err := t.nextChange(ctx)
	if err != nil {
		return err
	}
	if _, err := t.exec(ctx, "UPDATE agents SET approved = 1, seq = ? WHERE service = ? AND id = ?", seq, service, agentID); err != nil {
		return err
	}
	if _, err := t.exec(ctx, "UPDATE agreements SET state = ? WHERE service = ? AND agent_id = ? AND state = ?",
		string(pat.AgreementActive), service, agentID, string(pat.AgreementPending)); err != nil {
		return err
	}
	return t.leavePool(ctx, service, agentID)
}

// SetAgent implements pat.Store. An empty status leaves the status (and its reason) as it is. Approval makes
// the agent's pending agreements active. Errors: pat.ErrNotFound; pat.ErrKeyTaken if addKey is another agent's.
func (s *Store) SetAgent(ctx context.Context, service, id string, status pat.AgentStatus, approved bool, addKey, reason string) error {
	return s.update(ctx, func(ctx context.Context, t *tx) error {
		a, exists, err := t.agent(ctx, service, id)
		if err != nil {
			return err
		}
		if !exists {
			return pat.ErrNotFound
		}
		if addKey != "" {
			owner, err := t.keyOwner(ctx, service, addKey)
			switch {
			case err != nil:
				return err
			case owner == "":
				if err := t.addKey(ctx, service, id, addKey); err != nil {
					return err
				}
			case owner != id:
				return pat.ErrKeyTaken
			}
		}
		if status != "" {
			a.Status, a.Reason = status, reason
		}
		if a.Status == pat.AgentActive {
			a.Reason = ""
		}
		seq, err := t.nextChange(ctx)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, "UPDATE agents SET status = ?, reason = ?, approved = ?, seq = ? WHERE service = ? AND id = ?",
			string(a.Status), a.Reason, flag(approved), seq, service, id); err != nil {
			return err
		}
		if approved {
			return t.approve(ctx, service, id)
		}
		return nil
	})
}

// block blocks an agent, also one that never came.
func (t *tx) block(ctx context.Context, service, id, reason string, at time.Time, seq int64) error {
	_, err := t.exec(ctx, `INSERT INTO agents (service, id, status, reason, created_at, seq) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, id) DO UPDATE SET status = excluded.status, reason = excluded.reason, seq = excluded.seq`,
		service, id, string(pat.AgentBlocked), reason, nanos(at), seq)
	return err
}
