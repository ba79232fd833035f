package records

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const agentColumns = "service, id, status, approved, reason, created_at"

func scanAgent(scan engine.Scan, more ...any) (a pat.Agent, err error) {
	err = scan(append([]any{&a.Service, &a.ID, &a.Status, &a.Approved, &a.Reason, engine.Stored(&a.CreatedAt)}, more...)...)
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

// scanListed reads an agent, including whether it waits for approval.
func scanListed(scan engine.Scan) (pat.Agent, error) {
	var waiting bool
	a, err := scanAgent(scan, &waiting)
	a.Waiting = waiting
	return a, err
}

// KeyOwner returns the agent that a key belongs to, or pat.ErrNotFound.
func (s *Records) KeyOwner(ctx context.Context, service string, key keys.ID) (owner pat.AgentID, err error) {
	found, err := s.db.One(ctx, "SELECT agent_id FROM agent_keys WHERE service = ? AND key_id = ?", []any{service, key}, &owner)
	if err == nil && !found {
		err = pat.ErrNotFound
	}
	return owner, err
}

// agent reads an agent inside a transaction, without its keys.
func (s *Records) agent(ctx context.Context, t *engine.Tx, service string, id pat.AgentID) (a pat.Agent, found bool) {
	return engine.Record(ctx, t, func(scan engine.Scan) (pat.Agent, error) { return scanAgent(scan) },
		"SELECT "+agentColumns+" FROM agents WHERE service = ? AND id = ? FOR UPDATE", service, id)
}

// keyOwner returns the agent that a key belongs to, or "".
func (s *Records) keyOwner(ctx context.Context, t *engine.Tx, service string, key keys.ID) (owner pat.AgentID) {
	t.Find(ctx, "SELECT agent_id FROM agent_keys WHERE service = ? AND key_id = ?", []any{service, key}, &owner)
	return owner
}

func (s *Records) addKey(ctx context.Context, t *engine.Tx, service string, id pat.AgentID, key keys.ID) error {
	if t.Run(ctx, `INSERT INTO agent_keys (service, key_id, agent_id, added_at, position)
		VALUES (?, ?, ?, ?, (SELECT COUNT(*) FROM agent_keys WHERE service = ? AND agent_id = ?)) ON CONFLICT DO NOTHING`,
		service, key, id, engine.Nanos(t.Now()), service, id) == 0 {
		return pat.ErrKeyTaken
	}
	return nil
}

// staticKey returns the id that records use for a key of static agreements.
func staticKey(key keys.ID) keys.ID { return key + keys.ID(pat.PrincipalOf("", pat.Static)) }

// keyOf returns the key of a recorded id: it undoes staticKey.
func keyOf(record keys.ID) keys.ID {
	return keys.ID(strings.TrimSuffix(string(record), string(staticKey(""))))
}

// hasKeys reports whether an agent id has a key. An agent that was blocked before it agreed to anything has none.
func (s *Records) hasKeys(ctx context.Context, t *engine.Tx, service string, id pat.AgentID) bool {
	return t.Find(ctx, "SELECT 1 FROM agent_keys WHERE service = ? AND agent_id = ? LIMIT 1", []any{service, id})
}

// approve records the approval and its effects: pending agreements become active, agreements with plans other than that of the newest one
// end, and the debt of the agent leaves the pool of unapproved agents.
func (s *Records) approve(ctx context.Context, t *engine.Tx, service string, id pat.AgentID) error {
	t.Run(ctx, "UPDATE agents SET approved = 1, seq = ? WHERE service = ? AND id = ?", t.NextChange(ctx), service, id)
	t.Run(ctx, "UPDATE agreements SET state = ? WHERE service = ? AND agent_id = ? AND state = ?",
		string(pat.AgreementActive), service, id, string(pat.AgreementPending))
	s.keepNewestPlans(ctx, t, service, id)
	return s.ledger.LeavePool(ctx, t, service, id)
}

// SetAgent implements pat.Agents.
func (s *Records) SetAgent(ctx context.Context, c pat.AgentChange) error {
	return s.unless(c.Approved)(ctx, func(ctx context.Context, t *engine.Tx) error {
		a, exists := s.agent(ctx, t, c.Service, c.ID)
		if !exists {
			return pat.ErrNotFound
		}
		if c.AddKey != "" {
			switch s.keyOwner(ctx, t, c.Service, c.AddKey) {
			case "":
				if err := s.addKey(ctx, t, c.Service, c.ID, c.AddKey); err != nil {
					return err
				}
			case c.ID:
			default:
				return pat.ErrKeyTaken
			}
		}
		if c.Status != "" {
			a.Status, a.Reason = c.Status, c.Reason
		}
		if a.Status == pat.AgentActive {
			a.Reason = ""
		}
		t.Run(ctx, "UPDATE agents SET status = ?, reason = ?, approved = ?, seq = ? WHERE service = ? AND id = ?",
			string(a.Status), a.Reason, engine.Flag(c.Approved), t.NextChange(ctx), c.Service, c.ID)
		if c.Approved {
			return s.approve(ctx, t, c.Service, c.ID)
		}
		return nil
	})
}

// block blocks an agent, even one without a record.
func (s *Records) block(ctx context.Context, t *engine.Tx, service, id, reason string, at time.Time, seq int64) {
	t.Run(ctx, `INSERT INTO agents (service, id, status, reason, created_at, seq) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, id) DO UPDATE SET status = excluded.status, reason = excluded.reason, seq = excluded.seq`,
		service, id, string(pat.AgentBlocked), reason, engine.Nanos(at), seq)
}

// recordOf returns the value of the agent_id column in rows that belong to an agreement of an agent: the id of the principal.
func recordOf(id pat.AgentID, a pat.Assurance) pat.AgentID { return pat.PrincipalOf(id, a).Record() }

// agentOf is the inverse of recordOf.
func agentOf(record pat.AgentID, a pat.Assurance) pat.AgentID {
	return pat.AgentID(strings.TrimSuffix(string(record), string(pat.PrincipalOf("", a))))
}

var (
	// agentWaits is the SQL condition for an agent that waits for approval.
	agentWaits = "(status = 'active' AND EXISTS (SELECT 1 FROM agreements w WHERE w.service = agents.service AND " +
		"w.agent_id = agents.id AND w.state = 'pending'))"
	// waitingAgents is the SQL condition for an agent of a service that waits for approval. Its argument is the service.
	waitingAgents = "status = 'active' AND id IN (SELECT agent_id FROM agreements WHERE service = ? AND state = 'pending' " +
		"ORDER BY id LIMIT " + strconv.Itoa(store.MostCounted) + ")"
)

// readKeys sets the keys of agents.
func (s *Records) readKeys(ctx context.Context, agents []pat.Agent) error {
	type id struct {
		service string
		agent   pat.AgentID
	}
	at := make(map[id]*pat.Agent, len(agents))
	for i := range agents {
		at[id{agents[i].Service, agents[i].ID}] = &agents[i]
	}
	for len(agents) > 0 { // in steps, because the number of arguments of a statement is limited
		n := min(len(agents), 200)
		args := make([]any, 0, 2*n)
		for _, a := range agents[:n] {
			args = append(args, a.Service, a.ID)
		}
		agents = agents[n:]
		query := "SELECT service, agent_id, key_id FROM agent_keys WHERE (service, agent_id) IN (VALUES " +
			strings.TrimSuffix(strings.Repeat("(?, ?), ", n), ", ") + ") ORDER BY service, agent_id, position"
		err := s.db.List(ctx, query, args, func(scan engine.Scan) error {
			var of id
			var key keys.ID
			err := scan(&of.service, &of.agent, &key)
			if a := at[of]; a != nil {
				a.Keys = append(a.Keys, keyOf(key))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
