package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat"
)

// nextChange returns the next number of the feed. The row stays locked until the transaction ends, so that the numbers
// become visible in the order of commits.
func (t *tx) nextChange(ctx context.Context) (int64, error) {
	if _, err := t.exec(ctx, "UPDATE sequences SET n = n + 1 WHERE name = 'changes'"); err != nil {
		return 0, err
	}
	var n int64
	_, err := t.row(ctx, "SELECT n FROM sequences WHERE name = 'changes'", nil, &n)
	t.changed = true
	return n, err
}

// Revoke implements pat.Tokens. A second revocation of the same subject moves its At and Until later, never earlier; of
// a token or an agreement it changes nothing where the first was for as long, because neither is ever valid again.
// Revoking an agreement also ends it; revoking an agent without a record blocks its id.
func (s *Store) Revoke(ctx context.Context, r pat.Revocation) error {
	switch r.Kind {
	case pat.RevokedToken, pat.RevokedAgreement, pat.RevokedAgent, pat.RevokedPolicy:
	default:
		return fmt.Errorf("revoking %s: %q is no kind of revocation", r.Subject, r.Kind)
	}
	return s.aside(ctx, func(ctx context.Context, t *tx) error {
		var err error
		if ended, err := t.revokedBefore(ctx, &r); err != nil || ended {
			return err
		}
		switch r.Kind { // rows that others lock come before the number of the change, for which all wait
		case pat.RevokedAgreement:
			_, err = t.exec(ctx, "UPDATE agreements SET state = ? WHERE service = ? AND id = ?", string(pat.AgreementRevoked), r.Service, r.Subject)
		case pat.RevokedAgent:
			_, _, err = t.agent(ctx, r.Service, pat.AgentID(r.Subject))
		default:
		}
		if err != nil {
			return err
		}
		if err := t.coverIssued(ctx, &r); err != nil {
			return err
		}
		seq, err := t.nextChange(ctx)
		if err != nil {
			return err
		}
		err = t.addRevocation(ctx, r, seq)
		if err != nil || r.Kind != pat.RevokedAgent {
			return err
		}
		if seq, err = t.nextChange(ctx); err != nil {
			return err
		}
		return t.block(ctx, r.Service, r.Subject, r.Reason, r.At, seq)
	})
}

// addRevocation records a revocation with its number. One of the same subject only grows.
func (t *tx) addRevocation(ctx context.Context, r pat.Revocation, seq int64) error {
	_, err := t.exec(ctx, `INSERT INTO revocations (service, kind, subject, at, until, reason, seq) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, kind, subject) DO UPDATE SET reason = excluded.reason, seq = excluded.seq,
		at = CASE WHEN excluded.at > revocations.at THEN excluded.at ELSE revocations.at END,
		until = CASE WHEN excluded.until > revocations.until THEN excluded.until ELSE revocations.until END`,
		r.Service, string(r.Kind), r.Subject, nanos(r.At), nanos(r.Until), r.Reason, seq)
	return err
}

// revokedBefore reports whether a token or an agreement was revoked before, for as long from then as the revocation is from its
// time. Of several revocations at once, all but the first wait for that one here.
func (t *tx) revokedBefore(ctx context.Context, r *pat.Revocation) (bool, error) {
	if r.Kind != pat.RevokedToken && r.Kind != pat.RevokedAgreement {
		return false, nil
	}
	n, err := t.exec(ctx, `INSERT INTO revocations (service, kind, subject, at, until, reason, seq) VALUES (?, ?, ?, ?, ?, ?, 0)
		ON CONFLICT (service, kind, subject) DO UPDATE SET reason = excluded.reason
		WHERE revocations.until - revocations.at < excluded.until - excluded.at`,
		r.Service, string(r.Kind), r.Subject, nanos(r.At), nanos(r.Until), r.Reason)
	return n == 0, err
}

