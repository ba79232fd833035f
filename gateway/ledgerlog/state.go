package ledgerlog

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/store"
)

// A State is the state of the logs of a database.
type State struct {
	Waiting int64     // ledger numbers that are not in a log yet
	Oldest  time.Time // the time of the oldest waiting line; zero: no line waits
	// Heads are the newest logs that have a leaf, by service, without those of earlier epochs.
	Heads map[string]store.LogHead
}

// Lag returns the age of the oldest waiting line at the given time.
func (s State) Lag(now time.Time) time.Duration {
	if s.Oldest.IsZero() {
		return 0
	}
	return max(0, now.Sub(s.Oldest))
}

// A Reader reads the state of logs: see package store/sqlstore/logs.
type Reader interface {
	Progress(ctx context.Context) (store.LogProgress, error)
	Oldest(ctx context.Context, after int64) (time.Time, error)
	Heads(ctx context.Context) ([]store.LogHead, error)
}

const (
	// stateFor is how long a Watch caches a State, because anyone can request documents that contain parts of it.
	stateFor = time.Second
	// lastFor is the greatest age of a State that Last returns, unless the State cannot be read.
	lastFor = 5 * time.Second
	// readWithin limits one reading.
	readWithin = 2 * time.Second
)

// A Watch reads the State at most once a second. It is safe for concurrent use.
type Watch struct {
	reader Reader
	now    func() time.Time

	last atomic.Pointer[State] // the last State that was read without an error

	mu  sync.Mutex // held while the State is read
	at  time.Time  // the time of the last reading
	err error
}

// NewWatch returns a Watch that has read the State.
func NewWatch(ctx context.Context, r Reader, now func() time.Time) (*Watch, error) {
	w := &Watch{reader: r, now: now}
	_, err := w.State(ctx)
	return w, err
}

// Last returns the State of the last reading. If it is more than a second old, Last starts another reading. Last waits for the reading only
// if the State is more than 5 seconds old because nothing has requested it since.
func (w *Watch) Last() State {
	if w.mu.TryLock() {
		switch {
		case w.due(lastFor):
			w.read(context.Background())
			w.mu.Unlock()
		case w.due(stateFor):
			go func() {
				defer w.mu.Unlock()
				w.read(context.Background())
			}()
		default:
			w.mu.Unlock()
		}
	}
	return *w.last.Load()
}

// due reports whether the State was read at least age ago.
func (w *Watch) due(age time.Duration) bool { return w.at.IsZero() || w.now().Sub(w.at).Abs() >= age }

// State returns the State, which may be a second old.
func (w *Watch) State(ctx context.Context) (State, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.due(stateFor) {
		w.read(context.WithoutCancel(ctx))
	}
	if w.err != nil {
		return State{}, w.err
	}
	return *w.last.Load(), nil
}

// read reads the State. The caller must hold mu.
func (w *Watch) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	state, err := ReadState(ctx, w.reader)
	if w.at, w.err = w.now(), err; err == nil {
		w.last.Store(&state)
	}
}

// ReadState reads the State.
func ReadState(ctx context.Context, r Reader) (State, error) {
	out := State{Heads: map[string]store.LogHead{}}
	p, err := r.Progress(ctx)
	if err != nil {
		return out, err
	}
	if out.Waiting = max(0, p.Last-p.Logged); out.Waiting > 0 {
		if out.Oldest, err = r.Oldest(ctx, p.Logged); err != nil {
			return out, err
		}
	}
	heads, err := r.Heads(ctx)
	for _, h := range heads { // in the order of epochs
		if h.Size > 0 {
			out.Heads[h.Service] = h
		}
	}
	return out, err
}
