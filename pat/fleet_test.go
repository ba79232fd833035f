package pat_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
)

// A peer is another process on the store of a world.
type peer struct {
	ring  *keys.Keyring
	view  *pat.View
	files *memory
}

func (w *world) peer(tb testing.TB, files *memory, process string) peer {
	tb.Helper()
	ring, err := keys.Open(tb.Context(), keys.Config{
		Store: w.store, Files: files, Algorithm: keys.EdDSA, Overlap: 2 * time.Hour, Process: process, Now: w.now,
	})
	noError(tb, err)
	p := peer{ring, pat.NewView(w.store, ring, w.now), files}
	noError(tb, p.view.Refresh(tb.Context()))
	return p
}

// follows runs a peer until its Keyrings sign with different keys.
func (p peer) follows(tb testing.TB, rings map[*keys.Keyring]keys.ID) {
	tb.Helper()
	noError(tb, p.view.Refresh(tb.Context()))
	ctx, cancel := context.WithCancel(tb.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.ring.Run(ctx, func(err error) { tb.Error(err) })
	}()
	for ring, before := range rings {
		for ring.Current() == before && tb.Context().Err() == nil {
			runtime.Gosched()
		}
	}
	cancel()
	<-done
}

func TestRotationReachesEveryProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	there, down := w.peer(t, &memory{}, "there"), w.peer(t, &memory{}, "down")
	card, err := there.ring.For(t.Context(), keys.ForCards, keys.ES256, &memory{})
	noError(t, err)
	first := []keys.ID{w.keys.Current(), there.ring.Current(), down.ring.Current(), card.Current()}
	w.refresh(t)
	for range 2 { // twice within a second
		_, err := w.keys.RotateAll(t.Context())
		noError(t, err)
	}
	there.follows(t, map[*keys.Keyring]keys.ID{there.ring: first[1], card: first[3]})
	second := there.ring.Current()
	back := w.peer(t, down.files, "down") // it did not run in the meantime
	if got := []keys.ID{w.keys.Current(), second, back.ring.Current(), card.Current()}; len(slices.Compact(slices.Sorted(
		slices.Values(append(got, first...))))) != 8 {
		t.Errorf("keys %v; before %v; want other ones", got, first)
	}
	w.refresh(t)
	if there.ring.Current() != second || there.ring.Current() == w.keys.Current() {
		t.Error("a process must sign with its own newest key, and with no other one")
	}
	signing := map[string]int{}
	for _, k := range w.keys.Keys(w.now()) {
		if k.NotAfter.IsZero() {
			signing[k.Process+" "+string(k.Purpose)]++
		} else if got := k.NotAfter.Sub(w.now()); got != 2*time.Hour {
			t.Errorf("%s ends after %s; want the overlap", k.ID, got)
		}
	}
	if len(signing) != 4 || signing["there "] != 1 || signing["there card"] != 1 || signing["down "] != 1 {
		t.Errorf("the keys that sign: %v; want one for each process and purpose", signing)
	}
}

// A leaked key verifies nothing after it was retired, even if its process rotates at the same time.
func TestRetirementReachesEveryProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	there := w.peer(t, &memory{}, "there")
	leaked := there.ring.Current()
	w.refresh(t)
	noError(t, w.keys.Retire(t.Context(), leaked, w.now()))
	_, err := there.ring.Rotate(t.Context()) // it has not read the end of its key
	noError(t, err)
	w.refresh(t)
	noError(t, there.view.Refresh(t.Context()))
	for name, ring := range map[string]*keys.Keyring{"here": w.keys, "there": there.ring, "later": w.peer(t, &memory{}, "later").ring} {
		if _, ok := ring.Lookup(t.Context(), leaked, w.now()); ok {
			t.Errorf("%s: the leaked key verifies", name)
		}
	}

	before := []keys.ID{w.keys.Current(), there.ring.Current()}
	w.refresh(t)
	retired, err := w.keys.RetireAll(t.Context(), w.now())
	noError(t, err)
	if got := ids(retired); len(got) < 3 || !slices.Contains(got, before[0]) || !slices.Contains(got, before[1]) {
		t.Errorf("retired %v; want those of all processes, also %v", got, before)
	}
	there.follows(t, map[*keys.Keyring]keys.ID{there.ring: before[1]})
	after := there.ring.Current()
	w.refresh(t)
	for _, id := range before {
		if _, ok := w.keys.Lookup(t.Context(), id, w.now()); ok {
			t.Errorf("%s verifies", id)
		}
	}
	if _, ok := w.keys.Lookup(t.Context(), after, w.now()); !ok {
		t.Errorf("the new key of the other process does not verify")
	}
}

// While a key cannot be replaced, the process reports it and signs nothing.
func TestAKeyThatCannotBeReplacedSignsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	files := &fullDisk{}
	ring, err := keys.Open(t.Context(), keys.Config{
		Store: w.store, Files: files, Algorithm: keys.EdDSA, Overlap: 2 * time.Hour, Now: w.now,
	})
	noError(t, err)
	files.full = errors.New("no space left on device")
	first := ring.Current()
	w.refresh(t)
	noError(t, w.keys.Retire(t.Context(), first, w.now()))
	noError(t, ring.Reload(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	failures := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = ring.Run(ctx, func(err error) { failures <- err; cancel() })
	}()
	if err := <-failures; !errors.Is(err, files.full) || !errors.Is(ring.Failure(), files.full) {
		t.Errorf("got %v, %v; want %v", err, ring.Failure(), files.full)
	}
	<-done
	if _, err := ring.PrivateKey(t.Context()); !errors.Is(err, files.full) {
		t.Errorf("signing: %v, want %v", err, files.full)
	}
	files.full = nil
	if _, err := ring.PrivateKey(t.Context()); err != nil || ring.Current() == first {
		t.Errorf("after there is space again: %v, key %s", err, ring.Current())
	}
}

// A fullDisk keeps keys in memory, unless full is set.
type fullDisk struct {
	memory
	full error
}

func (d *fullDisk) Save(pem []byte) error {
	if d.full != nil {
		return d.full
	}
	return d.memory.Save(pem)
}
