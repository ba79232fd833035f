package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// ErrNotEmbedded means that the state is in PostgreSQL, which must be copied with its own tools.
var ErrNotEmbedded = errors.New("the state is in PostgreSQL")

// A Keeper backs up, restores, moves and verifies the state of the gateway that a configuration describes. It works directly on the data
// directory and the database, and does not need a running gateway.
type Keeper struct {
	Config   *config.Config
	Now      func() time.Time
	Progress Progress
	Limits   store.RestoredLimits // for Restore and AfterExternal
}

// Progress reports on work on a large state. Its functions are called every few seconds, and must not be nil.
type Progress struct {
	// Copied is called with the number of bytes copied so far, and the total number of bytes.
	Copied func(part, whole int64)
	// Checking is called with the time that the check of the copy has taken so far.
	Checking func(time.Duration)
}

// A Copy describes a state that was backed up, restored, moved or verified.
type Copy struct {
	Engine config.Engine `json:"engine"`
	File   string        `json:"file,omitempty"`  // empty if the state is in PostgreSQL
	Bytes  int64         `json:"bytes,omitempty"` // the size of File, with its write-ahead log
	sqlstore.Contents
	SetAside string `json:"set_aside,omitempty"` // the file to which a restore moved the previous state; empty if there was none
}

// progressEvery is the interval between calls to Progress.
const progressEvery = 5 * time.Second

func copyOf(file string, c sqlstore.Contents) Copy {
	out := Copy{Contents: c, Engine: config.Postgres, File: file}
	if file != "" {
		out.Engine = config.SQLite
	}
	for _, suffix := range []string{"", "-wal"} { // while a gateway runs, much of its state is in the write-ahead log
		if info, err := os.Stat(file + suffix); err == nil && file != "" {
			out.Bytes += info.Size()
		}
	}
	return out
}

// Backup writes a snapshot of the state to a new file; to is its path. The file appears only once it is complete, checked and synced. A
// gateway may be running. Backup returns ErrNotEmbedded if the state is in PostgreSQL.
func (k *Keeper) Backup(ctx context.Context, to string) (made Copy, err error) {
	if k.Config.Store.Engine != config.SQLite {
		return Copy{}, ErrNotEmbedded
	}
	state := config.StatePath(k.Config.Data)
	if _, err := os.Lstat(to); err == nil {
		return Copy{}, fmt.Errorf("%s already exists: choose a new file for the backup", to)
	}
	if _, err := os.Stat(state); errors.Is(err, fs.ErrNotExist) {
		return Copy{}, fmt.Errorf("%s does not exist: check that this is the data directory, and that the gateway has run", state)
	}
	temp, done, err := tempBeside(to)
	if err != nil {
		return Copy{}, fmt.Errorf("writing the backup: %w", err)
	}
	defer done()
	stop := k.watchCopy(ctx, state, temp)
	err = sqlstore.Backup(ctx, state, temp)
	stop()
	if err != nil {
		return Copy{}, err
	}
	found, err := k.inspect(ctx, temp)
	if err != nil {
		return Copy{}, fmt.Errorf("the copy did not pass its check, so no backup was written: %w", err)
	}
	if err := syncPath(temp); err != nil {
		return Copy{}, fmt.Errorf("writing the backup: %w", err)
	}
	if err := placeNew(temp, to); err != nil {
		return Copy{}, fmt.Errorf("writing the backup: %w", err)
	}
	return copyOf(to, found), nil
}

// VerifyLedger checks that the balance of each account is the sum of its ledger entries, and rebuilds the entries: see sqlstore.Verify. It
// also verifies the agreements of all charges. If something differs, the error wraps store.ErrUnbalanced or store.ErrAltered. A gateway may
// be running.
func (k *Keeper) VerifyLedger(ctx context.Context) (Copy, error) {
	found, _, err := k.verifyLedger(ctx, nil)
	return found, err
}

