package records

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/internal/schema"
)

// Revoke implements pat.Tokens. A second revocation of the same subject can move At and Until only to a later time. For a token or an
// agreement, the second revocation changes nothing if the first lasts at least as long, because a revoked token or agreement never becomes
// valid again. Revoking an agreement also sets its state, and revoking an agent also blocks it, even if the agent has no record.
func (s *Records) Revoke(ctx context.Context, r pat.Revocation) error {
	switch r.Kind {
	case pat.RevokedToken, pat.RevokedAgreement, pat.RevokedAgent, pat.RevokedPolicy:
	default:
		return fmt.Errorf("revoking %s: %q is not a kind of revocation", r.Subject, r.Kind)
	}
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		if s.revokedBefore(ctx, t, &r) {
			return nil
		}
		switch r.Kind { // contended rows are locked before NextChange, because every writer waits for the number
		case pat.RevokedAgreement:
			t.Run(ctx, "UPDATE agreements SET state = ? WHERE service = ? AND id = ?", string(pat.AgreementRevoked), r.Service, r.Subject)
		case pat.RevokedAgent:
			s.agent(ctx, t, r.Service, pat.AgentID(r.Subject))
		default:
		}
		s.coverIssued(ctx, t, &r)
		s.addRevocation(ctx, t, r, t.NextChange(ctx))
		if r.Kind == pat.RevokedAgent {
			s.block(ctx, t, r.Service, r.Subject, r.Reason, r.At, t.NextChange(ctx))
		}
		return nil
	})
}

// addRevocation records a revocation with its number. If the subject is already revoked, the new revocation can only extend the existing
// one.
func (s *Records) addRevocation(ctx context.Context, t *engine.Tx, r pat.Revocation, seq int64) {
	t.Run(ctx, `INSERT INTO revocations (service, kind, subject, at, until, reason, seq) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (service, kind, subject) DO UPDATE SET reason = excluded.reason, seq = excluded.seq,
		at = CASE WHEN excluded.at > revocations.at THEN excluded.at ELSE revocations.at END,
		until = CASE WHEN excluded.until > revocations.until THEN excluded.until ELSE revocations.until END`,
		r.Service, string(r.Kind), r.Subject, engine.Nanos(r.At), engine.Nanos(r.Until), r.Reason, seq)
}

// revokedBefore reports whether a token or an agreement already has a revocation that lasts at least as long as r. If not, it records r
// without a number. Of several concurrent revocations of one subject, all but the first wait here for the first.
func (s *Records) revokedBefore(ctx context.Context, t *engine.Tx, r *pat.Revocation) bool {
	if r.Kind != pat.RevokedToken && r.Kind != pat.RevokedAgreement {
		return false
	}
	return t.Run(ctx, `INSERT INTO revocations (service, kind, subject, at, until, reason, seq) VALUES (?, ?, ?, ?, ?, ?, 0)
		ON CONFLICT (service, kind, subject) DO UPDATE SET reason = excluded.reason
		WHERE revocations.until - revocations.at < excluded.until - excluded.at`,
		r.Service, string(r.Kind), r.Subject, engine.Nanos(r.At), engine.Nanos(r.Until), r.Reason) == 0
}

// coverIssued moves the time of a revocation so that the revocation ends every PAT that was issued before. These include PATs from a
// process whose clock is ahead, and PATs whose time of issue is the start of the next second.
func (s *Records) coverIssued(ctx context.Context, t *engine.Tx, r *pat.Revocation) {
	var column string
	switch r.Kind {
	case pat.RevokedAgent, pat.RevokedPlan:
		column = "agent_id"
	case pat.RevokedPolicy:
		column = "policy_digest"
	default:
		return
	}
	other := r.Subject
	if r.Kind == pat.RevokedAgent {
		other = string(recordOf(pat.AgentID(r.Subject), pat.Static))
	}
	t.Find(ctx,
		"SELECT issued_at FROM tokens WHERE service = ? AND issued_at > ? AND "+column+" IN (?, ?) ORDER BY issued_at DESC, id DESC LIMIT 1",
		[]any{r.Service, engine.Nanos(r.At), r.Subject, other}, engine.Stored(&r.At))
}

// AddSigningKey implements keys.Store. A key is kept until the last PAT that it signed has expired; see Purge.
func (s *Records) AddSigningKey(ctx context.Context, k keys.SigningKey) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		t.Run(ctx, `INSERT INTO signing_keys (id, algorithm, jwk, created_at, not_after, seq, purpose, process)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET seq = excluded.seq, process = excluded.process,
			not_after = CASE WHEN excluded.not_after > 0 AND (signing_keys.not_after = 0 OR excluded.not_after < signing_keys.not_after)
				THEN excluded.not_after ELSE signing_keys.not_after END`,
			k.ID, k.Algorithm, engine.Blob(k.JWK), engine.Nanos(k.CreatedAt), engine.Nanos(k.NotAfter), t.NextChange(ctx), string(k.Purpose),
			k.Process)
		return nil
	})
}

const keyColumns = "id, algorithm, jwk, created_at, not_after, purpose, process"

func scanKey(scan engine.Scan, more ...any) (k keys.SigningKey, err error) {
	err = scan(append([]any{
		&k.ID, &k.Algorithm, &k.JWK, engine.Stored(&k.CreatedAt), engine.Stored(&k.NotAfter), &k.Purpose, &k.Process,
	}, more...)...)
	return k, err
}

