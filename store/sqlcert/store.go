// Package sqlcert stores the accounts, keys and certificates of an ACME client in the tables certificate_* of a database of
// store/sqlstore, SQLite or PostgreSQL. Processes that share a database share the certificates: one process orders each certificate, and
// every process can answer the challenges of the order.
//
//	files := sqlcert.New(state)
//	client := certmagic.New(cache, certmagic.Config{Storage: files})
//
// Private keys are not encrypted: anyone who can read the database can read them.
package sqlcert

import (
	"context"
	"crypto/rand"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore"
	"github.com/uimgate/uimgate/store/sqlstore/engine"

	"github.com/caddyserver/certmagic"
)

// maxValue is the maximum size of one value, in bytes. A certificate chain has a few thousand bytes.
const maxValue = 1 << 20

const (
	// lease is how long a lock is held if it is not extended. If the holder crashes, other processes wait this long for the lock.
	lease = 2 * time.Minute
	// extendEvery is how often a holder extends its lock.
	extendEvery = lease / 4
	// askEvery is how often Lock tries to take a lock that another holder has.
	askEvery = time.Second
)

// A Store is the storage of an ACME client. It is safe for concurrent use.
type Store struct {
	db *engine.DB

	mu   sync.Mutex
	held map[string]heldLock // by the name of the lock
}

type heldLock struct {
	holder string
	stop   context.CancelFunc // ends the goroutine that extends the lock
}

var _ certmagic.Storage = (*Store)(nil)

// New returns a Store that uses the given database. The caller closes the database.
func New(db *sqlstore.Store) *Store { return &Store{db: db.Engine(), held: map[string]heldLock{}} }

// Store writes a value of at most 1 MiB.
func (s *Store) Store(ctx context.Context, key string, value []byte) error {
	if len(value) > maxValue {
		return fmt.Errorf("storing %s: the value has %d bytes; at most %d are allowed", key, len(value), maxValue)
	}
	_, err := s.db.Run(ctx, `INSERT INTO certificate_files (name, value, modified) VALUES (?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET value = excluded.value, modified = excluded.modified`, key, value, engine.Nanos(s.db.Now()))
	return err
}

// Load returns a value. The error wraps fs.ErrNotExist if there is none.
func (s *Store) Load(ctx context.Context, key string) ([]byte, error) {
	return engine.First(ctx, s.db, notExist(key), "SELECT value FROM certificate_files WHERE name = ?", []any{key},
		func(scan engine.Scan) (value []byte, err error) {
			err = scan(&value)
			return value, err
		})
}

// Delete removes a value, or all values below a directory. The error wraps fs.ErrNotExist if there are none.
func (s *Store) Delete(ctx context.Context, key string) error {
	n, err := s.db.Run(ctx, "DELETE FROM certificate_files WHERE name = ? OR substr(name, 1, ?) = ?", key, len([]rune(below(key))), below(key))
	if err == nil && n == 0 {
		err = notExist(key)
	}
	return err
}

// Exists reports whether there is a value or a directory with this name. It returns false if the database cannot be read.
func (s *Store) Exists(ctx context.Context, key string) bool {
	_, err := s.Stat(ctx, key)
	return err == nil
}

// List returns the names below a directory: those of all values if recursive is set, and otherwise those of the values and directories at
// its first level. The error wraps fs.ErrNotExist if there are none.
func (s *Store) List(ctx context.Context, path string, recursive bool) (names []string, err error) {
	dir := below(path)
	err = s.db.List(ctx, "SELECT name FROM certificate_files WHERE substr(name, 1, ?) = ? ORDER BY name", []any{len([]rune(dir)), dir},
		func(scan engine.Scan) error {
			var name string
			if err := scan(&name); err != nil {
				return err
			}
			if first, _, deeper := strings.Cut(name[len(dir):], "/"); deeper && !recursive {
				name = dir + first
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			return nil
		})
	if err == nil && len(names) == 0 {
		err = notExist(path)
	}
	return names, err
}

// Stat describes a value or a directory. The error wraps fs.ErrNotExist if there is neither.
func (s *Store) Stat(ctx context.Context, key string) (info certmagic.KeyInfo, err error) {
	info.Key = key
	info.IsTerminal, err = s.db.One(ctx, "SELECT length(value), modified FROM certificate_files WHERE name = ?", []any{key},
		&info.Size, engine.Stored(&info.Modified))
	if err != nil || info.IsTerminal {
		return info, err
	}
	_, err = s.List(ctx, key, false)
	return info, err
}

// Lock waits until this process holds the lock with the given name, or until ctx ends. Unlock releases the lock. If the process ends, the
// lock expires after at most two minutes.
func (s *Store) Lock(ctx context.Context, name string) error {
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		if took, err := s.TryLock(ctx, name); took || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// TryLock takes the lock with the given name if it is free, and reports whether it took the lock. The lock is extended until Unlock, even
// if ctx ends.
func (s *Store) TryLock(ctx context.Context, name string) (took bool, err error) {
	holder := rand.Text()
	if took, err = s.take(ctx, name, holder); !took || err != nil {
		return false, err
	}
	extending, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.mu.Lock()
	s.held[name] = heldLock{holder, stop}
	s.mu.Unlock()
	go s.extend(extending, name, holder)
	return true, nil
}

// take takes a free lock, or extends a lock of the same holder, and reports whether holder now has the lock.
func (s *Store) take(ctx context.Context, name, holder string) (took bool, err error) {
	err = s.db.Aside(ctx, func(ctx context.Context, t *engine.Tx) error {
		now := t.Now()
		took = t.Run(ctx, `INSERT INTO certificate_locks (name, holder, held_until) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, held_until = excluded.held_until
			WHERE certificate_locks.held_until < ? OR certificate_locks.holder = excluded.holder`,
			name, holder, engine.Nanos(now.Add(lease)), engine.Nanos(now)) > 0
		return nil
	})
	return took, err
}

// extend extends a lock until ctx ends or another holder has taken the lock. If the database cannot be reached for longer than the lease,
// another process may take the lock.
func (s *Store) extend(ctx context.Context, name, holder string) {
	tick := time.NewTicker(extendEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if took, err := s.take(ctx, name, holder); err == nil && !took {
				return
			}
		}
	}
}

// Unlock releases a lock that this process holds. It returns an error if this process does not hold the lock.
func (s *Store) Unlock(ctx context.Context, name string) error {
	s.mu.Lock()
	held, is := s.held[name]
	delete(s.held, name)
	s.mu.Unlock()
	if !is {
		return fmt.Errorf("unlocking %s: this process does not hold the lock", name)
	}
	held.stop()
	_, err := s.db.Run(ctx, "DELETE FROM certificate_locks WHERE name = ? AND holder = ?", name, held.holder)
	return err
}

// below returns the prefix of the names in a directory.
func below(path string) string {
	if path == "" {
		return ""
	}
	return strings.TrimSuffix(path, "/") + "/"
}

func notExist(key string) error { return fmt.Errorf("%s: %w", key, fs.ErrNotExist) }
