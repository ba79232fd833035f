package sqlstore

import (
	"cmp"
	"context"
	"strings"
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

// Agent implements pat.Agents.
func (s *Store) Agent(ctx context.Context, service string, id pat.AgentID) (pat.Agent, error) {
	var a pat.Agent
	found := false
	query := "SELECT " + agentColumns + ", " + agentWaits + " FROM agents WHERE service = ? AND id = ?"
	err := s.list(ctx, query, []any{service, id}, func(scan scan) (err error) {
		found = true
		var waiting bool
		a, err = scanAgent(scan, &waiting)
		a.Waiting = waiting
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

// readKeys reads the keys of an agent.
func (s *Store) readKeys(ctx context.Context, a *pat.Agent) error {
	return s.list(ctx, "SELECT key_id FROM agent_keys WHERE service = ? AND agent_id = ? ORDER BY position", []any{a.Service, a.ID},
		func(scan scan) error {
			var key pat.KeyID
			err := scan(&key)
			a.Keys = append(a.Keys, keyOf(key))
			return err
		})
}

// KeyOwner returns the agent that a key belongs to, or pat.ErrNotFound.
func (s *Store) KeyOwner(ctx context.Context, service string, key pat.KeyID) (owner pat.AgentID, err error) {
	found, err := s.one(ctx, "SELECT agent_id FROM agent_keys WHERE service = ? AND key_id = ?", []any{service, key}, &owner)
	if err == nil && !found {
		err = pat.ErrNotFound
	}
	return owner, err
}

// agent reads an agent inside a transaction, without its keys.
func (t *tx) agent(ctx context.Context, service string, id pat.AgentID) (a pat.Agent, found bool, err error) {
	err = t.rows(ctx, "SELECT "+agentColumns+" FROM agents WHERE service = ? AND id = ? FOR UPDATE", []any{service, id},
		func(scan scan) error {
			found = true
			a, err = scanAgent(scan)
			return err
		})
	return a, found, err
}

// keyOwner returns the agent that a key belongs to, or "".
func (t *tx) keyOwner(ctx context.Context, service string, key pat.KeyID) (owner pat.AgentID, err error) {
	_, err = t.row(ctx, "SELECT agent_id FROM agent_keys WHERE service = ? AND key_id = ?", []any{service, key}, &owner)
	return owner, err
}

func (t *tx) addKey(ctx context.Context, service string, id pat.AgentID, key pat.KeyID) error {
	n, err := t.exec(ctx, `INSERT INTO agent_keys (service, key_id, agent_id, added_at, position)
		VALUES (?, ?, ?, ?, (SELECT COUNT(*) FROM agent_keys WHERE service = ? AND agent_id = ?)) ON CONFLICT DO NOTHING`,
		service, key, id, nanos(t.now), service, id)
	if err == nil && n == 0 {
		return pat.ErrKeyTaken
	}
	return err
}

// claim checks that the key belongs to the agent and that the agent is not blocked, and makes both if they are new. What
// static agreements claim, the principal and the key of such agreements, is apart from what fresh ones claim, and only as
// good as they allow: whoever saw one can send it first.
func (t *tx) claim(ctx context.Context, n pat.NewAgreement, kept time.Duration) error {
	a, approved := n.Agreement, n.Approved
	if a.Assurance == pat.Consent { // its id is its own
		_, err := t.claimRecord(ctx, a.Service, a.AgentID, "", approved)
		return err
	}
	if a.Assurance != pat.Static {
		if err := t.takeReserved(ctx, n, kept); err != nil {
			return err
		}
		made, err := t.claimRecord(ctx, a.Service, a.AgentID, a.KeyID, approved)
		if made && err == nil {
			err = t.endOtherStatic(ctx, a)
		}
		return err
	}
	owner, err := t.keyOwner(ctx, a.Service, a.KeyID)
	if err != nil {
		return err
	}
	if owner != "" && owner != a.AgentID {
		return pat.ErrKeyTaken
	}
	record := recordOf(a.AgentID, a.Assurance)
	switch agent, exists, err := t.agent(ctx, a.Service, a.AgentID); {
	case err != nil:
		return err
	case exists && owner == "" && t.hasKeys(ctx, a.Service, a.AgentID):
		return pat.ErrAgentIDTaken
	case exists && agent.Status != pat.AgentActive:
		static, err := t.keyOwner(ctx, a.Service, staticKey(a.KeyID))
		if err == nil && owner == "" && static != record {
			err = pat.ErrAgentIDTaken // whether somebody is blocked is told to the key on record
		}
		return cmp.Or(err, pat.ErrBlocked)
	}
	_, err = t.claimRecord(ctx, a.Service, record, staticKey(a.KeyID), approved)
	return err
}

// staticKey returns the name under which a key is recorded that made static agreements.
func staticKey(key pat.KeyID) pat.KeyID { return key + pat.KeyID(pat.PrincipalOf("", pat.Static)) }

// keyOf is the key of a recorded one.
func keyOf(record pat.KeyID) pat.KeyID {
	return pat.KeyID(strings.TrimSuffix(string(record), string(staticKey(""))))
}

// endOtherStatic blocks the principal of static agreements under an id that a fresh agreement has just claimed, if another
// key made them.
func (t *tx) endOtherStatic(ctx context.Context, a pat.Agreement) error {
	record := recordOf(a.AgentID, pat.Static)
	other, exists, err := t.agent(ctx, a.Service, record)
	if err != nil || !exists || other.Status != pat.AgentActive {
		return err
	}
	owner, err := t.keyOwner(ctx, a.Service, staticKey(a.KeyID))
	if err != nil || owner == record {
		return err
	}
	seq, err := t.nextChange(ctx)
	if err != nil {
		return err
	}
	return t.block(ctx, a.Service, string(record), "a fresh agreement of another key has the id", t.now, seq)
}

// claimRecord is claim within one kind of agreements. It reports whether the record is new. Without a key nobody can claim it again.
func (t *tx) claimRecord(ctx context.Context, service string, id pat.AgentID, key pat.KeyID, approved bool) (made bool, err error) {
	var owner pat.AgentID
	if key != "" {
		if owner, err = t.keyOwner(ctx, service, key); err != nil {
			return false, err
		}
	}
	if owner != "" && owner != id {
		return false, pat.ErrKeyTaken
	}
	a, exists, err := t.agent(ctx, service, id)
	switch {
	case err != nil:
		return false, err
	case exists && owner == "" && key != "" && a.Status == pat.AgentActive && t.unclaimed(ctx, service, id): // unblocked since
		return true, t.claimUnblocked(ctx, a, key, approved)
	case exists && owner == "":
		return false, pat.ErrAgentIDTaken // whether somebody is blocked is told to the key on record
	case exists && a.Status != pat.AgentActive:
		return false, pat.ErrBlocked
	case exists && approved && !a.Approved:
		return false, t.approve(ctx, service, id)
	case exists:
		return false, nil
	}
	n, err := t.exec(ctx, "INSERT INTO agents (service, id, status, approved, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		service, id, string(pat.AgentActive), flag(approved), nanos(t.now))
	if err != nil {
		return false, err
	}
	if n == 0 {
		return false, pat.ErrAgentIDTaken
	}
	if key == "" {
		return true, nil
	}
	return true, t.addKey(ctx, service, id, key)
}

// claimUnblocked gives a key the record of an id that the operator blocked and unblocked before any agent claimed it.
func (t *tx) claimUnblocked(ctx context.Context, a pat.Agent, key pat.KeyID, approved bool) error {
	if err := t.addKey(ctx, a.Service, a.ID, key); err != nil || !approved || a.Approved {
		return err
	}
	return t.approve(ctx, a.Service, a.ID)
}

// unclaimed reports whether no agent ever agreed under an id. Agents of consent have agreements and no key.
func (t *tx) unclaimed(ctx context.Context, service string, id pat.AgentID) bool {
	var one int
	agreed, err := t.row(ctx, "SELECT 1 FROM agreements WHERE service = ? AND agent_id = ? LIMIT 1", []any{service, id}, &one)
	return err == nil && !agreed && !t.hasKeys(ctx, service, id)
}

// hasKeys reports whether the id was claimed. (An agent may be blocked before it ever agrees.)
func (t *tx) hasKeys(ctx context.Context, service string, id pat.AgentID) bool {
	var one int
	found, err := t.row(ctx, "SELECT 1 FROM agent_keys WHERE service = ? AND agent_id = ? LIMIT 1", []any{service, id}, &one)
	return found || err != nil
}

// approve records the approval and its effects: pending agreements become active, and what the agent owes counts
// towards its own credit only.
func (t *tx) approve(ctx context.Context, service string, id pat.AgentID) error {
	seq, err := t.nextChange(ctx)
	if err != nil {
		return err
	}
	if _, err := t.exec(ctx, "UPDATE agents SET approved = 1, seq = ? WHERE service = ? AND id = ?", seq, service, id); err != nil {
		return err
	}
	if _, err := t.exec(ctx, "UPDATE agreements SET state = ? WHERE service = ? AND agent_id = ? AND state = ?",
		string(pat.AgreementActive), service, id, string(pat.AgreementPending)); err != nil {
		return err
	}
	return t.leavePool(ctx, service, id)
}

// SetAgent implements pat.Agents.
func (s *Store) SetAgent(ctx context.Context, c pat.AgentChange) error {
	return s.unless(c.Approved)(ctx, func(ctx context.Context, t *tx) error {
		a, exists, err := t.agent(ctx, c.Service, c.ID)
		if err != nil {
			return err
		}
		if !exists {
			return pat.ErrNotFound
		}
		if c.AddKey != "" {
			owner, err := t.keyOwner(ctx, c.Service, c.AddKey)
			switch {
			case err != nil:
				return err
			case owner == "":
				if err := t.addKey(ctx, c.Service, c.ID, c.AddKey); err != nil {
					return err
				}
			case owner != c.ID:
				return pat.ErrKeyTaken
			}
		}
		if c.Status != "" {
			a.Status, a.Reason = c.Status, c.Reason
		}
		if a.Status == pat.AgentActive {
			a.Reason = ""
		}
		seq, err := t.nextChange(ctx)
		if err != nil {
			return err
		}
		if _, err := t.exec(ctx, "UPDATE agents SET status = ?, reason = ?, approved = ?, seq = ? WHERE service = ? AND id = ?",
			string(a.Status), a.Reason, flag(c.Approved), seq, c.Service, c.ID); err != nil {
			return err
		}
		if c.Approved {
			return t.approve(ctx, c.Service, c.ID)
		}
		return nil
	})
}

// block blocks an agent, also one without a record.
func (t *tx) block(ctx context.Context, service, id, reason string, at time.Time, seq int64) error {
	_, err := t.exec(ctx, `INSERT INTO agents (service, id, status, reason, created_at, seq) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, id) DO UPDATE SET status = excluded.status, reason = excluded.reason, seq = excluded.seq`,
		service, id, string(pat.AgentBlocked), reason, nanos(at), seq)
	return err
}
