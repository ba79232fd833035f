package memory_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/uimgate/uimgate/internal/memory"
)

func TestStrangersLeaveHalfToOthers(t *testing.T) {
	shed := 0
	budget := memory.NewBudget(100, func() { shed++ })
	stranger, other, known := budget.Open(), budget.Open(), budget.Open()
	known.Known()
	for _, step := range []struct {
		name string
		do   func() error
		want error
	}{
		{"a stranger within half", func() error { return stranger.Take(40) }, nil},
		{"strangers beyond half", func() error { return other.Take(11) }, memory.ErrExhausted},
		{"strangers up to half", func() error { return other.Take(10) }, nil},
		{"somebody known beyond half", func() error { return known.Take(45) }, nil},
		{"more than all", func() error { return known.Take(6) }, memory.ErrExhausted},
		{"a stranger becomes known", func() error { stranger.Known(); stranger.Known(); return nil }, nil},
		{"another stranger in its place", func() error { return other.Take(5) }, nil},
		{"all is taken", func() error { return known.Take(1) }, memory.ErrExhausted},
		{"the first ends", func() error { stranger.Close(); return known.Take(40) }, nil},
		{"without a budget", func() error { return memory.Of(t.Context()).Take(1000) }, nil},
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
	last.Known()
	if err := last.Take(50); err != nil {
		t.Errorf("after all have ended: %v", err)
	}
}

func TestWhatCannotBeSentAgainWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := memory.NewBudget(100, func() {})
		first, second := budget.Open(), budget.Open()
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
		if err := second.Wait(t.Context(), 41); !errors.Is(err, memory.ErrExhausted) {
			t.Errorf("more than there is: %v, want %v", err, memory.ErrExhausted)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := first.Wait(ctx, 60); !errors.Is(err, memory.ErrExhausted) {
			t.Errorf("after the end of the call: %v, want %v", err, memory.ErrExhausted)
		}
	})
}

func TestAReaderTakesWhatArrives(t *testing.T) {
	const length = 100_000
	for size, want := range map[int64]error{1 << 20: nil, 2 * length: memory.ErrExhausted} {
		share := memory.NewBudget(2*size, func() {}).Open()
		got, err := io.ReadAll(memory.NewReader(strings.NewReader(strings.Repeat("x", length)), share.Take))
		if !errors.Is(err, want) || (want == nil && !bytes.Equal(got, bytes.Repeat([]byte("x"), length))) {
			t.Errorf("of %d bytes: %d read, %v, want %v", size, len(got), err, want)
		}
	}
}

func TestTheCGroupSetsTheLimit(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "1GiB") // as the runtime has read it, or not: it is not set again
	before := memory.Limit()
	if got, err := memory.LimitFromCGroup(); err != nil || got != before {
		t.Errorf("%d, %v, want %d as before", got, err, before)
	}
}
