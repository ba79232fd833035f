// Package sqlstore keeps the state of uimgate in an SQL database: execution records, limits, charges,
// nonces (package store), agreements, tokens and revocations (package pat). It is the only package
// that knows SQL.
//
//	s, err := sqlstore.Open(ctx, filepath.Join(data, "state.db"), sqlstore.Options{Now: time.Now})
//	defer s.Close()
//	begun, err := s.Begin(ctx, request)
//
// The database is SQLite with a write-ahead log that is flushed at every commit. Writers queue their
// operations; one goroutine takes what is waiting, runs each operation inside a savepoint of one
// transaction, commits once and answers all of them. So an answer means "durable", one disk flush
// serves many callers, and an operation that fails takes nothing and harms no other. Readers have
// connections of their own and never wait for writers.
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

var (
	_ pat.Store        = (*Store)(nil)
	_ store.Executions = (*Store)(nil)
	_ store.Operations = (*Store)(nil)
)

// Options of Open. The zero value of each but Now is a sound default.
type Options struct {
	// Now is the store's clock, on which limits, deadlines and expiries are counted. Required.
	Now func() time.Time
	// Queue bounds how many writes may wait; one more is refused with store.ErrUnavailable. Default 4096.
	Queue int
	// Batch bounds how many writes share one transaction. Default 256.
	Batch int
	// Readers bounds the connections that read. Default 4.
	Readers int
	// TokensKept is how long after its expiry the record of a token is kept; at least the
	// renew grace and the leeway. Default 24 h.
	TokensKept time.Duration
	// UnusedKept is how long an agreement is kept under which no call was ever made. Default 30 days.
	UnusedKept time.Duration
	// LedgerKept is how long charges and top-ups are kept after they ended; their sums stay. Default 400 days.
	LedgerKept time.Duration
}

// A Store is one open database. It is safe for concurrent use.
type Store struct {
	dialect *dialect
	opts    Options
	write   *sql.DB
	read    *sql.DB

	queue   chan *op
	writers sync.WaitGroup
	closing sync.RWMutex // held for reading while an op is queued
	closed  bool

	used    *recent      // agreements known to have used_at set
	floor   atomic.Int64 // when the database was last taken back to an earlier state; 0: never
	changes signal
}

// Open opens the database file at path, makes it (mode 0600) if it is not there, and brings its schema
// up to date. A file of a newer version of uimgate is refused. Close it when done; ctx bounds the opening only.
func Open(ctx context.Context, path string, opts Options) (*Store, error) {
	return open(ctx, path, opts, sqliteDialect())
}

func open(ctx context.Context, path string, opts Options, d *dialect) (*Store, error) {
	if opts.Now == nil {
		return nil, errors.New("opening the store: Options.Now is required")
	}
	opts = opts.withDefaults()
	write, read, err := d.open(ctx, path, opts)
	if err != nil {
		return nil, fmt.Errorf("opening the database %s: %w", path, err)
	}
	s := &Store{dialect: d, opts: opts, write: write, read: read}
	if err := migrate(ctx, write, d); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database %s: %w", path, err), write.Close(), read.Close())
	}
	if err := s.readFloor(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database %s: %w", path, err), write.Close(), read.Close())
	}
	s.start(ctx)
	return s, nil
}

func (o Options) withDefaults() Options {
	set := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	set(&o.Queue, 4096)
	set(&o.Batch, 256)
	set(&o.Readers, 4)
	if o.TokensKept <= 0 {
		o.TokensKept = 24 * time.Hour
	}
	if o.UnusedKept <= 0 {
		o.UnusedKept = 30 * 24 * time.Hour
	}
	if o.LedgerKept <= 0 {
		o.LedgerKept = 400 * 24 * time.Hour
	}
	return o
}

// start lets the writers run. They outlive ctx and end with Close.
func (s *Store) start(ctx context.Context) {
	s.queue = make(chan *op, s.opts.Queue)
	s.used = newRecent(1 << 15)
	for range s.dialect.writers {
		w := &writer{s: s}
		s.writers.Go(func() { w.run(context.WithoutCancel(ctx)) })
	}
}

// now is the store's clock as it is stored.
func (s *Store) now() time.Time { return s.opts.Now().UTC().Round(0) }

// Changed returns a channel that is closed when this process next commits something that Changes
// tells. Get the channel, then call Changes, then wait: nothing is missed. Changes of other processes do
// not close it.
func (s *Store) Changed() <-chan struct{} { return s.changes.next() }

// Ready writes one row. It takes at most two seconds, less where ctx ends sooner.
func (s *Store) Ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return s.update(ctx, func(ctx context.Context, t *tx) error {
		_, err := t.exec(ctx, "UPDATE sequences SET n = n + 1 WHERE name = 'ready'")
		return err
	})
}

// Close waits for the writes that are queued, and refuses new ones with store.ErrUnavailable.
func (s *Store) Close() error {
	s.closing.Lock()
	if s.closed {
		s.closing.Unlock()
		return nil
	}
	s.closed = true
	close(s.queue)
	s.closing.Unlock()
	s.writers.Wait()
	return errors.Join(s.read.Close(), s.write.Close())
}

// unavailable says that the store could not do it; the caller has to deny.
func unavailable(cause error) error {
	if errors.Is(cause, store.ErrUnavailable) {
		return cause
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, cause)
}

// A signal tells any number of waiters that something happened.
type signal struct {
	mu sync.Mutex
	ch chan struct{}
}

func (s *signal) next() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) raise() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
