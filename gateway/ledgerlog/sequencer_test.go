package ledgerlog_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/sumdb/note"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/evidence/log"
	witnesstest "github.com/uimgate/uimgate/internal/test/witness"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
)

func verifier(tb testing.TB, origin string, key keys.Key) note.Verifier {
	tb.Helper()
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		tb.Fatal("not a key of Ed25519")
	}
	v, err := log.NewVerifier(origin, public)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// lines returns all lines that belong to the logs of an epoch, in order.
func lines(tb testing.TB, p *process, epoch int64) (leaves []evidence.Hash) {
	tb.Helper()
	all, err := p.store.Logs().NewLines(tb.Context(), 0, 1_000_000)
	if err != nil {
		tb.Fatal(err)
	}
	for _, l := range all {
		if l.Service == service && l.Epoch == epoch {
			leaves = append(leaves, l.Leaf)
		}
	}
	return leaves
}

// wantAll fails unless a log has exactly the lines of its epoch.
func wantAll(tb testing.TB, p *process, v view) {
	tb.Helper()
	if want := lines(tb, p, v.Epoch); !slices.Equal(v.leaves, want) {
		tb.Errorf("the log has %d leaves, want the %d lines of the ledger", len(v.leaves), len(want))
	}
	progress, err := p.store.Logs().Progress(tb.Context())
	if err != nil || progress.Logged != progress.Last {
		tb.Errorf("got %+v, %v", progress, err)
	}
}

func TestLogGrowsWithTheLedger(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, place string) {
		t.Helper()
		p := start(t, openStore(t, place), "one")
		var seen []view
		for i, n := range []int{0, 1, 0, 3, 300} {
			topUp(t, p.store, n)
			if i == 3 {
				p.restart()
			}
			p.round(t)
			v := look(t, p, seen...)
			wantAll(t, p, v)
			seen = append(seen, v)
		}
		if got := len(seen[4].leaves); got != 306 { // with the entries of two keys
			t.Errorf("got %d leaves", got)
		}
		p.round(t)
		if v := look(t, p); !v.At.Equal(seen[4].At) {
			t.Error("a checkpoint was signed although there is no new line")
		}
	})
}

func TestKeysAreIntroduced(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, place string) {
		t.Helper()
		s := openStore(t, place)
		p := start(t, s, "one")
		p.round(t)
		first, err := p.keys.PrivateKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.keys.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.restart() // the previous key is in the file
		p.round(t)
		second, err := p.keys.PrivateKey(t.Context())
		if err != nil || second.ID == first.ID {
			t.Fatal(err)
		}
		other := start(t, s, "two")
		if err := p.root.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.round(t)
		third, err := other.keys.PrivateKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		entries, err := p.store.Logs().LogEntries(t.Context(), service)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{} // by purpose
		set := evidence.KeySet{}
		for _, e := range entries {
			r, err := evidence.ParseReceipt(e.Receipt)
			if err != nil {
				t.Fatal(err)
			}
			key, err := keys.ParseJWK(r.Entry.Key.JWK)
			if err != nil {
				t.Fatal(err)
			}
			purpose := r.Entry.Key.Purpose
			set.Add(purpose, key)
			if err := r.VerifyFor(set, purpose); err != nil || r.KeyID != keys.ID(r.Entry.By) {
				t.Errorf("an entry is signed by %s: %v", r.KeyID, err)
			}
			if v, err := log.ParseVerifier(r.Entry.Key.Verifier); purpose == evidence.PurposeLog &&
				(err != nil || v.Name() != "shop.example/uim-ledger/0") {
				t.Errorf("vkey %q: %v", r.Entry.Key.Verifier, err)
			}
			got[purpose] = append(got[purpose], r.Entry.Key.ID+" by "+r.Entry.By)
		}
		one, two := p.receipts.Current(), other.receipts.Current()
		want := map[string][]string{
			evidence.PurposeLog: {
				fmt.Sprint(first.ID, " by ", first.ID), fmt.Sprint(second.ID, " by ", first.ID), fmt.Sprint(third.ID, " by ", second.ID),
			},
			evidence.PurposeReceipt: {fmt.Sprint(one, " by ", one), fmt.Sprint(two, " by ", one)},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("differs (-want +got):\n%s", d)
		}
		v := look(t, p)
		wantAll(t, p, v)
		if v.KeyID != second.ID {
			t.Errorf("signed by %s, want %s", v.KeyID, second.ID)
		}
	})
}

