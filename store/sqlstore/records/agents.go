package records

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const agentColumns = "service, id, status, approved, reason, created_at"

func scanAgent(scan engine.Scan, more ...any) (a pat.Agent, err error) {
	var created int64
	err = scan(append([]any{&a.Service, &a.ID, &a.Status, &a.Approved, &a.Reason, &created}, more...)...)
	a.CreatedAt = engine.FromNanos(created)
	return a, err
}

// Agent implements pat.Agents.
func (s *Records) Agent(ctx context.Context, service string, id pat.AgentID) (pat.Agent, error) {
	query := "SELECT " + agentColumns + ", " + agentWaits + " FROM agents WHERE service = ? AND id = ?"
	a, err := engine.First(ctx, s.db, pat.ErrNotFound, query, []any{service, id}, scanListed)
	if err != nil {
		return pat.Agent{}, err
	}
	one := []pat.Agent{a}
	err = s.readKeys(ctx, one)
	return one[0], err
}

// scanListed reads an agent with whether it waits for approval.
func scanListed(scan engine.Scan) (pat.Agent, error) {
	var waiting bool
	a, err := scanAgent(scan, &waiting)
	a.Waiting = waiting
	return a, err
}

// KeyOwner returns the agent that a key belongs to, or pat.ErrNotFound.
func (s *Records) KeyOwner(ctx context.Context, service string, key pat.KeyID) (owner pat.AgentID, err error) {
	found, err := s.db.One(ctx, "SELECT agent_id FROM agent_keys WHERE service = ? AND key_id = ?", []any{service, key}, &owner)
	if err == nil && !found {
		err = pat.ErrNotFound
	}
	return owner, err
}

// agent reads an agent inside a transaction, without its keys.
func (s *Records) agent(ctx context.Context, t *engine.Tx, service string, id pat.AgentID) (a pat.Agent, found bool, err error) {
	err = t.Rows(ctx, "SELECT "+agentColumns+" FROM agents WHERE service = ? AND id = ? FOR UPDATE", []any{service, id},
		func(scan engine.Scan) error {
			found = true
			a, err = scanAgent(scan)
			return err
		})
	return a, found, err
}

// keyOwner returns the agent that a key belongs to, or "".
func (s *Records) keyOwner(ctx context.Context, t *engine.Tx, service string, key pat.KeyID) (owner pat.AgentID, err error) {
	_, err = t.Row(ctx, "SELECT agent_id FROM agent_keys WHERE service = ? AND key_id = ?", []any{service, key}, &owner)
	return owner, err
}

func (s *Records) addKey(ctx context.Context, t *engine.Tx, service string, id pat.AgentID, key pat.KeyID) error {
	n, err := t.Exec(ctx, `INSERT INTO agent_keys (service, key_id, agent_id, added_at, position)
		VALUES (?, ?, ?, ?, (SELECT COUNT(*) FROM agent_keys WHERE service = ? AND agent_id = ?)) ON CONFLICT DO NOTHING`,
		service, key, id, engine.Nanos(t.Now()), service, id)
	if err == nil && n == 0 {
		return pat.ErrKeyTaken
	}
	return err
}

