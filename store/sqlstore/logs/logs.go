// Package logs stores the logs of services: Merkle trees over the ledger, in tiles, with their checkpoints. Calls of agents never wait for
// this package: it reads new lines without locks, and writes only to tables that calls do not use.
//
// Any number of processes may append, but Grow changes nothing if another one has appended since the caller read the state. A log therefore
// never forks.
package logs

import (
	"context"
	"database/sql"
	"time"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// Logs stores logs. It is safe for concurrent use.
type Logs struct{ db *engine.DB }

// New returns the logs of a database.
func New(db *engine.DB) *Logs { return &Logs{db} }

const (
	logged = "logged" // names of rows of sequences
	last   = "ledger"

	selectProgress = "SELECT name, n FROM sequences WHERE name IN (?, ?)"
	// One snapshot has all lines up to the last one of the result, because ledger numbers become visible in the order of commits.
	selectLines = `SELECT seq, service, epoch, leaf, 0 AS own FROM ledger WHERE seq > ? AND k >= 0
		UNION ALL SELECT seq, service, epoch, leaf, 1 AS own FROM log_entries WHERE seq > ? ORDER BY seq LIMIT ?`
	selectOldest  = "SELECT at FROM ledger WHERE seq > ? AND k >= 0 ORDER BY seq LIMIT 1"
	selectKeys    = "SELECT service, purpose, kid FROM log_entries WHERE kid <> '' ORDER BY service, purpose, kid"
	selectEntries = "SELECT seq, epoch, purpose, kid, receipt, leaf FROM log_entries WHERE service = ? ORDER BY seq"
	headColumns   = `e.service, e.epoch, e.issuer, e.first_seq, COALESCE(h.size, 0), COALESCE(h.seq, 0), h.root, COALESCE(h.checkpoint, ''),
		COALESCE(h.kid, ''), COALESCE(h.at, 0), COALESCE(h.cosigned_at, 0)`
	fromHeads   = " FROM epochs e LEFT JOIN log_heads h ON h.service = e.service AND h.epoch = e.epoch"
	selectHeads = "SELECT " + headColumns + fromHeads + " ORDER BY e.service, e.epoch"
	selectHead  = "SELECT " + headColumns + fromHeads + " WHERE e.service = ? AND h.size > 0 ORDER BY e.epoch DESC LIMIT 1"
	selectEpoch = "SELECT " + headColumns + fromHeads + " WHERE e.service = ? AND e.epoch = ? AND h.size > 0"
	selectTile  = "SELECT hashes FROM log_tiles WHERE service = ? AND epoch = ? AND level = ? AND n = ?"
	selectIndex = `SELECT n, hashes FROM log_tiles WHERE service = ? AND epoch = ? AND level = 0 AND first_seq <= ?
		ORDER BY first_seq DESC LIMIT 1`
)

// readWithin limits a query that reads new lines.
const readWithin = 5 * time.Second

// Progress returns the last ledger number, and the number up to which the logs contain the ledger.
func (l *Logs) Progress(ctx context.Context) (p store.LogProgress, err error) {
	err = l.db.List(ctx, selectProgress, []any{logged, last}, func(scan engine.Scan) error {
		var name string
		var n int64
		err := scan(&name, &n)
		if name == logged {
			p.Logged = n
		} else {
			p.Last = n
		}
		return err
	})
	return p, err
}

// NewLines returns up to limit lines after a ledger number, in the order of their numbers. The lines of one service and epoch are in the
// order of their log. Lines that are still in the journal are missing; they have higher numbers than all others.
func (l *Logs) NewLines(ctx context.Context, after int64, limit int) (lines []store.LogLine, err error) {
	var line store.LogLine
	var leaf sql.RawBytes // not copied
	err = l.read(ctx, selectLines, []any{after, after, limit}, func(scan engine.Scan) error {
		err := scan(&line.Seq, &line.Service, &line.Epoch, &leaf, &line.Own)
		line.Leaf = evidence.HashOf(leaf)
		lines = append(lines, line)
		return err
	})
	return lines, err
}

// Oldest returns the time of the first line after a ledger number, or the zero time if there is none.
func (l *Logs) Oldest(ctx context.Context, after int64) (at time.Time, err error) {
	err = l.read(ctx, selectOldest, []any{after}, func(scan engine.Scan) error { return scan(engine.Stored(&at)) })
	return at, err
}

// read runs a query on the tables as they are, without the changes that are still in the journal.
func (l *Logs) read(ctx context.Context, query string, args []any, each func(engine.Scan) error) error {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	if err := l.db.Ask(ctx, query, args, each); err != nil {
		return engine.Unavailable(err)
	}
	return nil
}

// Heads returns the logs of all services and epochs, in this order. A log that has no leaf has the size 0.
func (l *Logs) Heads(ctx context.Context) ([]store.LogHead, error) {
	return engine.All(ctx, l.db, selectHeads, nil, scanHead)
}

// Head returns the newest log of a service that has a leaf. The error is store.ErrNotFound if there is none.
func (l *Logs) Head(ctx context.Context, service string) (store.LogHead, error) {
	return engine.First(ctx, l.db, store.ErrNotFound, selectHead, []any{service}, scanHead)
}

// HeadOf returns the log of a service in one epoch. The error is store.ErrNotFound if the log has no leaf.
func (l *Logs) HeadOf(ctx context.Context, service string, epoch int64) (store.LogHead, error) {
	return engine.First(ctx, l.db, store.ErrNotFound, selectEpoch, []any{service, epoch}, scanHead)
}

func scanHead(scan engine.Scan) (h store.LogHead, err error) {
	var root []byte
	err = scan(&h.Service, &h.Epoch, &h.Issuer, &h.FirstSeq, &h.Size, &h.Seq, &root, &h.Checkpoint, &h.KeyID, engine.Stored(&h.At),
		engine.Stored(&h.CosignedAt))
	h.Root = evidence.HashOf(root)
	return h, err
}

// Tile returns the hashes of a tile. The error is store.ErrNotFound if the tile does not exist.
func (l *Logs) Tile(ctx context.Context, service string, epoch int64, level int, n int64) ([]byte, error) {
	args := []any{service, epoch, level, n}
	return engine.First(ctx, l.db, store.ErrNotFound, selectTile, args, func(scan engine.Scan) (hashes []byte, err error) {
		err = scan(&hashes)
		return hashes, err
	})
}

// LoggedKeys returns the keys that entries of logs introduce.
func (l *Logs) LoggedKeys(ctx context.Context) ([]store.LogKey, error) {
	return engine.All(ctx, l.db, selectKeys, nil, func(scan engine.Scan) (k store.LogKey, err error) {
		err = scan(&k.Service, &k.Purpose, &k.KeyID)
		return k, err
	})
}

// LogEntries returns the entries of the logs of a service that belong to no account, in the order of their numbers.
func (l *Logs) LogEntries(ctx context.Context, service string) ([]store.LogEntry, error) {
	return engine.All(ctx, l.db, selectEntries, []any{service}, func(scan engine.Scan) (store.LogEntry, error) {
		e := store.LogEntry{Service: service}
		var leaf []byte
		err := scan(&e.Seq, &e.Epoch, &e.Purpose, &e.KeyID, &e.Receipt, &leaf)
		e.Leaf = evidence.HashOf(leaf)
		return e, err
	})
}