// coverIssued moves the time of a revocation so that it ends every PAT that was issued before it: also one that another
// process issued with another clock, or that starts with the next second.
func (t *tx) coverIssued(ctx context.Context, r *pat.Revocation) error {
	var column string
	switch r.Kind {
	case pat.RevokedAgent:
		column = "agent_id"
	case pat.RevokedPolicy:
		column = "policy_digest"
	default:
		return nil
	}
	other := r.Subject
	if r.Kind == pat.RevokedAgent {
		other = string(recordOf(pat.AgentID(r.Subject), pat.Static))
	}
	var last int64
	found, err := t.row(ctx,
		"SELECT issued_at FROM tokens WHERE service = ? AND issued_at > ? AND "+column+" IN (?, ?) ORDER BY issued_at DESC, id DESC LIMIT 1",
		[]any{r.Service, nanos(r.At), r.Subject, other}, &last)
	if found {
		r.At = fromNanos(last)
	}
	return err
}

// AddSigningKey implements pat.KeyStore. Keys are kept as long as their last PAT; see Purge.
func (s *Store) AddSigningKey(ctx context.Context, k pat.SigningKey) error {
	return s.aside(ctx, func(ctx context.Context, t *tx) error {
		seq, err := t.nextChange(ctx)
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, `INSERT INTO signing_keys (id, algorithm, jwk, created_at, not_after, seq, purpose) VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET not_after = excluded.not_after, seq = excluded.seq`,
			k.ID, k.Algorithm, blob(k.JWK), nanos(k.CreatedAt), nanos(k.NotAfter), seq, string(k.Purpose))
		return err
	})
}

const keyColumns = "id, algorithm, jwk, created_at, not_after, purpose"

func scanKey(scan scan, more ...any) (k pat.SigningKey, err error) {
	var created, notAfter int64
	err = scan(append([]any{&k.ID, &k.Algorithm, &k.JWK, &created, &notAfter, &k.Purpose}, more...)...)
	k.CreatedAt, k.NotAfter = fromNanos(created), fromNanos(notAfter)
	return k, err
}

