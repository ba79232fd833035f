// Package ledgerlog appends the lines of the ledger to the logs of services, signs their checkpoints, and asks witnesses to confirm them.
// Of all processes that share a database, only one does this at a time. Calls never wait for this package.
//
//	sequencer := ledgerlog.New(ledgerlog.Options{Store: state.Logs(), Keys: keyring, …})
//	err := sequencer.Run(ctx)
//
// A process may stop at any point: each transaction of the store leaves every log complete up to its checkpoint, and the next process
// continues from there. If two processes append at the same time, the store accepts only one of them.
package ledgerlog

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/evidence/log"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

const (
	// batch is the maximum number of lines that one transaction appends.
	batch = 4096
	// lease is the duration of the lease of the process that appends. If the process ends without releasing the lease, the others wait until
	// it expires.
	lease = 5 * time.Second
	// renewAfter is when a process renews the lease.
	renewAfter = 2 * time.Second
	// endWithin is how long a process that stops waits for the release of its lease.
	endWithin = time.Second
)

// A Store stores logs: see package store/sqlstore/logs.
type Store interface {
	Progress(ctx context.Context) (store.LogProgress, error)
	NewLines(ctx context.Context, after int64, limit int) ([]store.LogLine, error)
	Heads(ctx context.Context) ([]store.LogHead, error)
	LoggedKeys(ctx context.Context) ([]store.LogKey, error)
	Tile(ctx context.Context, service string, epoch int64, level int, n int64) ([]byte, error)
	Grow(ctx context.Context, from, to int64, changes []store.LogChange) error
	AddLogEntry(ctx context.Context, e store.LogEntry) error
	SetCosigned(ctx context.Context, h store.LogHead) error
	TakeLease(ctx context.Context, holder string, lasting time.Duration) (bool, error)
	EndLease(ctx context.Context, holder string) error
}

// Options configure a Sequencer.
type Options struct {
	Store Store
	// Keys sign checkpoints. Their purpose is keys.ForLogs, and their algorithm EdDSA.
	Keys *keys.Keyring
	// Introduced are additional keys that the logs introduce, by purpose, such as keys.ForReceipts.
	Introduced map[keys.Purpose]*keys.Keyring
	// Settings returns the present settings.
	Settings func() config.Evidence
	// Process is the name of the process, which is unique among the processes that share the database.
	Process string
	// Sole means that no other process uses the database; no lease is then necessary.
	Sole bool
	Log  *zap.Logger
	Now  func() time.Time
}

// A Sequencer appends to the logs of all services in a database. Its methods must not be called concurrently.
type Sequencer struct {
	o      Options
	random io.Reader

	until     time.Time // the end of the lease of this process; zero: it has no lease
	trees     map[place]*log.Tree
	known     map[store.LogKey]bool // keys that the logs have introduced; nil: not read yet
	complete  uint64                // the version of the keys that are all introduced
	witnesses witnesses
	failing   bool // the last round failed
}

// A place identifies the log of a service in one epoch.
type place struct {
	service string
	epoch   int64
}

// New returns a Sequencer.
func New(o Options) *Sequencer {
	return &Sequencer{o: o, random: rand.Reader, trees: map[place]*log.Tree{}, witnesses: witnesses{log: o.Log, now: o.Now}}
}

// Run calls Round at once, because the keys of a new process are not introduced, and then at the interval of the settings until ctx ends.
// Then it releases the lease.
func (s *Sequencer) Run(ctx context.Context) error {
	defer s.end(ctx)
	pause := time.Duration(0)
	for {
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		settings := s.o.Settings()
		pause = settings.Checkpoint
		if !settings.Log {
			continue
		}
		err := s.Round(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !s.failing {
			s.o.Log.Warn("the log of the ledger could not be extended", zap.Error(err))
		} else if err == nil && s.failing {
			s.o.Log.Info("the log of the ledger is extended again")
		}
		s.failing = err != nil
	}
}

func (s *Sequencer) end(ctx context.Context) {
	s.witnesses.close()
	if s.o.Sole || s.until.IsZero() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	_ = s.o.Store.EndLease(ctx, s.o.Process) // otherwise, the lease ends by itself
}

// Round appends all new lines, if this process has the lease or can take it.
func (s *Sequencer) Round(ctx context.Context) error {
	leading, err := s.lead(ctx)
	if err != nil || !leading {
		s.forget()
		return err
	}
	if err = s.extend(ctx); errors.Is(err, store.ErrLogMoved) {
		err = nil // another process has appended
	}
	if err != nil {
		s.forget()
	}
	return err
}

// forget deletes the state in memory, which is read again when it is needed.
func (s *Sequencer) forget() {
	clear(s.trees)
	s.known = nil
}

// lead reports whether this process appends now.
func (s *Sequencer) lead(ctx context.Context) (bool, error) {
	now := s.o.Now()
	if left := s.until.Sub(now); s.o.Sole || left > lease-renewAfter && left <= lease { // longer than a lease: the clock was set back
		return true, nil
	}
	took, err := s.o.Store.TakeLease(ctx, s.o.Process, lease)
	switch {
	case err != nil:
		return false, fmt.Errorf("taking the lease: %w", err)
	case took:
		s.until = now.Add(lease)
	default:
		s.until = time.Time{}
	}
	return took, nil
}

// extend appends new lines until there are none.
func (s *Sequencer) extend(ctx context.Context) error {
	first, err := s.o.Store.Progress(ctx)
	if err != nil {
		return err
	}
	introduced := s.known != nil && s.complete == s.o.Keys.Version()
	if first.Logged == first.Last && introduced && !s.witnesses.due(s.o.Settings()) {
		return nil
	}
	heads, err := s.o.Store.Heads(ctx)
	if err != nil {
		return err
	}
	r := round{s: s, heads: map[place]*store.LogHead{}}
	for i := range heads {
		r.heads[place{heads[i].Service, heads[i].Epoch}] = &heads[i]
	}
	if err := r.introduce(ctx); err != nil {
		return err
	}
	if r.signer, err = s.signer(ctx); err != nil || r.signer == nil {
		return err
	}
	for more := true; more; {
		if more, err = r.append(ctx); err != nil {
			s.forget()
			return err
		}
	}
	return s.witnesses.cosign(ctx, s.o.Settings(), s.o.Store, r.present())
}

// present returns the heads of the newest logs that have a leaf, by service.
func (r *round) present() []*store.LogHead {
	newest := map[string]*store.LogHead{}
	for at, h := range r.heads {
		if was := newest[at.service]; h.Size > 0 && (was == nil || was.Epoch < at.epoch) {
			newest[at.service] = h
		}
	}
	list := make([]*store.LogHead, 0, len(newest))
	for _, h := range newest {
		list = append(list, h)
	}
	slices.SortFunc(list, func(a, b *store.LogHead) int { return cmp.Compare(a.Service, b.Service) })
	return list
}
