package records

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

const processColumns = "id, name, version, configuration, started_at, reported_at, read_seq"

// ReportProcess records a report of this process in one transaction. If no other process can use the database, the records of earlier
// processes are deleted.
func (s *Records) ReportProcess(ctx context.Context, r store.ProcessReport) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		s.writeProcess(ctx, t, &r.Process)
		writeStopReads(ctx, t, r.Process.ID, r.Stops)
		for _, f := range r.Figures {
			t.Run(ctx, `INSERT INTO call_figures (period, at, process, sums) VALUES (?, ?, ?, ?)
				ON CONFLICT (period, at, process) DO UPDATE SET sums = excluded.sums`,
				int64(f.Length), engine.Nanos(f.At), f.Process, string(f.Sums))
		}
		return nil
	})
}

func (s *Records) writeProcess(ctx context.Context, t *engine.Tx, p *store.Process) {
	if s.db.Sharing() == engine.Exclusive {
		t.Run(ctx, "DELETE FROM processes WHERE reported_at >= 0 AND id <> ?", p.ID)
	} else {
		t.Run(ctx, `DELETE FROM processes WHERE id IN (SELECT id FROM processes WHERE id <> ?
			ORDER BY reported_at DESC LIMIT ? OFFSET ?)`, p.ID, store.MostProcesses, store.MostProcesses-1)
	}
	t.Run(ctx, "INSERT INTO processes ("+processColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET configuration = excluded.configuration, reported_at = excluded.reported_at, read_seq = excluded.read_seq`,
		p.ID, p.Name, p.Version, p.Configuration, engine.Nanos(p.StartedAt), engine.Nanos(t.Now()), p.Read)
}

// writeStopReads records when a process read changes of stops. The first record of a change is kept.
func writeStopReads(ctx context.Context, t *engine.Tx, process string, list []store.StopRead) {
	for _, r := range list {
		t.Run(ctx, "INSERT INTO stop_reads (process, seq, at) VALUES (?, ?, ?) ON CONFLICT (process, seq) DO NOTHING",
			process, r.Change, engine.Nanos(r.At))
	}
	if len(list) > 0 {
		t.Run(ctx, `DELETE FROM stop_reads WHERE process = ? AND seq <=
			COALESCE((SELECT seq FROM stop_reads WHERE process = ? ORDER BY seq DESC LIMIT 1 OFFSET ?), -1)`, process, process, store.MostStopReads)
	}
}

// EndProcess deletes the record of a process that ends.
func (s *Records) EndProcess(ctx context.Context, id string) error {
	_, err := s.db.Run(ctx, "DELETE FROM processes WHERE id = ?", id)
	return err
}

// Processes returns the processes that have reported within store.ProcessesKept, ordered by name, and how many processes have the database
// open.
func (s *Records) Processes(ctx context.Context) (list []store.Process, open int, err error) {
	now := s.db.Now()
	list, err = engine.All(ctx, s.db, "SELECT "+processColumns+" FROM processes WHERE reported_at > ? ORDER BY reported_at DESC LIMIT ?",
		[]any{engine.Nanos(now.Add(-store.ProcessesKept)), store.MostProcesses}, func(scan engine.Scan) (p store.Process, err error) {
			err = scan(&p.ID, &p.Name, &p.Version, &p.Configuration, engine.Stored(&p.StartedAt), engine.Stored(&p.ReportedAt), &p.Read)
			return p, err
		})
	if err != nil {
		return nil, 0, err
	}
	slices.SortFunc(list, func(a, b store.Process) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	open, err = s.db.OpenBy(ctx)
	return list, open, err
}

// StopReads returns when processes read changes of stops, in no particular order.
func (s *Records) StopReads(ctx context.Context, changes []int64) ([]store.StopRead, error) {
	if len(changes) == 0 {
		return nil, nil
	}
	args := make([]any, 0, len(changes))
	for _, c := range changes {
		args = append(args, c)
	}
	return engine.All(ctx, s.db, "SELECT process, seq, at FROM stop_reads WHERE seq IN ("+
		strings.TrimSuffix(strings.Repeat("?, ", len(changes)), ", ")+fmt.Sprintf(") LIMIT %d", mostStopReadRows), args,
		func(scan engine.Scan) (r store.StopRead, err error) {
			err = scan(&r.Process, &r.Change, engine.Stored(&r.At))
			return r, err
		})
}

// mostStopReadRows bounds the result of StopReads.
const mostStopReadRows = 100_000

// CallFigures returns the figures of periods of a length that begin at or after a time, except those of one process.
func (s *Records) CallFigures(ctx context.Context, length time.Duration, from time.Time, except string) ([]store.CallFigures, error) {
	return engine.All(ctx, s.db, "SELECT at, process, sums FROM call_figures WHERE period = ? AND at >= ? AND process <> ? LIMIT ?",
		[]any{int64(length), engine.Nanos(from), except, 61 * store.MostProcesses}, func(scan engine.Scan) (store.CallFigures, error) {
			f := store.CallFigures{Length: length}
			err := scan(engine.Stored(&f.At), &f.Process, &f.Sums)
			return f, err
		})
}

// AddReload records a reload. Only the newest store.MostReloads are kept.
func (s *Records) AddReload(ctx context.Context, r store.Reload) error {
	return s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		t.Run(ctx, "INSERT INTO reloads (at, process, record) VALUES (?, ?, ?) ON CONFLICT (at, process) DO NOTHING",
			engine.Nanos(r.At), r.Process, string(r.Record))
		t.Run(ctx, "DELETE FROM reloads WHERE at < (SELECT at FROM reloads ORDER BY at DESC LIMIT 1 OFFSET ?)", store.MostReloads-1)
		return nil
	})
}

// Reloads returns the newest reloads, the newest first, at most limit.
func (s *Records) Reloads(ctx context.Context, limit int) ([]store.Reload, error) {
	return engine.All(ctx, s.db, "SELECT at, process, record FROM reloads ORDER BY at DESC, process DESC LIMIT ?", []any{limit},
		func(scan engine.Scan) (r store.Reload, err error) {
			err = scan(engine.Stored(&r.At), &r.Process, &r.Record)
			return r, err
		})
}
