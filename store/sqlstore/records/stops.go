package records

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Stop records a stop, which every process reads with Changes. A stop that is in force keeps its time, reason and actor. It returns the
// record, or store.ErrFull if store.MostStops other stops are in force.
func (s *Records) Stop(ctx context.Context, stop pat.Stop) (made pat.Stop, err error) {
	if !slices.Contains(pat.StopKinds, stop.Kind) || (stop.Subject != "") != stop.Kind.HasSubject() {
		return pat.Stop{}, fmt.Errorf("stopping: %q with the subject %q is not a stop", stop.Kind, stop.Subject)
	}
	err = s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		seq := t.NextChange(ctx) // also the lock between concurrent stops
		before, found := s.stopInForce(ctx, t, stop)
		if found {
			made = before
			return nil
		}
		made = stop
		made.At, made.EndedAt, made.EndedBy, made.Change = t.Now(), time.Time{}, "", seq
		var inForce int64
		t.Find(ctx, "SELECT COUNT(*) FROM stops WHERE ended_at = 0", nil, &inForce)
		if inForce >= store.MostStops {
			return store.ErrFull
		}
		t.Run(ctx, `INSERT INTO stops (service, kind, subject, reason, actor, at, ended_at, ended_by, seq)
			VALUES (?, ?, ?, ?, ?, ?, 0, '', ?) ON CONFLICT (service, kind, subject) DO UPDATE SET reason = excluded.reason,
			actor = excluded.actor, at = excluded.at, ended_at = 0, ended_by = '', seq = excluded.seq`,
			made.Service, string(made.Kind), made.Subject, made.Reason, made.By, engine.Nanos(made.At), seq)
		return nil
	})
	return made, err
}

// Resume ends the stop with the service, kind and subject of stop, and records stop.EndedBy. It returns the record, or store.ErrNotFound if
// no such stop is in force. Even then, every process drops such a stop if it still has it, for example because the stop was made before the
// database was restored.
func (s *Records) Resume(ctx context.Context, stop pat.Stop) (ended pat.Stop, err error) {
	found := false
	err = s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		seq := t.NextChange(ctx)
		if ended, found = s.stopInForce(ctx, t, stop); !found {
			ended = stop
		}
		ended.EndedAt, ended.EndedBy, ended.Change = t.Now(), stop.EndedBy, seq
		t.Run(ctx, `INSERT INTO stops (service, kind, subject, reason, actor, at, ended_at, ended_by, seq)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (service, kind, subject) DO UPDATE SET
			ended_at = CASE WHEN stops.ended_at = 0 THEN excluded.ended_at ELSE stops.ended_at END,
			ended_by = CASE WHEN stops.ended_at = 0 THEN excluded.ended_by ELSE stops.ended_by END, seq = excluded.seq`,
			ended.Service, string(ended.Kind), ended.Subject, ended.Reason, ended.By, engine.Nanos(ended.At), engine.Nanos(ended.EndedAt),
			ended.EndedBy, seq)
		return nil
	})
	if err == nil && !found {
		err = store.ErrNotFound
	}
	return ended, err
}

const stopColumns = "service, kind, subject, reason, actor, at, ended_at, ended_by, seq"

func scanStop(scan engine.Scan) (stop pat.Stop, err error) {
	err = scan(&stop.Service, &stop.Kind, &stop.Subject, &stop.Reason, &stop.By, engine.Stored(&stop.At), engine.Stored(&stop.EndedAt),
		&stop.EndedBy, &stop.Change)
	return stop, err
}

// stopInForce reads a stop inside a transaction.
func (s *Records) stopInForce(ctx context.Context, t *engine.Tx, stop pat.Stop) (was pat.Stop, found bool) {
	return engine.Record(ctx, t, scanStop, "SELECT "+stopColumns+" FROM stops WHERE service = ? AND kind = ? AND subject = ? AND ended_at = 0",
		stop.Service, string(stop.Kind), stop.Subject)
}

// Stops returns the stops in force, the newest first.
func (s *Records) Stops(ctx context.Context) ([]pat.Stop, error) {
	return engine.All(ctx, s.db, "SELECT "+stopColumns+" FROM stops WHERE ended_at = 0 ORDER BY at DESC, service DESC, kind DESC, subject DESC LIMIT ?",
		[]any{store.MostStops}, scanStop)
}

// EndedStops returns the stops that ended last, the newest end first, at most limit. A stop is kept for 30 days after its end.
func (s *Records) EndedStops(ctx context.Context, limit int) ([]pat.Stop, error) {
	return engine.All(ctx, s.db, "SELECT "+stopColumns+" FROM stops WHERE ended_at > 0 ORDER BY ended_at DESC LIMIT ?", []any{limit}, scanStop)
}

// changedStops returns the stops that have changed after seq or, if initial is set, those in force.
func (s *Records) changedStops(ctx context.Context, seq int64, initial bool) (list []pat.Change, err error) {
	query, args := "SELECT "+stopColumns+" FROM stops WHERE seq > ?", []any{seq}
	if initial {
		query, args = "SELECT "+stopColumns+" FROM stops WHERE ended_at = 0", nil
	}
	err = s.db.List(ctx, query, args, func(scan engine.Scan) error {
		stop, err := scanStop(scan)
		list = append(list, pat.Change{Seq: stop.Change, Stop: &stop})
		return err
	})
	return list, err
}
