// Package outbox stores each call, with its idempotency key, before it is sent, and keeps it until the assistant has its outcome. All
// bridges of one directory share one file of calls, which stays consistent after a crash. If the outcome of a call is
// unknown, the next call to the same tool with the same arguments is sent under the same key, so that the service does not execute
// the call twice.
//
//	call, ok, err := box.Find(ctx, service, digest) // an earlier call whose outcome is unknown
//	err = box.Put(ctx, call)                        // before it is sent
//	err = box.Leave(ctx, call.ID)                   // its outcome is unknown: the next caller requests it
//	receipt, err := box.End(ctx, call.ID, false)    // its outcome is known, and was delivered
package outbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/internal/privatefile"
)

const (
	// MaxAge is how long a call is kept. Services store a key for 24 hours.
	MaxAge = 23 * time.Hour
	// Limits of the stored calls; when they are reached, no further call is sent.
	maxOfService = 200
	maxCalls     = 2000
	// lockWait limits the wait for the lock, which another process holds during one write.
	lockWait = 10 * time.Second
)

// ErrFull means that the outbox has too many calls whose outcome is unknown.
var ErrFull = errors.New("too many calls have an unknown outcome")

// A Call is a call that was sent, or is about to be sent.
type Call struct {
	ID       string          `json:"id"`              // unique in the file
	Key      string          `json:"key,omitempty"`   // idempotency key; empty if the call was sent without one
	Service  string          `json:"service"`         // identifies the service and the agent there
	Digest   string          `json:"digest"`          // digest of intent and arguments
	Intent   string          `json:"intent"`          // UID, for people who read the file
	Since    time.Time       `json:"since"`           // time of the first attempt
	Owner    string          `json:"owner,omitempty"` // id of the box that makes the call; empty if any bridge may request the outcome
	Reserved *budget.Receipt `json:"reserved,omitempty"`
}

// A Box gives one bridge access to the file. It is safe for concurrent use.
type Box struct {
	path string
	id   string
	now  func() time.Time

	mu     sync.Mutex
	unlock func() // releases the lock that shows that this bridge is running; nil if it is not locked yet
}

// Open returns a box for the file at path, which the first Put creates. Beside the file are its lock file, and one lock file for
// each bridge that makes calls.
func Open(path string, now func() time.Time) *Box {
	return &Box{path: path, id: rand.Text(), now: now}
}

// Close leaves the calls of this box to other bridges.
func (b *Box) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unlock != nil {
		_ = os.Remove(b.lifePath(b.id))
		b.unlock()
		b.unlock = nil
	}
}

// Find returns a call with this service and digest whose outcome is unknown: one that was passed to Leave, or one of a bridge that has
// ended. It removes the owner of the call. ok is false if no call matches.
func (b *Box) Find(ctx context.Context, service, digest string) (found Call, ok bool, err error) {
	if _, err := os.Stat(b.path); errors.Is(err, os.ErrNotExist) {
		return Call{}, false, nil
	}
	err = b.change(ctx, func(f *file) error {
		for _, c := range f.Calls {
			if c.Service != service || c.Digest != digest || b.made(ctx, c.Owner) {
				continue
			}
			c.Owner = ""
			found, ok = *c, true
			return nil
		}
		return errUnchanged
	})
	return found, ok, err
}

// Look returns the call that Find would return. It changes nothing.
func (b *Box) Look(ctx context.Context, service, digest string) (found Call, ok bool, err error) {
	if _, err := os.Stat(b.path); errors.Is(err, os.ErrNotExist) {
		return Call{}, false, nil
	}
	err = b.change(ctx, func(f *file) error {
		at := slices.IndexFunc(f.Calls, func(c *Call) bool {
			return c.Service == service && c.Digest == digest && !b.made(ctx, c.Owner)
		})
		if ok = at >= 0; ok {
			found = *f.Calls[at]
		}
		return errUnchanged
	})
	return found, ok, err
}