func TestRestoredStateBeginsAnotherLog(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, place string) {
		t.Helper()
		p := start(t, openStore(t, place), "one")
		topUp(t, p.store, 5)
		p.round(t)
		before := look(t, p)
		if err := p.store.MarkRestored(t.Context(), store.DefaultRestoredLimits()); err != nil {
			t.Fatal(err)
		}
		topUp(t, p.store, 3)
		p.round(t)
		v := look(t, p, before)
		wantAll(t, p, v)
		if v.Epoch != 1 || v.Checkpoint.Size < 4 {
			t.Errorf("got %+v", v.Checkpoint)
		}
		entries, err := p.store.Logs().LogEntries(t.Context(), service)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(entries, func(e store.LogEntry) bool { return e.Leaf == v.leaves[0] })
		if i < 0 {
			t.Fatal("the first leaf is not an entry of the log")
		}
		first, err := evidence.ParseReceipt(entries[i].Receipt)
		if err != nil || first.Entry.Kind != evidence.KindRestored || first.Entry.Last == nil ||
			*first.Entry.Last != (evidence.Last{Epoch: 0, Size: before.Checkpoint.Size, Root: before.Checkpoint.Root}) {
			t.Errorf("got %+v, %v", first.Entry, err)
		}
		if err := p.store.MarkRestored(t.Context(), store.DefaultRestoredLimits()); err != nil {
			t.Fatal(err)
		}
		p.round(t) // without lines
		if v := look(t, p, v); v.Epoch != 2 || v.Checkpoint.Size != 1 {
			t.Errorf("got %+v", v.Checkpoint)
		}
	})
}

// The entry that begins an epoch names the previous log, including the lines that were appended after the restore.
func TestRestoreWithWaitingLines(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, place string) {
		t.Helper()
		p := start(t, openStore(t, place), "one")
		topUp(t, p.store, 5)
		p.round(t)
		before := look(t, p)
		topUp(t, p.store, 2) // no round
		if err := p.store.MarkRestored(t.Context(), store.DefaultRestoredLimits()); err != nil {
			t.Fatal(err)
		}
		topUp(t, p.store, 1)
		p.round(t)
		look(t, p)
		was, err := p.store.Logs().HeadOf(t.Context(), service, 0)
		if err != nil || was.Size != before.Checkpoint.Size+2 {
			t.Fatalf("the log before has the size %d, %v; want %d", was.Size, err, before.Checkpoint.Size+2)
		}
		entries, err := p.store.Logs().LogEntries(t.Context(), service)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			r, err := evidence.ParseReceipt(e.Receipt)
			if err != nil || r.Entry.Kind == evidence.KindRestored && *r.Entry.Last != (evidence.Last{Epoch: 0, Size: was.Size, Root: was.Root}) {
				t.Errorf("got %+v, %v; want the size %d", r.Entry.Last, err, was.Size)
			}
		}
	})
}

// A process may stop before or after any operation that writes. The next one continues, and no checkpoint contradicts an earlier one.
func TestStoppingAnywhereIsSafe(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, place string) {
		t.Helper()
		s := openStore(t, place)
		p := start(t, s, "one")
		cosigner := witnesstest.Start(t, "witness.example", func(string) string { return vkeyOf(t, p) })
		p.settings.Witnesses = []config.Witness{{Key: config.WitnessKey(cosigner.VerifierKey()), URL: cosigner.URL, Private: true}}
		var seen []view
		stops := 0
		for i := 1; ; i++ {
			topUp(t, s, 2)
			if i%5 == 0 {
				if err := s.MarkRestored(t.Context(), store.DefaultRestoredLimits()); err != nil {
					t.Fatal(err)
				}
			}
			if i%7 == 0 {
				if _, err := p.keys.Rotate(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			step := i/2%5 + 1
			stop := func(n int) error {
				if n == step {
					return errStopped
				}
				return nil
			}
			if p.before, p.after = stop, nil; i%2 == 0 {
				p.before, p.after = nil, stop
			}
			p.restart()
			err := p.Round(t.Context())
			if errors.Is(err, errStopped) {
				stops++
			} else if err != nil {
				t.Fatal(err)
			}
			if head, err := s.Logs().Head(t.Context(), service); err == nil && head.Size > 0 {
				seen = append(seen, look(t, p, seen...))
			}
			if i == 60 {
				break
			}
		}
		p.before, p.after = nil, nil
		p.restart()
		p.round(t)
		v := look(t, p, seen...)
		wantAll(t, p, v)
		for epoch := range v.Epoch {
			if h, err := s.Logs().HeadOf(t.Context(), service, epoch); err != nil || h.Size != int64(len(lines(t, p, epoch))) {
				t.Errorf("epoch %d: %+v, %v", epoch, h, err)
			}
		}
		if stops < 15 {
			t.Errorf("only %d stops", stops)
		}
	})
}

func vkeyOf(tb testing.TB, p *process) string {
	tb.Helper()
	head, err := p.store.Logs().Head(tb.Context(), service)
	if err != nil {
		tb.Error(err)
		return ""
	}
	for _, k := range p.root.Keys(time.Now()) {
		if k.ID != head.KeyID {
			continue
		}
		if key, err := keys.ParseJWK(k.JWK); err == nil {
			public, _ := key.Public().(ed25519.PublicKey)
			return log.VerifierKey(log.Origin(issuer, head.Epoch), public)
		}
	}
	return ""
}

