package cache

import (
	"iter"
	"time"

	"github.com/maypok86/otter/v2"
)

// bounds holds Options without the type of the values.
type bounds[K Key] struct {
	most                 int
	weigh                func(key K, value any) uint32
	sinceWrite, sinceUse time.Duration
}

// otterEntries implements entries with a cache of the library.
type otterEntries[K Key] struct{ of *otter.Cache[K, any] }

// Only these functions instantiate the library. If the compiler inlined one of them into a caller, the caller would also instantiate it.

//go:noinline
func byText(b bounds[string]) any { return newEntries(b) }

//go:noinline
func byPair(b bounds[[2]string]) any { return newEntries(b) }

//go:noinline
func byDigest(b bounds[[32]byte]) any { return newEntries(b) }

func newEntries[K Key](b bounds[K]) entries[K] {
	if b.most < 1 {
		panic("cache: Options.Max must be at least 1")
	}
	o := otter.Options[K, any]{}
	if b.weigh != nil {
		o.MaximumWeight, o.Weigher = uint64(b.most), b.weigh
	} else {
		o.MaximumSize = b.most
	}
	switch {
	case b.sinceWrite > 0:
		o.ExpiryCalculator = otter.ExpiryWriting[K, any](b.sinceWrite)
	case b.sinceUse > 0:
		o.ExpiryCalculator = otter.ExpiryAccessing[K, any](b.sinceUse)
	}
	return otterEntries[K]{otter.Must(&o)}
}

func (e otterEntries[K]) get(key K) (any, bool) { return e.of.GetIfPresent(key) }

func (e otterEntries[K]) set(key K, value any) { e.of.Set(key, value) }

func (e otterEntries[K]) update(key K, to func(old any, found bool) any) any {
	value, _ := e.of.Compute(key, func(old any, found bool) (any, otter.ComputeOp) { return to(old, found), otter.WriteOp })
	return value
}

func (e otterEntries[K]) remove(key K) { e.of.Invalidate(key) }

func (e otterEntries[K]) values() iter.Seq[any] { return e.of.Values() }

func (e otterEntries[K]) settle() int {
	e.of.CleanUp()
	return e.of.EstimatedSize()
}

func (e otterEntries[K]) stop() { e.of.StopAllGoroutines() }
