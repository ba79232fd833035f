package records

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Agents returns agents with their keys, ordered by service and id.
func (s *Records) Agents(ctx context.Context, f store.AgentFilter) ([]pat.Agent, error) {
	if f.Prefix == "" {
		out, err := s.listAgents(ctx, f, "")
		if err != nil {
			return nil, err
		}
		return out, s.readKeys(ctx, out)
	}
	byID, err := s.listAgents(ctx, f, "id >= ? AND id < ?", f.Prefix, f.Prefix+lastRune)
	if err != nil {
		return nil, err
	}
	name := asciiLower(f.Prefix)
	byName, err := s.listAgents(ctx, f, namedAgents, f.Service, name, name+lastRune)
	if err != nil {
		return nil, err
	}
	out := append(byID, byName...)
	slices.SortFunc(out, func(a, b pat.Agent) int { return strings.Compare(string(a.ID), string(b.ID)) })
	out = slices.CompactFunc(out, func(a, b pat.Agent) bool { return a.ID == b.ID })
	if f.Limit > 0 {
		out = out[:min(len(out), f.Limit)]
	}
	return out, s.readKeys(ctx, out)
}

// lastRune sorts after every other character, so that the strings from p to p+lastRune are those with the prefix p.
const lastRune = "\U0010FFFF"

// namedAgents is the condition that the name of an agent begins with a prefix. Its arguments are the service, the prefix in lower case, and
// the end of the range.
var namedAgents = "id IN (SELECT id FROM agents WHERE service = ? AND name <> '' AND lower(name) >= ? AND lower(name) < ? " +
	"ORDER BY lower(name), id LIMIT " + strconv.Itoa(store.MostCounted) + ")"

