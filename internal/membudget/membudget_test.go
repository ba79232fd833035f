package membudget_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/uimgate/uimgate/internal/membudget"
)

func TestUnapprovedLeaveHalfToOthers(t *testing.T) {
	shed := 0
	budget := membudget.NewBudget(100, func() { shed++ })
	stranger, other, known := budget.Open(), budget.Open(), budget.Open()
	known.Approved()
	for _, step := range []struct {
		name string
		do   func() error
		want error
	}{
		{"a stranger within half", func() error { return stranger.Take(40) }, nil},
		{"strangers beyond half", func() error { return other.Take(11) }, membudget.ErrExhausted},
		{"strangers up to half", func() error { return other.Take(10) }, nil},
		{"somebody approved beyond half", func() error { return known.Take(45) }, nil},
		{"more than all", func() error { return known.Take(6) }, membudget.ErrExhausted},
		{"a stranger becomes known", func() error { stranger.Known(); stranger.Known(); return nil }, nil},
		{"another stranger in its place", func() error { return other.Take(5) }, nil},
		{"all is taken", func() error { return known.Take(1) }, membudget.ErrExhausted},
		{"the first ends", func() error { stranger.Close(); return known.Take(40) }, nil},
		{"without a budget", func() error { return membudget.Of(t.Context()).Take(1000) }, nil},
	} {
		if err := step.do(); !errors.Is(err, step.want) {
			t.Fatalf("%s: %v, want %v", step.name, err, step.want)
		}
	}
	if shed != 3 {
		t.Errorf("%d were shed, want 3", shed)
	}
	known.Close()
	other.Close()
	last := budget.Open()
	if err := last.Take(50); err != nil {
		t.Errorf("after all have ended: %v", err)
	}
	last.Approved()
	if err := last.Take(50); err != nil {
		t.Errorf("after all have ended: %v", err)
	}
}

// approved returns the share of an approved sender.
func approved(b *membudget.Budget) *membudget.Share {
	s := b.Open()
	s.Approved()
	return s
}

// Authenticated senders without approval leave a quarter of the memory to approved ones, whatever they hold and wait for.
func TestApprovedSenderAmongManyIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := membudget.NewBudget(100, func() {})
		ctx, cancel := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for range 12 {
			s := budget.Open()
			s.Known()
			waiting.Go(func() {
				defer s.Close()
				for s.Wait(ctx, 5) == nil {
				}
				<-ctx.Done()
			})
		}
		synctest.Wait()
		newcomer, one := budget.Open(), approved(budget)
		newcomer.Known()
		if err := newcomer.Take(1); !errors.Is(err, membudget.ErrExhausted) {
			t.Errorf("one more unapproved sender: %v, want %v", err, membudget.ErrExhausted)
		}
		if err := one.Take(10); err != nil {
			t.Errorf("the body: %v", err)
		}
		if err := one.Wait(t.Context(), 15); err != nil {
			t.Errorf("the answer: %v", err)
		}
		cancel()
		waiting.Wait()
		one.Close()
		if all := approved(budget); all.Take(100) != nil {
			t.Error("released memory is not available")
		}
	})
}

func TestUnrepeatableBodiesWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := membudget.NewBudget(100, func() {})
		first, second := approved(budget), approved(budget)
		if err := first.Wait(t.Context(), 80); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- second.Wait(t.Context(), 60) }()
		synctest.Wait()
		first.Close()
		if err := <-done; err != nil {
			t.Errorf("after the first has ended: %v", err)
		}
		if err := second.Wait(t.Context(), 41); !errors.Is(err, membudget.ErrExhausted) {
			t.Errorf("more than there is: %v, want %v", err, membudget.ErrExhausted)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := first.Wait(ctx, 60); !errors.Is(err, membudget.ErrExhausted) {
			t.Errorf("after the end of the call: %v, want %v", err, membudget.ErrExhausted)
		}
	})
}

// If two responses wait for each other's memory, the budget refuses one at once and serves the other.
func TestMutualWaitsAreResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shed := 0
		budget := membudget.NewBudget(100, func() { shed++ })
		large, small, running, other := approved(budget), approved(budget), approved(budget), approved(budget)
		for share, n := range map[*membudget.Share]int64{large: 50, small: 30, running: 20} {
			if err := share.Wait(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
		ends := make(chan string, 3)
		wait := func(name string, share *membudget.Share, n int64) {
			go func() {
				err := share.Wait(t.Context(), n)
				if err != nil {
					name += ", refused"
				}
				share.Close()
				ends <- name
			}()
			synctest.Wait()
		}
		wait("other", other, 10)
		wait("large", large, 30)
		if len(ends) != 0 {
			t.Fatalf("%s while another one runs that may release enough", <-ends)
		}
		wait("small", small, 30) // 20 are running: too few for either
		running.Close()
		if got := <-ends; got != "large, refused" {
			t.Errorf("%s, want large, refused", got)
		}
		if got := []string{<-ends, <-ends}; !slices.Contains(got, "small") || !slices.Contains(got, "other") {
			t.Errorf("then %q, want small and other served", got)
		}
		if shed != 1 {
			t.Errorf("%d were shed, want 1", shed)
		}
		if all := approved(budget); all.Wait(t.Context(), 100) != nil {
			t.Error("released memory is not available")
		}
	})
}

func TestReaderTakesWhatItReads(t *testing.T) {
	const length = 100_000
	for size, want := range map[int64]error{1 << 20: nil, 2 * length: membudget.ErrExhausted} {
		share := membudget.NewBudget(2*size, func() {}).Open()
		got, err := io.ReadAll(membudget.NewReader(strings.NewReader(strings.Repeat("x", length)), share.Take))
		if !errors.Is(err, want) || (want == nil && !bytes.Equal(got, bytes.Repeat([]byte("x"), length))) {
			t.Errorf("of %d bytes: %d read, %v, want %v", size, len(got), err, want)
		}
	}
}

func TestPoolsAreReleased(t *testing.T) {
	var pool sync.Pool
	pool.Put(new([1 << 20]byte))
	membudget.GiveBack()
	if pool.Get() != nil {
		t.Error("the pool still holds unused values")
	}
}

func TestLimitOfTheCGroup(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "1GiB") // whether or not the runtime has read it, the limit is not changed
	before := membudget.Limit()
	if got, err := membudget.LimitFromCGroup(); err != nil || got != before {
		t.Errorf("%d, %v, want %d as before", got, err, before)
	}
}
