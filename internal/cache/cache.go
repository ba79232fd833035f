// Package cache stores values by key, up to a number of entries or a total weight. It evicts the least used entries first.
//
//	known := cache.New(cache.Options[string, answer]{Max: 1000, SinceWrite: time.Minute})
//	if a, ok := known.Get(name); ok {
//		return a
//	}
//
// The underlying library is generic: each package with a field of one of its types would compile the whole library again, which takes 5 s
// of processor time. Therefore only this package instantiates it, for three types of keys and for values of type any, behind an interface.
package cache

import (
	"iter"
	"time"
)

// A Key is the key of an entry: a string, a pair of strings, or a digest. Convert keys of other types, or join them.
type Key interface{ string | [2]string | [32]byte }

// Options are the limits of a Cache.
type Options[K Key, V any] struct {
	// Max is the maximum number of entries or, if Weigh is set, their maximum total weight. It may be exceeded briefly, until the least used
	// entries are evicted.
	Max int
	// Weigh returns the weight of an entry. It must not use the Cache. If it is nil, each entry weighs 1.
	Weigh func(K, V) uint32
	// SinceWrite is how long an entry is kept after it was set; SinceUse is how long it is kept after it was last read or set. At most one of
	// them may be set. 0 means that entries do not expire.
	SinceWrite, SinceUse time.Duration
}

// A Cache stores values by key. It is safe for concurrent use.
type Cache[K Key, V any] struct{ entries entries[K] }

// entries is a Cache without the type of its values.
type entries[K Key] interface {
	get(key K) (any, bool)
	set(key K, value any)
	update(key K, to func(old any, found bool) any) any
	remove(key K)
	values() iter.Seq[any]
	settle() int
	stop()
}

// New returns an empty Cache. It panics if Max is less than 1.
func New[K Key, V any](o Options[K, V]) *Cache[K, V] {
	b := bounds[K]{most: o.Max, sinceWrite: o.SinceWrite, sinceUse: o.SinceUse}
	if o.Weigh != nil {
		b.weigh = func(key K, value any) uint32 { return o.Weigh(key, as[V](value)) }
	}
	var made any
	switch b := any(b).(type) {
	case bounds[string]:
		made = byText(b)
	case bounds[[2]string]:
		made = byPair(b)
	case bounds[[32]byte]:
		made = byDigest(b)
	}
	return &Cache[K, V]{made.(entries[K])} //nolint:forcetypeassert // there are three types of keys
}

// as converts a value back to its type.
func as[T any](value any) T {
	v, _ := value.(T)
	return v
}

// Get returns the value of a key, and whether there is one.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	value, ok := c.entries.get(key)
	return as[V](value), ok
}

// Set sets the value of a key.
func (c *Cache[K, V]) Set(key K, value V) { c.entries.set(key, value) }

// Update replaces the value of a key with the result of the function to, and returns the result. The arguments of to are the old value, and
// whether there was one. While the function runs, other goroutines cannot change the key. It must not use the Cache.
func (c *Cache[K, V]) Update(key K, to func(old V, found bool) V) V {
	return as[V](c.entries.update(key, func(old any, found bool) any { return to(as[V](old), found) }))
}

// GetOrMake returns the value of a key. If there is none, it stores the result of build and returns it; concurrent callers share one call
// of build. build must not use the Cache.
func (c *Cache[K, V]) GetOrMake(key K, build func() V) V {
	if value, ok := c.Get(key); ok {
		return value
	}
	return c.Update(key, func(old V, found bool) V {
		if found {
			return old
		}
		return build()
	})
}

// Remove removes a key.
func (c *Cache[K, V]) Remove(key K) { c.entries.remove(key) }

// Values returns all values, in no particular order.
func (c *Cache[K, V]) Values() iter.Seq[V] {
	return func(yield func(V) bool) {
		for value := range c.entries.values() {
			if !yield(as[V](value)) {
				return
			}
		}
	}
}

// Settle immediately evicts entries that exceed the limits, and returns the number of remaining entries.
func (c *Cache[K, V]) Settle() int { return c.entries.settle() }

// Close stops the goroutine that removes expired entries; without Close, the goroutine stops some time after the last use of the Cache. A
// closed Cache can still be used.
func (c *Cache[K, V]) Close() { c.entries.stop() }