// SigningKeys implements keys.Store. The oldest key comes first.
func (s *Records) SigningKeys(ctx context.Context, now time.Time) ([]keys.SigningKey, error) {
	return engine.All(ctx, s.db, "SELECT "+keyColumns+" FROM signing_keys WHERE not_after = 0 OR not_after > ? ORDER BY created_at, id",
		[]any{engine.Nanos(now)}, func(scan engine.Scan) (keys.SigningKey, error) { return scanKey(scan) })
}

// Changes implements pat.ViewStore. Something that changed twice is returned once, in its present state, at its newest position. The newest
// number is read first: a change that is committed in the meantime may be returned now, and again by the next call. If the database was
// restored to an earlier state since the previous call, or if the database has never used seq, Changes returns everything, including
// changes that no longer have an effect.
func (s *Records) Changes(ctx context.Context, seq int64) ([]pat.Change, int64, error) {
	newest, err := s.db.Newest(ctx)
	if err != nil {
		return nil, 0, err
	}
	if err := s.current(ctx); err != nil {
		return nil, 0, err
	}
	was := s.floor.Load()
	if seq == newest && was == engine.Nanos(s.db.Floor()) {
		return nil, newest, nil
	}
	if err := s.db.ReadFloor(ctx); err != nil {
		return nil, 0, err
	}
	floor := engine.Nanos(s.db.Floor())
	initial := seq == 0
	if seq > newest || seq < 0 || floor != was { // the database may have given seq to another change
		seq = 0
	}
	revocations, agents, signers := "seq > ?", "seq > 0 AND seq > ?", "seq > ?" // as in the partial index
	args, agentArgs := []any{seq}, []any{seq}
	if initial {
		revocations, agents, signers = "until > ?", "seq > 0 AND status <> ?", "not_after = 0 OR not_after > ?"
		args, agentArgs = []any{engine.Nanos(s.db.Now())}, []any{string(pat.AgentActive)}
	}
	var out []pat.Change
	err = s.db.List(ctx, "SELECT seq, service, kind, subject, at, until, reason FROM revocations WHERE "+revocations, args,
		func(scan engine.Scan) error {
			var c pat.Change
			var r pat.Revocation
			err := scan(&c.Seq, &r.Service, &r.Kind, &r.Subject, engine.Stored(&r.At), engine.Stored(&r.Until), &r.Reason)
			c.Revocation = &r
			out = append(out, c)
			return err
		})
	if err != nil {
		return nil, 0, err
	}
	var changed []pat.Agent
	var seqs []int64
	err = s.db.List(ctx, "SELECT "+agentColumns+", seq FROM agents WHERE "+agents, agentArgs, func(scan engine.Scan) error {
		var at int64
		a, err := scanAgent(scan, &at)
		changed, seqs = append(changed, a), append(seqs, at)
		return err
	})
	if err == nil {
		err = s.readKeys(ctx, changed)
	}
	if err != nil {
		return nil, 0, err
	}
	for i := range changed {
		out = append(out, pat.Change{Seq: seqs[i], Agent: &changed[i]})
	}
	err = s.db.List(ctx, "SELECT "+keyColumns+", seq FROM signing_keys WHERE "+signers, args, func(scan engine.Scan) error {
		var c pat.Change
		k, err := scanKey(scan, &c.Seq)
		c.Key = &k
		out = append(out, c)
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	stops, err := s.changedStops(ctx, seq, initial)
	if err != nil {
		return nil, 0, err
	}
	out = append(out, stops...)
	s.floor.Store(floor)
	slices.SortFunc(out, func(a, b pat.Change) int { return cmp.Compare(a.Seq, b.Seq) })
	return out, newest, nil
}

// MarkRestored must be called once after the database was restored to an earlier state. It ends every PAT and every signing key that
// exists. l defines how the limits of policies count. The service's own limits (limit.Token, limit.Ceiling) continue from the restored
// count unless l deletes it. A PAT ends with the key that signed it, so PATs without a record in the database end too. A process whose key
// has ended makes a new key when the process starts.
func (s *Records) MarkRestored(ctx context.Context, l store.RestoredLimits) error {
	return s.db.Update(ctx, func(ctx context.Context, t *engine.Tx) error { return t.MarkRestored(ctx, l) })
}

// errCarriedOver means that another process moved the state of a service to another id.
var errCarriedOver = errors.New("the state of a service was moved to another id: " +
	"restart uimgate with a configuration that uses the new id")

// current returns an error if another process has changed the database in such a way that this process cannot continue.
func (s *Records) current(ctx context.Context) error {
	if s.db.Sharing() == engine.Exclusive {
		return nil
	}
	var needs, moves int64
	_, err := s.db.One(ctx, "SELECT COALESCE(MAX(CASE WHEN name = 'needs' THEN n END), 0), "+
		"COALESCE(MAX(CASE WHEN name = 'moves' THEN n END), 0) FROM sequences", nil, &needs, &moves)
	switch {
	case err != nil:
		return err
	case needs > schema.Newest():
		return engine.Unavailable(schema.ErrNewer)
	case moves != s.moves:
		return engine.Unavailable(errCarriedOver)
	}
	return nil
}
