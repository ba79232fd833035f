package receipt

import (
	"context"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

// Introductions reads the keys that the logs of services introduce: see package store/sqlstore/logs.
type Introductions interface {
	LoggedKeys(ctx context.Context) ([]store.LogKey, error)
}

// recheckAfter is how long an earlier key remains the chosen one.
const recheckAfter = 200 * time.Millisecond

// A choice is the key that signs as long as newest is the newest key of the process.
type choice struct {
	newest keys.ID
	key    *keys.PrivateKey
	at     time.Time // when it was made; zero: it holds as long as newest is the newest key
}

func (c *choice) holds(newest keys.ID, now time.Time) bool {
	return c != nil && c.newest == newest && (c.at.IsZero() || now.Sub(c.at).Abs() < recheckAfter)
}

// Await makes the Signer sign only with keys that the logs introduce, so that agents that trust an earlier key can verify each receipt at
// once: the newest introduced key of this process signs. If no key is introduced, the newest key signs. Await must be called before the
// Signer is used.
func (s *Signer) Await(i Introductions, now func() time.Time) { s.introductions, s.now = i, now }

// key returns the key that signs at present.
func (s *Signer) key(ctx context.Context) (*keys.PrivateKey, error) {
	newest, err := s.keys.PrivateKey(ctx)
	if err != nil || s.introductions == nil {
		return newest, err
	}
	if c := s.chosen.Load(); c.holds(newest.ID, s.now()) {
		return c.key, nil
	}
	s.choosing.Lock()
	defer s.choosing.Unlock()
	before := s.chosen.Load()
	if before.holds(newest.ID, s.now()) {
		return before.key, nil
	}
	c := &choice{newest: newest.ID, key: newest, at: s.now()}
	switch list, err := s.introductions.LoggedKeys(ctx); {
	case err != nil && before != nil && s.live(before.key.ID): // the store is not available
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
		}
	}
	s.chosen.Store(c)
	return c.key, nil
}

// live reports whether signatures of a key still verify.
func (s *Signer) live(id keys.ID) bool {
	return slices.ContainsFunc(s.keys.Keys(s.now()), func(k keys.SigningKey) bool { return k.ID == id })
}

// introduced reports whether the log of each service that introduces keys for receipts introduces a key.
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