// Put adds a call, or replaces the stored call with the same ID. If the outbox has too many calls to add one, the error is ErrFull.
func (b *Box) Put(ctx context.Context, c Call) error {
	if err := b.live(ctx); err != nil {
		return err
	}
	return b.change(ctx, func(f *file) error {
		if had := f.find(c.ID); had != nil {
			*had = c
			return nil
		}
		ofService := 0
		for _, other := range f.Calls {
			if other.Service == c.Service {
				ofService++
			}
		}
		if len(f.Calls) >= maxCalls || ofService >= maxOfService {
			return ErrFull
		}
		f.Calls = append(f.Calls, &c)
		return nil
	})
}

// New returns a new call that belongs to this box. It does not store the call; Put does.
func (b *Box) New(service, digest, intent string) Call {
	return Call{ID: rand.Text(), Service: service, Digest: digest, Intent: intent, Since: b.now(), Owner: b.id}
}

// Leave leaves a call to the next caller that requests its outcome.
func (b *Box) Leave(ctx context.Context, id string) error {
	return b.change(ctx, func(f *file) error {
		c := f.find(id)
		if c == nil || c.Owner == "" {
			return errUnchanged
		}
		c.Owner = ""
		return nil
	})
}

// End returns the receipt of the reservation of a call, and removes the call unless stays is true. Set stays if the outcome is unknown, or
// if no caller has received it. The receipt is nil if the call has none, or if another process has taken it.
func (b *Box) End(ctx context.Context, id string, stays bool) (reserved *budget.Receipt, err error) {
	err = b.change(ctx, func(f *file) error {
		c := f.find(id)
		if c == nil {
			return errUnchanged
		}
		reserved, c.Reserved, c.Owner = c.Reserved, nil, ""
		if !stays {
			f.remove(id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return reserved, nil
}

// live locks the file that shows that this bridge is running. The lock is held until Close, or until the process ends.
func (b *Box) live(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unlock != nil {
		return nil
	}
	b.sweep(ctx)
	for {
		unlock, err := privatefile.Lock(ctx, b.lifePath(b.id))
		if err != nil {
			return fmt.Errorf("locking the calls in progress: %w", err)
		}
		if _, err := os.Stat(b.lifePath(b.id)); err == nil {
			b.unlock = unlock
			return nil
		}
		unlock() // another bridge removed the file before it was locked
	}
}

// sweep removes the files of bridges that were killed.
func (b *Box) sweep(ctx context.Context) {
	others, err := os.ReadDir(filepath.Dir(b.path))
	if err != nil {
		return // the directory does not exist yet, or Lock will report the error
	}
	for _, other := range others {
		id, ok := strings.CutPrefix(other.Name(), filepath.Base(b.path)+".")
		if id, isLock := strings.CutSuffix(id, ".lock"); ok && isLock && ids.MatchString(id) {
			_ = b.made(ctx, id)
		}
	}
}

func (b *Box) lifePath(id string) string { return b.path + "." + id + ".lock" }

// made reports whether the owner of a call may still be making it: whether the owner is this bridge, or another that is running. It removes
// the lock file of a bridge that has ended.
func (b *Box) made(ctx context.Context, owner string) bool {
	switch owner {
	case "":
		return false
	case b.id:
		return true
	}
	path := b.lifePath(owner)
	if _, err := os.Stat(path); err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	once, cancel := context.WithCancel(ctx)
	cancel() // Lock tries only once
	unlock, err := privatefile.Lock(once, path)
	if err != nil {
		return true
	}
	_ = os.Remove(path)
	unlock()
	return false
}

// change applies f to the file while it holds the lock. If f returns an error, change writes nothing and returns the error, or nil for
// errUnchanged.
func (b *Box) change(ctx context.Context, f func(*file) error) error {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := privatefile.Lock(ctx, b.path+".lock")
	if err != nil {
		return fmt.Errorf("locking the calls in progress: %w", err)
	}
	defer unlock()
	kept, err := read(b.path, b.now())
	if err != nil {
		return err
	}
	if err := f(kept); err != nil {
		if errors.Is(err, errUnchanged) {
			return nil
		}
		return err
	}
	return kept.write(b.path)
}
