package cache

import (
	"iter"
	"time"

	"github.com/maypok86/otter/v2"
)

// bounds are Options without their types.
type bounds struct {
	most                 int
	weigh                func(key, value any) uint32
	sinceWrite, sinceUse time.Duration
}

// otterEntries are entries in the library's cache.
type otterEntries struct{ of *otter.Cache[any, any] }

func newEntries(b bounds) entries {
	if b.most < 1 {
		panic("cache: a Cache needs a bound")
	}
	o := otter.Options[any, any]{}
	if b.weigh != nil {
		o.MaximumWeight, o.Weigher = uint64(b.most), b.weigh
	} else {
		o.MaximumSize = b.most
	}
	switch {
	case b.sinceWrite > 0:
		o.ExpiryCalculator = otter.ExpiryWriting[any, any](b.sinceWrite)
	case b.sinceUse > 0:
		o.ExpiryCalculator = otter.ExpiryAccessing[any, any](b.sinceUse)
	}
	return otterEntries{otter.Must(&o)}
}

func (e otterEntries) get(key any) (any, bool) { return e.of.GetIfPresent(key) }

func (e otterEntries) set(key, value any) { e.of.Set(key, value) }

func (e otterEntries) update(key any, to func(old any, found bool) any) any {
	value, _ := e.of.Compute(key, func(old any, found bool) (any, otter.ComputeOp) { return to(old, found), otter.WriteOp })
	return value
}

func (e otterEntries) remove(key any) { e.of.Invalidate(key) }

func (e otterEntries) all() iter.Seq2[any, any] { return e.of.All() }

func (e otterEntries) settle() int {
	e.of.CleanUp()
	return e.of.EstimatedSize()
}

func (e otterEntries) stop() { e.of.StopAllGoroutines() }