// Two processes that both append, as if each had the lease, make one log.
func TestTwoSequencersMakeOneLog(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, place string) {
		t.Helper()
		s := openStore(t, place)
		other := s
		if place[0] != '/' { // only one process at a time can have a file
			other = openStore(t, place)
		}
		processes := []*process{start(t, s, "one"), start(t, other, "two")}
		var stopped sync.WaitGroup
		ended := make(chan struct{})
		for _, p := range processes {
			stopped.Go(func() {
				for {
					select {
					case <-ended:
						return
					default:
					}
					if err := p.Round(t.Context()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		var seen []view
		for range 40 {
			topUp(t, s, 5)
			if _, err := s.Logs().Head(t.Context(), service); errors.Is(err, store.ErrNotFound) {
				continue
			}
			seen = append(seen, look(t, processes[0], seen...))
		}
		close(ended)
		stopped.Wait()
		processes[0].round(t)
		v := look(t, processes[0], seen...)
		wantAll(t, processes[0], v)
	})
}

// Only the process with the lease appends. When it ends, it releases the lease.
func TestOnlyTheHolderOfTheLeaseAppends(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, place string) {
		t.Helper()
		s := openStore(t, place)
		one, two := start(t, s, "one"), start(t, s, "two")
		one.shared, two.shared = true, true
		one.restart()
		two.restart()
		one.round(t)
		before := look(t, one)
		topUp(t, s, 1)
		two.round(t)
		if v := look(t, one); v.Checkpoint.Size != before.Checkpoint.Size {
			t.Error("a process without the lease has appended")
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := one.Run(ended); err != nil {
			t.Fatal(err)
		}
		two.round(t)
		if v := look(t, one); v.Checkpoint.Size != before.Checkpoint.Size {
			t.Error("a key that other processes may not publish yet has signed a checkpoint")
		}
		two.clock = func() time.Time { return time.Now().Add(3 * time.Second) }
		two.round(t)
		if v := look(t, two, before); v.Checkpoint.Size <= before.Checkpoint.Size {
			t.Error("the lease was not released")
		}
	})
}

// If other processes use the database, a new key signs checkpoints only when they have had the time to publish it.
func TestNewKeySignsCheckpointsOnceItIsPublished(t *testing.T) {
	t.Parallel()
	p := start(t, openStore(t, postgresDatabase(t)), "one")
	now := time.Now()
	p.shared, p.clock = true, func() time.Time { return now }
	p.restart()
	p.round(t)
	first := p.keys.Current()
	if _, err := p.keys.Rotate(t.Context()); err != nil {
		t.Fatal(err)
	}
	signedBy := func(after time.Duration) keys.ID {
		t.Helper()
		now = time.Now().Add(after)
		topUp(t, p.store, 1)
		p.round(t)
		return look(t, p).KeyID
	}
	if got := signedBy(0); got != first {
		t.Errorf("before the new key is published: signed by %s, want %s", got, first)
	}
	if got := signedBy(3 * time.Second); got != p.keys.Current() {
		t.Errorf("later: signed by %s, want %s", got, p.keys.Current())
	}
}

func TestWitnessesCosign(t *testing.T) {
	t.Parallel()
	p := start(t, openStore(t, sqliteFile(t)), "one")
	now := time.Now()
	p.clock = func() time.Time { return now }
	trust := func(string) string { return vkeyOf(t, p) }
	one, two := witnesstest.Start(t, "one.example", trust), witnesstest.Start(t, "two.example", trust)
	for _, w := range []*witnesstest.Witness{one, two} {
		p.settings.Witnesses = append(p.settings.Witnesses, config.Witness{Key: config.WitnessKey(w.VerifierKey()), URL: w.URL, Private: true})
	}
	cosigned := func() (names []string) {
		t.Helper()
		head := look(t, p).LogHead
		for i, w := range p.settings.Witnesses {
			v, err := log.ParseCosigner(string(w.Key))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := log.OpenCheckpoint(head.Checkpoint, v); err == nil {
				names = append(names, []string{"one", "two"}[i])
			}
		}
		if len(names) > 0 && head.CosignedAt.Unix() != witnesstest.At {
			t.Errorf("cosigned at %v", head.CosignedAt)
		}
		return names
	}
	topUp(t, p.store, 3)
	p.round(t)
	if got := cosigned(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("got %v", got)
	}
	two.Respond(func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusServiceUnavailable); return true })
	topUp(t, p.store, 300)
	p.round(t)
	if got := cosigned(); !slices.Equal(got, []string{"one"}) {
		t.Errorf("while a witness fails: got %v", got)
	}
	two.Respond(nil)
	_, before := two.Head("")
	p.round(t)
	if _, requests := two.Head(""); requests != before || len(cosigned()) != 1 {
		t.Error("a witness that failed is asked again at once")
	}
	now = now.Add(3 * time.Second)
	p.round(t)
	if got := cosigned(); !slices.Equal(got, []string{"one", "two"}) {
		t.Errorf("after the pause: got %v", got)
	}
	_, requests := one.Head("")
	p.restart()
	p.round(t)
	if _, now := one.Head(""); now != requests {
		t.Error("a witness is asked again for a checkpoint that it has cosigned")
	}
}
