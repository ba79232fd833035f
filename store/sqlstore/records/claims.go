package records

import (
	"context"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// claim checks that the key belongs to the agent and that the agent is not blocked. If the key and the agent are new, claim records them.
// Static agreements have separate records of the agent and its key. Their claims are weaker than those of fresh agreements, because anyone
// who has seen a static agreement can send it first.
func (s *Records) claim(ctx context.Context, t *engine.Tx, n pat.NewAgreement, kept time.Duration) error {
	a, approved := n.Agreement, n.Approved
	if a.Assurance == pat.Consent && n.Again {
		return s.claimAgain(ctx, t, a, approved)
	}
	if a.Assurance == pat.Consent { // the id belongs to this consent, and to those that name it
		_, err := s.claimRecord(ctx, t, a.Service, a.AgentID, "", approved)
		return err
	}
	if a.Assurance == pat.Implied { // it may be an old message: it neither takes an id nor ends static agreements
		_, err := s.claimRecord(ctx, t, a.Service, a.AgentID, a.KeyID, approved)
		return err
	}
	if a.Assurance != pat.Static {
		if err := s.takeReserved(ctx, t, n, kept); err != nil {
			return err
		}
		made, err := s.claimRecord(ctx, t, a.Service, a.AgentID, a.KeyID, approved)
		if made && err == nil {
			s.endOtherStatic(ctx, t, a)
		}
		return err
	}
	owner := s.keyOwner(ctx, t, a.Service, a.KeyID)
	if owner != "" && owner != a.AgentID {
		return pat.ErrKeyTaken
	}
	record := recordOf(a.AgentID, a.Assurance)
	switch agent, exists := s.agent(ctx, t, a.Service, a.AgentID); {
	case exists && owner == "" && s.hasKeys(ctx, t, a.Service, a.AgentID):
		return pat.ErrAgentIDTaken
	case exists && agent.Status != pat.AgentActive:
		if owner == "" && s.keyOwner(ctx, t, a.Service, staticKey(a.KeyID)) != record {
			return pat.ErrAgentIDTaken // only the holder of the recorded key may learn that an agent is blocked
		}
		return pat.ErrBlocked
	}
	_, err := s.claimRecord(ctx, t, a.Service, record, staticKey(a.KeyID), approved)
	return err
}

// claimAgain checks the agent of a further consent of the same person. The error is pat.ErrAgentIDTaken if the id has a key, and so is not
// that of a consent, or if no consent has the id.
func (s *Records) claimAgain(ctx context.Context, t *engine.Tx, a pat.Agreement, approved bool) error {
	agent, exists := s.agent(ctx, t, a.Service, a.AgentID)
	switch {
	case !exists || s.hasKeys(ctx, t, a.Service, a.AgentID):
		return pat.ErrAgentIDTaken
	case agent.Status != pat.AgentActive:
		return pat.ErrBlocked
	case approved && !agent.Approved:
		return s.approve(ctx, t, a.Service, a.AgentID)
	}
	return nil
}

// endOtherStatic blocks the principal of static agreements under an id that a fresh agreement has just claimed, if they were signed with
// another key.
func (s *Records) endOtherStatic(ctx context.Context, t *engine.Tx, a pat.Agreement) {
	record := recordOf(a.AgentID, pat.Static)
	other, exists := s.agent(ctx, t, a.Service, record)
	if exists && other.Status == pat.AgentActive && s.keyOwner(ctx, t, a.Service, staticKey(a.KeyID)) != record {
		s.block(ctx, t, a.Service, string(record), "a fresh agreement with another key claimed the id", t.Now(), t.NextChange(ctx))
	}
}

// claimRecord checks or creates one record of an agent: that of its fresh agreements, of its static agreements, or of a consent. made is
// true if claimRecord created the record, or assigned the key to a record that no agent had claimed. If key is empty, an id that exists is
// refused.
func (s *Records) claimRecord(
	ctx context.Context, t *engine.Tx, service string, id pat.AgentID, key keys.ID, approved bool,
) (made bool, err error) {
	var owner pat.AgentID
	if key != "" {
		owner = s.keyOwner(ctx, t, service, key)
	}
	if owner != "" && owner != id {
		return false, &pat.KeyTakenError{AgentID: owner}
	}
	a, exists := s.agent(ctx, t, service, id)
	switch {
	case exists && owner == "" && key != "" && a.Status == pat.AgentActive && s.unclaimed(ctx, t, service, id): // it was unblocked
		return true, s.claimUnblocked(ctx, t, a, key, approved)
	case exists && owner == "":
		return false, pat.ErrAgentIDTaken // only the holder of the recorded key may learn that an agent is blocked
	case exists && a.Status != pat.AgentActive:
		return false, pat.ErrBlocked
	case exists && approved && !a.Approved:
		return false, s.approve(ctx, t, service, id)
	case exists:
		return false, nil
	}
	if t.Run(ctx, "INSERT INTO agents (service, id, status, approved, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		service, id, string(pat.AgentActive), engine.Flag(approved), engine.Nanos(t.Now())) == 0 {
		return false, pat.ErrAgentIDTaken
	}
	if key == "" {
		return true, nil
	}
	return true, s.addKey(ctx, t, service, id, key)
}

// claimUnblocked assigns a key to an id that the operator blocked and unblocked before any agent claimed it.
func (s *Records) claimUnblocked(ctx context.Context, t *engine.Tx, a pat.Agent, key keys.ID, approved bool) error {
	if err := s.addKey(ctx, t, a.Service, a.ID, key); err != nil || !approved || a.Approved {
		return err
	}
	return s.approve(ctx, t, a.Service, a.ID)
}

// unclaimed reports whether no agent has ever agreed under an id. An agent that a consent created has an agreement but no key.
func (s *Records) unclaimed(ctx context.Context, t *engine.Tx, service string, id pat.AgentID) bool {
	agreed := t.Find(ctx, "SELECT 1 FROM agreements WHERE service = ? AND agent_id = ? LIMIT 1", []any{service, id})
	return !agreed && !s.hasKeys(ctx, t, service, id)
}
