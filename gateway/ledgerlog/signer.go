package ledgerlog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uimgate/uimgate/pat/keys"
)

// publishedAfter is the minimum age of a key that signs checkpoints, if other processes use the database. Each of them publishes the
// key as soon as it has read it, and agents may ask any of them.
const publishedAfter = 2 * time.Second

// signer returns the newest key of this process that may sign checkpoints now. It returns nil if agents could not verify signatures of any
// of its keys; a later round then appends.
func (s *Sequencer) signer(ctx context.Context) (*keys.PrivateKey, error) {
	own, err := s.o.Keys.PrivateKey(ctx)
	if err != nil {
		return nil, fmt.Errorf("finding the key of checkpoints: %w", err)
	}
	if s.o.Sole || s.published(own.ID) || s.first(own.ID) {
		return own, nil
	}
	earlier, err := s.o.Keys.Earlier()
	if err != nil {
		return nil, err
	}
	for i := range earlier {
		if s.published(earlier[i].ID) {
			return &earlier[i], nil
		}
	}
	return nil, nil
}

// published reports whether every process has had enough time to publish a key. It tolerates a clock that was set since the key was made.
func (s *Sequencer) published(id keys.ID) bool {
	now := s.o.Now()
	return slices.ContainsFunc(s.o.Keys.Keys(now), func(k keys.SigningKey) bool {
		return k.ID == id && now.Sub(k.CreatedAt).Abs() >= publishedAfter
	})
}

// first reports whether own is the only key of checkpoints that the logs introduce.
func (s *Sequencer) first(own keys.ID) bool {
	for k := range s.known {
		if k.Purpose == string(keys.ForLogs) && k.KeyID != own {
			return false
		}
	}
	return true
}
