package receipt

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// Introductions reads the keys that the logs of services introduce: see package store/sqlstore/logs.
type Introductions interface {
	LoggedKeys(ctx context.Context) ([]store.LogKey, error)
}

// recheckAfter is how long an earlier key, or none, stays the choice.
const recheckAfter = 200 * time.Millisecond

// A choice is the key that signs as long as newest is the newest key of the process.
type choice struct {
	newest keys.ID
	key    *keys.PrivateKey // nil: no key may sign
	at     time.Time        // when it was made; zero: it holds as long as newest is the newest key
}

func (c *choice) holds(newest keys.ID, now time.Time) bool {
	return c != nil && c.newest == newest && (c.at.IsZero() || now.Sub(c.at).Abs() < recheckAfter)
}

// signer returns the key that signs, or ErrNotIntroduced.
func (c *choice) signer() (*keys.PrivateKey, error) {
	if c.key == nil {
		return nil, ErrNotIntroduced
	}
	return c.key, nil
}

// ErrNotIntroduced means that the log has not introduced a key of this process yet. Agents could not verify its signatures: other processes
// may not publish the key yet, and no entry connects it to the keys that agents trust.
var ErrNotIntroduced = errors.New("the log has not introduced a key of this process yet")

// Await makes the Signer sign only with keys that the logs introduce, so that agents that trust an earlier key can verify each receipt at
// once. The newest key of this process that is introduced signs. If only keys of other processes are introduced, the error is
// ErrNotIntroduced. If the logs introduce no key at all, the newest key signs. Await must be called before the Signer is used.
func (s *Signer) Await(i Introductions, now func() time.Time) { s.introductions, s.now = i, now }

// key returns the key that signs at present.
func (s *Signer) key(ctx context.Context) (*keys.PrivateKey, error) {
	newest, err := s.keys.PrivateKey(ctx)
	if err != nil || s.introductions == nil {
		return newest, err
	}
	if c := s.chosen.Load(); c.holds(newest.ID, s.now()) {
		return c.signer()
	}
	s.choosing.Lock()
	defer s.choosing.Unlock()
	before := s.chosen.Load()
	if before.holds(newest.ID, s.now()) {
		return before.signer()
	}
	c := &choice{newest: newest.ID, key: newest, at: s.now()}
	switch list, err := s.introductions.LoggedKeys(ctx); {
	case err != nil && before != nil && before.key != nil && s.live(before.key.ID): // the store is not available
		c.key = before.key
	case err != nil:
	case introduced(list, newest.ID):
		c.at = time.Time{}
	default:
		earlier, err := s.keys.Earlier()
		if err != nil {
			return nil, err
		}
		if i := slices.IndexFunc(earlier, func(k keys.PrivateKey) bool { return introduced(list, k.ID) && s.live(k.ID) }); i >= 0 {
			c.key = &earlier[i]
		} else if introducesAny(list) {
			c.key = nil
		}
	}
	s.chosen.Store(c)
	return c.signer()
}

// live reports whether signatures of a key still verify.
func (s *Signer) live(id keys.ID) bool {
	return slices.ContainsFunc(s.keys.Keys(s.now()), func(k keys.SigningKey) bool { return k.ID == id })
}

// introducesAny reports whether a log introduces a key for receipts.
func introducesAny(list []store.LogKey) bool {
	return slices.ContainsFunc(list, func(k store.LogKey) bool { return k.Purpose == string(keys.ForReceipts) })
}

// introduced reports whether a key is introduced by the log of each service that introduces keys for receipts.
func introduced(list []store.LogKey, id keys.ID) bool {
	in := map[string]bool{} // by service
	for _, k := range list {
		if k.Purpose == string(keys.ForReceipts) {
			in[k.Service] = in[k.Service] || k.KeyID == id
		}
	}
	for _, found := range in {
		if !found {
			return false
		}
	}
	return len(in) > 0
}