// VerifyLedgerSince is like VerifyLedger, but rebuilds only the entries that were added since the check that wrote the file at path. It
// then replaces the file with one that states the present point. If there is no such file, it checks the whole ledger, and whole is true.
// The file has at most mostPoint bytes. The error also wraps sqlstore.ErrBeforePoint if the ledger has fewer entries than the file states.
// If the check fails, the file is not changed.
func (k *Keeper) VerifyLedgerSince(ctx context.Context, path string) (found Copy, whole bool, err error) {
	since, err := readPoint(path)
	if err != nil {
		return Copy{}, false, fmt.Errorf("reading the point of the last check from %s: %w", path, err)
	}
	var from *sqlstore.VerifiedPoint
	if since != nil {
		from = &since.VerifiedPoint
	}
	found, now, err := k.verifyLedger(ctx, from)
	if err != nil {
		return Copy{}, false, err
	}
	if err := writePoint(path, verifiedPoint{VerifiedPoint: now}); err != nil {
		return Copy{}, false, fmt.Errorf("the ledger is consistent, but the point could not be written to %s: %w", path, err)
	}
	return found, since == nil, nil
}

func (k *Keeper) verifyLedger(ctx context.Context, since *sqlstore.VerifiedPoint) (Copy, sqlstore.VerifiedPoint, error) {
	place, file := k.Config.Store.URL.Reveal(), ""
	if k.Config.Store.Engine == config.SQLite {
		place = config.StatePath(k.Config.Data)
		file = place
		if _, err := os.Stat(place); errors.Is(err, fs.ErrNotExist) {
			return Copy{}, sqlstore.VerifiedPoint{},
				fmt.Errorf("%s does not exist: check that this is the data directory, and that the gateway has run", place)
		}
	}
	found, now, err := sqlstore.VerifySince(ctx, place, since)
	if err == nil {
		err = sqlstore.VerifyAgreements(ctx, place)
	}
	if errors.Is(err, sqlstore.ErrEmpty) {
		return Copy{}, sqlstore.VerifiedPoint{}, fmt.Errorf("%w: check that store names the right database, and that the gateway has run", err)
	}
	if err != nil {
		return Copy{}, sqlstore.VerifiedPoint{}, err
	}
	return copyOf(file, found), now, nil
}

// placeNew renames a file, and makes the new name durable. The error wraps fs.ErrExist if the new name already exists.
func placeNew(from, to string) error {
	err := os.Link(from, to) // unlike os.Rename, os.Link never replaces a file
	switch {
	case err == nil:
		if err := os.Remove(from); err != nil {
			return err
		}
	case errors.Is(err, fs.ErrExist):
		return err
	default: // the file system does not support hard links
		if _, err := os.Lstat(to); err == nil {
			return fmt.Errorf("%s: %w", to, fs.ErrExist)
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
	}
	return syncPath(filepath.Dir(to))
}

// syncPath syncs a file, or a directory and with it the names of its files.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// inspect checks that a copy is complete, and reports its progress.
func (k *Keeper) inspect(ctx context.Context, path string) (sqlstore.Contents, error) {
	start := k.Now()
	defer report(ctx, func() { k.Progress.Checking(k.Now().Sub(start)) })()
	return sqlstore.Inspect(ctx, path)
}

// watchCopy reports the size of a growing copy until stop is called.
func (k *Keeper) watchCopy(ctx context.Context, from, to string) (stop func()) {
	return report(ctx, func() {
		whole, err := os.Stat(from)
		part, err2 := os.Stat(to)
		if err == nil && err2 == nil {
			k.Progress.Copied(part.Size(), whole.Size())
		}
	})
}

// report calls a function every few seconds until stop is called or ctx is done. stop waits until a call in progress has ended.
func report(ctx context.Context, do func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = every(ctx, progressEvery, do)
	}()
	return func() { cancel(); <-ended }
}
