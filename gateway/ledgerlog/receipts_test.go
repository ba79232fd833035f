package ledgerlog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/gateway/receipt"
	"github.com/uimgate/uimgate/pat/keys"
)

// A process without the earlier keys does not sign before the log has introduced its key: until then other processes may not publish it.
func TestNewProcessDoesNotSignBeforeItsKeyIsIntroduced(t *testing.T) {
	t.Parallel()
	s := openStore(t, postgresDatabase(t))
	first := start(t, s, "one")
	first.round(t)
	next := start(t, s, "two")
	now := time.Now()
	signer := receipt.New(next.receipts, config.Evidence{Receipts: config.ReceiptsCharged})
	signer.Await(s.Logs(), func() time.Time { return now })
	entry := []byte("{}")
	if text, err := signer.Receipt(t.Context(), entry); !errors.Is(err, receipt.ErrNotIntroduced) {
		t.Errorf("before the key is introduced: %q, %v; want %v", text, err, receipt.ErrNotIntroduced)
	}
	next.round(t)
	now = now.Add(time.Second)
	if _, err := signer.Receipt(t.Context(), entry); err != nil {
		t.Errorf("after the round: %v", err)
	}
}

// Receipts are signed with keys that agents can follow: a new key signs only when the log has introduced it, even after several rotations
// at once, and every key is introduced by one that was.
func TestReceiptsAreSignedWithIntroducedKeys(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, place string) {
		t.Helper()
		p := start(t, openStore(t, place), "one")
		now := time.Now()
		signer := receipt.New(p.receipts, config.Evidence{Receipts: config.ReceiptsCharged})
		signer.Await(p.store.Logs(), func() time.Time { return now })
		entry := (&evidence.Entry{Issuer: issuer, Kind: evidence.KindRestored, By: "operator", At: now, Salt: make([]byte, 16)}).Append(nil)
		signedBy := func() keys.ID {
			t.Helper()
			now = now.Add(time.Second)
			text, err := signer.Receipt(t.Context(), entry)
			if err != nil {
				t.Fatal(err)
			}
			r, err := evidence.ParseReceipt(text)
			if err != nil {
				t.Fatal(err)
			}
			return r.KeyID
		}
		first := p.receipts.Current()
		if got := signedBy(); got != first {
			t.Errorf("before the first round: got %s, want the only key", got)
		}
		p.round(t)
		for range 3 {
			if _, err := p.receipts.Rotate(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if got := signedBy(); got != first {
			t.Errorf("before the new key is introduced: got %s, want %s", got, first)
		}
		p.restart()
		p.round(t)
		if got := signedBy(); got == first || got != p.receipts.Current() {
			t.Errorf("after the round: got %s, want the new key", got)
		}
		entries, err := p.store.Logs().LogEntries(t.Context(), service)
		if err != nil {
			t.Fatal(err)
		}
		trusted, introduced := evidence.KeySet{}, 0
		for _, k := range p.root.Keys(time.Now()) {
			if key, err := keys.ParseJWK(k.JWK); err == nil && k.ID == first {
				trusted.Add(evidence.PurposeReceipt, key)
			}
		}
		for _, e := range entries {
			if trusted.Introduce(e.Receipt) == nil {
				introduced++
			}
		}
		if introduced != 4 { // the first one by itself
			t.Errorf("an agent that trusts the first key can trust %d, want 4", introduced)
		}
	})
}
