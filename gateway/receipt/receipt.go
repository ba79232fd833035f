// Package receipt signs entries of the ledger for agents, with a separate key.
package receipt

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/pat/keys"
)

// A Signer signs entries of the ledger. It is safe for concurrent use.
type Signer struct {
	keys             *keys.Keyring
	answered, proofs atomic.Bool

	introductions Introductions // nil: keys are not introduced
	now           func() time.Time
	choosing      sync.Mutex // held while chosen is replaced
	chosen        atomic.Pointer[choice]
}

// New returns a Signer that signs with the keys of a Keyring, whose purpose must be keys.ForReceipts.
func New(k *keys.Keyring, c config.Evidence) *Signer {
	s := &Signer{keys: k}
	s.Configure(c)
	return s
}

// Configure applies a changed configuration.
func (s *Signer) Configure(c config.Evidence) {
	s.answered.Store(c.Receipts != config.ReceiptsOff)
	s.proofs.Store(c.Proofs)
}

// Proofs implements execute.Receipts.
func (s *Signer) Proofs() bool { return s.proofs.Load() }

// Sign implements execute.Receipts.
func (s *Signer) Sign(ctx context.Context, entry []byte) (string, error) {
	if !s.answered.Load() {
		return "", nil
	}
	return s.Receipt(ctx, entry)
}

// Receipt returns the receipt for an entry.
func (s *Signer) Receipt(ctx context.Context, entry []byte) (string, error) {
	key, err := s.key(ctx)
	if err != nil {
		return "", err
	}
	return evidence.SignReceipt(key.Private, key.ID, entry)
}