// claim checks that the key belongs to the agent and that the agent is not blocked, and makes both if they are new. What
// static agreements claim, the principal and the key of such agreements, is apart from what fresh ones claim, and only as
// good as they allow: whoever saw one can send it first.
func (s *Records) claim(ctx context.Context, t *engine.Tx, n pat.NewAgreement, kept time.Duration) error {
	a, approved := n.Agreement, n.Approved
	if a.Assurance == pat.Consent { // its id is its own
		_, err := s.claimRecord(ctx, t, a.Service, a.AgentID, "", approved)
		return err
	}
	if a.Assurance != pat.Static {
		if err := s.takeReserved(ctx, t, n, kept); err != nil {
			return err
		}
		made, err := s.claimRecord(ctx, t, a.Service, a.AgentID, a.KeyID, approved)
		if made && err == nil {
			err = s.endOtherStatic(ctx, t, a)
		}
		return err
	}
	owner, err := s.keyOwner(ctx, t, a.Service, a.KeyID)
	if err != nil {
		return err
	}
	if owner != "" && owner != a.AgentID {
		return pat.ErrKeyTaken
	}
	record := recordOf(a.AgentID, a.Assurance)
	switch agent, exists, err := s.agent(ctx, t, a.Service, a.AgentID); {
	case err != nil:
		return err
	case exists && owner == "" && s.hasKeys(ctx, t, a.Service, a.AgentID):
		return pat.ErrAgentIDTaken
	case exists && agent.Status != pat.AgentActive:
		static, err := s.keyOwner(ctx, t, a.Service, staticKey(a.KeyID))
		if err == nil && owner == "" && static != record {
			err = pat.ErrAgentIDTaken // whether somebody is blocked is told to the key on record
		}
		return cmp.Or(err, pat.ErrBlocked)
	}
	_, err = s.claimRecord(ctx, t, a.Service, record, staticKey(a.KeyID), approved)
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
func (s *Records) endOtherStatic(ctx context.Context, t *engine.Tx, a pat.Agreement) error {
	record := recordOf(a.AgentID, pat.Static)
	other, exists, err := s.agent(ctx, t, a.Service, record)
	if err != nil || !exists || other.Status != pat.AgentActive {
		return err
	}
	owner, err := s.keyOwner(ctx, t, a.Service, staticKey(a.KeyID))
	if err != nil || owner == record {
		return err
	}
	seq, err := t.NextChange(ctx)
	if err != nil {
		return err
	}
	return s.block(ctx, t, a.Service, string(record), "a fresh agreement of another key has the id", t.Now(), seq)
}

// claimRecord is claim within one kind of agreements. It reports whether the record is new. Without a key nobody can claim it again.
func (s *Records) claimRecord(ctx context.Context, t *engine.Tx, service string, id pat.AgentID, key pat.KeyID, approved bool) (made bool, err error) {
	var owner pat.AgentID
	if key != "" {
		if owner, err = s.keyOwner(ctx, t, service, key); err != nil {
			return false, err
		}
	}
	if owner != "" && owner != id {
		return false, pat.ErrKeyTaken
	}
	a, exists, err := s.agent(ctx, t, service, id)
	switch {
	case err != nil:
		return false, err
	case exists && owner == "" && key != "" && a.Status == pat.AgentActive && s.unclaimed(ctx, t, service, id): // unblocked since
		return true, s.claimUnblocked(ctx, t, a, key, approved)
	case exists && owner == "":
		return false, pat.ErrAgentIDTaken // whether somebody is blocked is told to the key on record
	case exists && a.Status != pat.AgentActive:
		return false, pat.ErrBlocked
	case exists && approved && !a.Approved:
		return false, s.approve(ctx, t, service, id)
	case exists:
		return false, nil
	}
	n, err := t.Exec(ctx, "INSERT INTO agents (service, id, status, approved, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		service, id, string(pat.AgentActive), engine.Flag(approved), engine.Nanos(t.Now()))
	if err != nil {
		return false, err
	}
	if n == 0 {
		return false, pat.ErrAgentIDTaken
	}
	if key == "" {
		return true, nil
	}
	return true, s.addKey(ctx, t, service, id, key)
}

// claimUnblocked gives a key the record of an id that the operator blocked and unblocked before any agent claimed it.
func (s *Records) claimUnblocked(ctx context.Context, t *engine.Tx, a pat.Agent, key pat.KeyID, approved bool) error {
	if err := s.addKey(ctx, t, a.Service, a.ID, key); err != nil || !approved || a.Approved {
		return err
	}
	return s.approve(ctx, t, a.Service, a.ID)
}

// unclaimed reports whether no agent ever agreed under an id. Agents of consent have agreements and no key.
func (s *Records) unclaimed(ctx context.Context, t *engine.Tx, service string, id pat.AgentID) bool {
	var one int
	agreed, err := t.Row(ctx, "SELECT 1 FROM agreements WHERE service = ? AND agent_id = ? LIMIT 1", []any{service, id}, &one)
	return err == nil && !agreed && !s.hasKeys(ctx, t, service, id)
}

// hasKeys reports whether the id was claimed. (An agent may be blocked before it ever agrees.)
func (s *Records) hasKeys(ctx context.Context, t *engine.Tx, service string, id pat.AgentID) bool {
	var one int
	found, err := t.Row(ctx, "SELECT 1 FROM agent_keys WHERE service = ? AND agent_id = ? LIMIT 1", []any{service, id}, &one)
	return found || err != nil
}

// approve records the approval and its effects: pending agreements become active, and what the agent owes counts
// towards its own credit only.
func (s *Records) approve(ctx context.Context, t *engine.Tx, service string, id pat.AgentID) error {
	seq, err := t.NextChange(ctx)
	if err != nil {
		return err
	}
	if _, err := t.Exec(ctx, "UPDATE agents SET approved = 1, seq = ? WHERE service = ? AND id = ?", seq, service, id); err != nil {
		return err
	}
	if _, err := t.Exec(ctx, "UPDATE agreements SET state = ? WHERE service = ? AND agent_id = ? AND state = ?",
		string(pat.AgreementActive), service, id, string(pat.AgreementPending)); err != nil {
		return err
	}
	return s.ledger.LeavePool(ctx, t, service, id)
}

// SetAgent implements pat.Agents.
func (s *Records) SetAgent(ctx context.Context, c pat.AgentChange) error {
	return s.unless(c.Approved)(ctx, func(ctx context.Context, t *engine.Tx) error {
		a, exists, err := s.agent(ctx, t, c.Service, c.ID)
		if err != nil {
			return err
		}
		if !exists {
			return pat.ErrNotFound
		}
		if c.AddKey != "" {
			owner, err := s.keyOwner(ctx, t, c.Service, c.AddKey)
			switch {
			case err != nil:
				return err
			case owner == "":
				if err := s.addKey(ctx, t, c.Service, c.ID, c.AddKey); err != nil {
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
		seq, err := t.NextChange(ctx)
		if err != nil {
			return err
		}
		if _, err := t.Exec(ctx, "UPDATE agents SET status = ?, reason = ?, approved = ?, seq = ? WHERE service = ? AND id = ?",
			string(a.Status), a.Reason, engine.Flag(c.Approved), seq, c.Service, c.ID); err != nil {
			return err
		}
		if c.Approved {
			return s.approve(ctx, t, c.Service, c.ID)
		}
		return nil
	})
}

// block blocks an agent, also one without a record.
func (s *Records) block(ctx context.Context, t *engine.Tx, service, id, reason string, at time.Time, seq int64) error {
	_, err := t.Exec(ctx, `INSERT INTO agents (service, id, status, reason, created_at, seq) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, id) DO UPDATE SET status = excluded.status, reason = excluded.reason, seq = excluded.seq`,
		service, id, string(pat.AgentBlocked), reason, engine.Nanos(at), seq)
	return err
}