// asciiLower converts a string as the function lower of the databases does.
func asciiLower(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// listAgents returns agents without their keys. condition restricts the listing further, unless it is empty.
func (s *Records) listAgents(ctx context.Context, f store.AgentFilter, condition string, args ...any) ([]pat.Agent, error) {
	var q engine.Conditions
	q.Equal("service", f.Service)
	if f.Status == pat.AgentBlocked { // as in the partial index
		q.Add("status = 'blocked'")
	} else {
		q.Equal("status", string(f.Status))
	}
	if f.Waiting {
		q.Add(waitingAgents, f.Service)
	}
	if f.Approved != nil {
		q.Add("approved = ?", engine.Flag(*f.Approved))
	}
	if f.After != "" {
		q.Add("id > ?", f.After)
	}
	if condition != "" {
		q.Add(condition, args...)
	}
	query := q.Query("SELECT "+agentColumns+", "+agentWaits+" FROM agents", "ORDER BY service, id", f.Limit)
	return engine.All(ctx, s.db, query, q.Args, scanListed)
}

// Backlog counts the decisions that wait for the operator of a service.
func (s *Records) Backlog(ctx context.Context, service string) (b store.Backlog, err error) {
	waiting := "SELECT COUNT(*) FROM agents WHERE service = ? AND " + waitingAgents
	if _, err = s.db.One(ctx, waiting, []any{service, service}, &b.Waiting); err != nil {
		return store.Backlog{}, err
	}
	_, err = s.db.One(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM executions WHERE service = ? AND state = 'unresolved' AND amount > 0 LIMIT "+
		strconv.Itoa(store.MostCounted)+") AS counted", []any{service}, &b.Unresolved)
	if err != nil {
		return store.Backlog{}, err
	}
	_, err = s.db.One(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM payments WHERE service = ? AND state = 'unclaimed' LIMIT "+
		strconv.Itoa(store.MostCounted)+") AS counted", []any{service}, &b.Unclaimed)
	return b, err
}

// NameAgent sets the operator's name for an agent; "" deletes it. The error is pat.ErrNotFound if the agent does not exist.
func (s *Records) NameAgent(ctx context.Context, service string, id pat.AgentID, name string) error {
	return known(s.db.Run(ctx, "UPDATE agents SET name = ? WHERE service = ? AND id = ?", name, service, id))
}

// AgentNames returns the names of those of the given agents that have a name. The number of ids must not exceed the maximum
// number of rows on a page.
func (s *Records) AgentNames(ctx context.Context, service string, ids []pat.AgentID) (map[pat.AgentID]string, error) {
	names := map[pat.AgentID]string{}
	if len(ids) == 0 {
		return names, nil
	}
	args := []any{service}
	for _, id := range ids {
		args = append(args, id)
	}
	query := "SELECT id, name FROM agents WHERE service = ? AND name <> '' AND id IN (?" + strings.Repeat(", ?", len(ids)-1) + ")"
	return names, s.db.List(ctx, query, args, func(scan engine.Scan) error {
		var id pat.AgentID
		var name string
		err := scan(&id, &name)
		names[id] = name
		return err
	})
}

// Agreements returns agreements, the newest first, without their large members: PublicKey, Signed, Scope and, except for consents,
// Signature are empty. Agreement returns all members.
func (s *Records) Agreements(ctx context.Context, f store.AgreementFilter) ([]pat.Agreement, error) {
	var q engine.Conditions
	q.Equal("service", f.Service)
	q.Equal("agent_id", string(f.AgentID))
	q.Equal("policy_digest", f.PolicyDigest)
	if f.Without != "" {
		q.Add("NOT EXISTS (SELECT 1 FROM agreements b WHERE b.service = agreements.service AND b.agent_id = agreements.agent_id AND "+
			"b.policy_digest = ? AND b.state = 'active')", f.Without)
	}
	if f.State == pat.AgreementPending { // as in the partial index
		q.Add("state = 'pending'")
	} else {
		q.Equal("state", string(f.State))
	}
	if f.After.ID != "" {
		q.Add("(created_at, id) < (?, ?)", engine.Nanos(f.After.At), f.After.ID)
	}
	const columns = "service, id, issuer, agent_id, key_id, policy_uid, policy_digest, assurance, form, nonce, state, created_at, plan, " +
		"CASE WHEN assurance = 'consent' THEN signature END, " + newBudget
	query := q.Query("SELECT "+columns+" FROM agreements", "ORDER BY created_at DESC, id DESC", f.Limit)
	return engine.All(ctx, s.db, query, q.Args, func(scan engine.Scan) (a pat.Agreement, err error) {
		err = scan(&a.Service, &a.ID, &a.Issuer, &a.AgentID, &a.KeyID, &a.PolicyUID, &a.PolicyDigest, &a.Assurance, &a.Form, &a.Nonce, &a.State,
			engine.Stored(&a.CreatedAt), &a.Plan, &a.Signature, &a.NewBudget)
		return a, err
	})
}

// tokenRevoked is the condition that a token is revoked. A revocation of the token, its family or its agreement counts regardless of when
// the token was issued, and so does the end of the agreement. Other revocations count for tokens that were issued before them.
//
//nolint:gosec // SQL, not a credential
const tokenRevoked = `(EXISTS (SELECT 1 FROM agreements g WHERE g.service = tokens.service AND g.id = tokens.agreement_id AND g.state = 'revoked')
	OR EXISTS (SELECT 1 FROM revocations r WHERE r.service = tokens.service AND (
	(r.kind = 'token' AND r.subject IN (tokens.id, tokens.family)) OR (r.kind = 'agreement' AND r.subject = tokens.agreement_id) OR
	(r.kind = 'agent' AND (r.subject = tokens.agent_id OR r.subject || ' static' = tokens.agent_id) AND r.at >= tokens.issued_at) OR
	(r.kind = 'policy' AND r.subject = tokens.policy_digest AND r.at >= tokens.issued_at))))`

// Tokens returns records of PATs, the newest first.
func (s *Records) Tokens(ctx context.Context, f store.TokenFilter) ([]store.ListedToken, error) {
	var q engine.Conditions
	q.Equal("service", f.Service)
	q.Equal("agent_id", string(f.AgentID))
	q.Equal("agreement_id", string(f.AgreementID))
	q.Equal("id", string(f.ID))
	if !f.ValidAt.IsZero() {
		at := engine.Nanos(f.ValidAt)
		q.Add("expires_at > ? AND (ends_at = 0 OR ends_at > ?) AND NOT "+tokenRevoked, at, at)
	}
	if f.After.ID != "" {
		q.Add("(issued_at, id) < (?, ?)", engine.Nanos(f.After.At), f.After.ID)
	}
	query := q.Query("SELECT "+patColumns+", "+tokenRevoked+" FROM tokens", "ORDER BY issued_at DESC, id DESC", f.Limit)
	return engine.All(ctx, s.db, query, q.Args, func(scan engine.Scan) (k store.ListedToken, err error) {
		k.Token, err = scanToken(func(dest ...any) error { return scan(append(dest, &k.Revoked)...) })
		return k, err
	})
}

// lastOffered is the expression for the time of the last offer of a policy. The index uses the same expression.
const lastOffered = "CASE WHEN offered_at > first_offered THEN offered_at ELSE first_offered END"

// OfferPolicy records that a policy is offered from FirstOffered on or, if that is zero, from now on. A policy that was offered before
// becomes the newest again and keeps the time of its first offer.
func (s *Records) OfferPolicy(ctx context.Context, p pat.PolicyDocument) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		at := engine.Nanos(p.FirstOffered)
		if p.FirstOffered.IsZero() {
			at = engine.Nanos(t.Now())
		}
		t.Run(ctx, `INSERT INTO policies (service, digest, uid, body, first_offered, offered_at) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (service, digest) DO UPDATE SET
			offered_at = CASE WHEN excluded.offered_at > policies.offered_at THEN excluded.offered_at ELSE policies.offered_at END`,
			p.Service, p.Digest, p.UID, engine.Blob(p.Bytes), at, at)
		return nil
	})
}

// RecentPolicies returns the n policies (at most 1000) of a service that were offered last, the newest first. Of two policies offered at
// the same time, the one with the lower digest comes first.
func (s *Records) RecentPolicies(ctx context.Context, service string, n int) ([]pat.PolicyDocument, error) {
	if n <= 0 {
		return nil, nil
	}
	var q engine.Conditions
	q.Add("service = ?", service)
	query := q.Query("SELECT service, digest, uid, body, first_offered FROM policies", "ORDER BY "+lastOffered+" DESC, digest", n)
	return engine.All(ctx, s.db, query, q.Args, func(scan engine.Scan) (p pat.PolicyDocument, err error) {
		err = scan(&p.Service, &p.Digest, &p.UID, &p.Bytes, engine.Stored(&p.FirstOffered))
		return p, err
	})
}