// SigningKeys implements pat.KeyStore, the oldest first.
func (s *Store) SigningKeys(ctx context.Context, now time.Time) ([]pat.SigningKey, error) {
	var out []pat.SigningKey
	err := s.list(ctx, "SELECT "+keyColumns+" FROM signing_keys WHERE not_after = 0 OR not_after > ? ORDER BY created_at, id",
		[]any{nanos(now)},
		func(scan scan) error {
			k, err := scanKey(scan)
			out = append(out, k)
			return err
		})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// newest reads the number of the last change, and the time.
func (s *Store) newest(ctx context.Context) (n int64, err error) {
	if s.dialect.clock == "" {
		_, err = s.one(ctx, "SELECT n FROM sequences WHERE name = 'changes'", nil, &n)
		s.times(ctx)
		return n, err
	}
	return s.poll(ctx)
}

// Changes implements pat.ViewStore. What changed twice is returned once, in its present state, at its newest position.
// The newest number is read first: a change that commits meanwhile may be returned now, and again next time. After the
// database was set back, and for a seq that it never used, everything is returned, also what has ended.
func (s *Store) Changes(ctx context.Context, seq int64) ([]pat.Change, int64, error) {
	newest, err := s.newest(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := s.current(ctx); err != nil {
		return nil, 0, err
	}
	was := s.changesFloor.Load()
	if seq == newest && was == s.floor.Load() {
		return nil, newest, nil
	}
	if err := s.readFloor(ctx); err != nil {
		return nil, 0, err
	}
	floor := s.floor.Load()
	initial := seq == 0
	if seq > newest || seq < 0 || floor != was { // numbers that the database has may be those of other changes
		seq = 0
	}
	revocations, agents, keys := "seq > ?", "seq > 0 AND seq > ?", "seq > ?" // as in the partial index
	args, agentArgs := []any{seq}, []any{seq}
	if initial {
		revocations, agents, keys = "until > ?", "seq > 0 AND status <> ?", "not_after = 0 OR not_after > ?"
		args, agentArgs = []any{nanos(s.now())}, []any{string(pat.AgentActive)}
	}
	var out []pat.Change
	err = s.list(ctx, "SELECT seq, service, kind, subject, at, until, reason FROM revocations WHERE "+revocations, args,
		func(scan scan) error {
			var c pat.Change
			var r pat.Revocation
			var at, until int64
			err := scan(&c.Seq, &r.Service, &r.Kind, &r.Subject, &at, &until, &r.Reason)
			r.At, r.Until = fromNanos(at), fromNanos(until)
			c.Revocation = &r
			out = append(out, c)
			return err
		})
	if err != nil {
		return nil, 0, err
	}
	var changed []pat.Agent
	var seqs []int64
	err = s.list(ctx, "SELECT "+agentColumns+", seq FROM agents WHERE "+agents, agentArgs, func(scan scan) error {
		var at int64
		a, err := scanAgent(scan, &at)
		changed, seqs = append(changed, a), append(seqs, at)
		return err
	})
	if err == nil {
		err = s.readAllKeys(ctx, changed)
	}
	if err != nil {
		return nil, 0, err
	}
	for i := range changed {
		out = append(out, pat.Change{Seq: seqs[i], Agent: &changed[i]})
	}
	err = s.list(ctx, "SELECT "+keyColumns+", seq FROM signing_keys WHERE "+keys, args, func(scan scan) error {
		var c pat.Change
		k, err := scanKey(scan, &c.Seq)
		c.Key = &k
		out = append(out, c)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	s.changesFloor.Store(floor)
	slices.SortFunc(out, func(a, b pat.Change) int { return cmp.Compare(a.Seq, b.Seq) })
	return out, newest, nil
}

// MarkRestored must be called once after the state was set back to an earlier one: every PAT
// issued before ends, signing keys too, and every rolling or calendar window of a policy's limit that began before counts
// as used up until it is over. Lifetime counters and limits of the service's own (limit.Token, limit.Ceiling) go on from
// the restored count. PATs end with the keys that signed them, so those without a
// record in the database end too; a process whose key has ended makes a new one when it starts.
func (s *Store) MarkRestored(ctx context.Context) error {
	return s.update(ctx, func(ctx context.Context, t *tx) error { return t.markRestored(ctx) })
}

func (t *tx) markRestored(ctx context.Context) error {
	s := t.w.s
	seq, err := t.nextChange(ctx)
	if err != nil {
		return err
	}
	now, floor := nanos(t.now), nanos(t.counted)
	if _, err := t.exec(ctx, "UPDATE sequences SET n = ? WHERE name = 'restored'", floor); err != nil {
		return err
	}
	if _, err := t.exec(ctx, "UPDATE signing_keys SET not_after = ?, seq = ? WHERE not_after = 0 OR not_after > ?", now, seq,
		now); err != nil {
		return err
	}
	_, err = t.exec(ctx, `INSERT INTO revocations (service, kind, subject, at, until, reason, seq)
			SELECT service, CAST(? AS TEXT), digest, CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS TEXT), CAST(? AS BIGINT) FROM policies `+
		`WHERE true
			ON CONFLICT (service, kind, subject) DO UPDATE SET at = excluded.at, until = excluded.until, reason = excluded.reason, seq = `+
		`excluded.seq`,
		string(pat.RevokedPolicy), now, nanos(t.now.Add(pat.MaxTTL+s.opts.TokensKept)), "the state was restored", seq)
	t.after = append(t.after, func() { s.floor.Store(floor) })
	return err
}

// readFloor reads when the database was last set back to an earlier state.
func (s *Store) readFloor(ctx context.Context) error {
	var at int64
	_, err := s.one(ctx, "SELECT n FROM sequences WHERE name = 'restored'", nil, &at)
	if err == nil {
		s.floor.Store(at)
	}
	return err
}
