package outbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent/budget"
	"github.com/uimgate/uimgate/internal/money"
)

// A fixture is an outbox file and a clock, which the boxes of several bridges share.
type fixture struct {
	*testing.T
	path string
	now  time.Time
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{t, filepath.Join(t.TempDir(), "calls.json"), time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)}
}

// box opens the file as another bridge would, and closes the Box at the end of the test.
func (d *fixture) box() *Box {
	b := Open(d.path, func() time.Time { return d.now })
	d.Cleanup(b.Close)
	return b
}

// send puts a call into a box and returns the call. The digest of its arguments is thing.
func (d *fixture) send(b *Box, thing string) Call {
	d.Helper()
	c := b.New("shop", thing, "shop.example:order:v1")
	c.Key = "key of " + thing
	c.Reserved = &budget.Receipt{Amount: money.Amount{Nano: 5, Currency: "EUR"}}
	if err := b.Put(d.Context(), c); err != nil {
		d.Fatal(err)
	}
	return c
}

// finds checks whether Find returns the call for thing, and returns that call.
func (d *fixture) finds(b *Box, thing string, want bool) Call {
	d.Helper()
	c, found, err := b.Find(d.Context(), "shop", thing)
	if err != nil || found != want || found && c.Key != "key of "+thing {
		d.Fatalf("Find(%s): got %+v, %v, %v; want found %v", thing, c, found, err, want)
	}
	return c
}

// Another bridge finds a call after the bridge of the call has left it or has ended.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		then  func(d *fixture, b *Box, c Call) error
		found bool
	}{
		"in progress":        {func(*fixture, *Box, Call) error { return nil }, false},
		"left by its bridge": {func(d *fixture, b *Box, c Call) error { return b.Leave(d.Context(), c.ID) }, true},
		"its bridge ended":   {func(_ *fixture, b *Box, _ Call) error { b.Close(); return nil }, true},
		"its bridge was killed": {func(_ *fixture, b *Box, _ Call) error {
			b.unlock() // as the operating system does when a process ends
			b.unlock = func() {}
			return nil
		}, true},
		"ended with delivery":    {func(d *fixture, b *Box, c Call) error { _, err := b.End(d.Context(), c.ID, false); return err }, false},
		"ended without delivery": {func(d *fixture, b *Box, c Call) error { _, err := b.End(d.Context(), c.ID, true); return err }, true},
		"clock set back": {func(d *fixture, b *Box, c Call) error {
			d.now = d.now.Add(-time.Hour)
			return b.Leave(d.Context(), c.ID)
		}, true},
		"older than MaxAge": {func(d *fixture, b *Box, c Call) error {
			err := b.Leave(d.Context(), c.ID)
			d.now = d.now.Add(MaxAge + 1)
			return err
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			maker := d.box()
			c := d.send(maker, "tea")
			if err := test.then(d, maker, c); err != nil {
				t.Fatal(err)
			}
			other := d.box()
			d.finds(other, "coffee", false)
			d.finds(other, "tea", test.found)
			d.finds(other, "tea", test.found) // finding does not remove the call
		})
	}
}

// Only the first bridge that learns the outcome of a call gets its reservation back.
func TestReservationIsReturnedOnce(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	one, two := d.box(), d.box()
	c := d.send(one, "tea")
	if err := one.Leave(t.Context(), c.ID); err != nil {
		t.Fatal(err)
	}
	if found := d.finds(two, "tea", true); found.Reserved == nil || found.Reserved.Amount.Nano != 5 {
		t.Errorf("got the reservation %+v, want an amount of 5", found.Reserved)
	}
	for n, box := range []*Box{two, one, two} {
		receipt, err := box.End(t.Context(), c.ID, n == 0)
		if err != nil || (receipt != nil) != (n == 0) {
			t.Errorf("End %d: got %v, %v; want a receipt: %v", n, receipt, err, n == 0)
		}
	}
}

// The box bounds the calls of one service, and drops calls older than MaxAge to make room.
func TestBoxLimits(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	b := d.box()
	for n := range maxOfService {
		d.send(b, fmt.Sprint(n))
	}
	if err := b.Put(t.Context(), b.New("shop", "one more", "")); !errors.Is(err, ErrFull) {
		t.Errorf("err = %v, want %v", err, ErrFull)
	}
	if err := b.Put(t.Context(), b.New("another shop", "tea", "")); err != nil {
		t.Error(err)
	}
	d.now = d.now.Add(MaxAge + time.Second)
	d.send(b, "one more")
}

// If the file is damaged, Put and Find fail, because the calls in progress are unknown.
func TestDamagedFileStopsCalls(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"not JSON": "{", "empty": "", "another version": `{"version":2,"calls":[]}`, "null": `{"version":1,"calls":[null]}`,
		"a path": `{"version":1,"calls":[{"id":"ABCDEFGHIJKLMNOPQRSTUVWXYZ","owner":"../../x"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newFixture(t)
			if err := os.WriteFile(d.path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			b := d.box()
			if err := b.Put(t.Context(), b.New("shop", "tea", "")); err == nil {
				t.Error("Put succeeded")
			}
			if _, _, err := b.Find(t.Context(), "shop", "tea"); err == nil {
				t.Error("Find succeeded")
			}
		})
	}
}

// A killed bridge leaves its lock file, and the next bridge removes it.
func TestLocksOfKilledBridgesAreRemoved(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	killed := d.box()
	d.send(killed, "tea")
	killed.unlock()
	killed.unlock = func() {}
	running := d.box()
	d.send(running, "coffee")
	d.send(d.box(), "milk")
	locks, err := filepath.Glob(d.path + ".*.lock")
	if err != nil || len(locks) != 2 {
		t.Errorf("got %q, %v; want length 2, nil", locks, err)
	}
}
