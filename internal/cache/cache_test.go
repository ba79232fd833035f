package cache_test

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/cache"
)

func TestSetGetRemove(t *testing.T) {
	t.Parallel()
	c := cache.New(cache.Options[[2]string, *string]{Max: 10})
	if v, ok := c.Get([2]string{"1", "2"}); ok || v != nil {
		t.Errorf("an empty cache has %v", v)
	}
	text := "a"
	c.Set([2]string{"1", "2"}, &text)
	c.Set([2]string{"2", "1"}, nil)
	if v, ok := c.Get([2]string{"1", "2"}); !ok || v != &text {
		t.Errorf("got %v, %t", v, ok)
	}
	if v, ok := c.Get([2]string{"2", "1"}); !ok || v != nil {
		t.Errorf("a nil value: got %v, %t; want nil, true", v, ok)
	}
	c.Remove([2]string{"1", "2"})
	c.Remove([2]string{"3", "3"})
	if _, ok := c.Get([2]string{"1", "2"}); ok {
		t.Error("a removed key is found")
	}
	if all := slices.Collect(c.Values()); len(all) != 1 || all[0] != nil {
		t.Errorf("left are %v", all)
	}
}

func TestUpdatesOfOneKeyAreSerialized(t *testing.T) {
	t.Parallel()
	c := cache.New(cache.Options[string, int]{Max: 10})
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			c.Update("n", func(old int, found bool) int {
				if found != (old > 0) {
					t.Errorf("%d is found: %t, want %v", old, found, old > 0)
				}
				return old + 1
			})
		})
	}
	all.Wait()
	if n, _ := c.Get("n"); n != 100 {
		t.Errorf("100 updates counted to %d, want 100", n)
	}
}

func TestGetOrMakeBuildsOnce(t *testing.T) {
	t.Parallel()
	c := cache.New(cache.Options[string, int64]{Max: 10})
	var made atomic.Int64
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if n := c.GetOrMake("n", func() int64 { return made.Add(1) }); n != 1 {
				t.Errorf("a caller got value %d, want 1", n)
			}
		})
	}
	all.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("%d values were made", n)
	}
}

func TestEntriesAreEvicted(t *testing.T) {
	t.Parallel()
	const most = 100
	for name, c := range map[string]*cache.Cache[[32]byte, string]{
		"by number": cache.New(cache.Options[[32]byte, string]{Max: most}),
		"by weight": cache.New(cache.Options[[32]byte, string]{Max: 10 * most, Weigh: func(n [32]byte, v string) uint32 {
			if n != sha256.Sum256([]byte(v)) {
				t.Errorf("weighed %x and %q", n, v)
			}
			return 10
		}}),
	} {
		for n := range 20 * most {
			text := strconv.Itoa(n)
			c.Set(sha256.Sum256([]byte(text)), text)
		}
		if left := c.Settle(); left == 0 || left > most {
			t.Errorf("%s: %d entries are left, want at most %d", name, left, most)
		}
		c.Close()
	}
}

func TestEntriesExpire(t *testing.T) {
	t.Parallel()
	kept := cache.New(cache.Options[string, int]{Max: 10, SinceWrite: time.Hour})
	kept.Set("1", 1)
	if _, ok := kept.Get("1"); !ok {
		t.Error("an entry of an hour expired at once")
	}
	for name, o := range map[string]cache.Options[string, int]{
		"since it was written": {Max: 10, SinceWrite: time.Nanosecond}, "since it was used": {Max: 10, SinceUse: time.Nanosecond},
	} {
		c := cache.New(o)
		c.Set("1", 1)
		for began := time.Now(); time.Since(began) < time.Millisecond; { // the clock of a machine may be coarse
		}
		if _, ok := c.Get("1"); ok {
			t.Error(name + ": an expired entry is found")
		}
	}
}

func TestNewPanicsWithoutMax(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a cache without a bound was made")
		}
	}()
	cache.New(cache.Options[string, int]{})
}

func TestValuesStopsWithTheLoop(t *testing.T) {
	t.Parallel()
	c := cache.New(cache.Options[string, int]{Max: 10})
	for n := range 5 {
		c.Set(strconv.Itoa(n), n)
	}
	seen := map[int]bool{}
	for v := range c.Values() {
		seen[v] = true
		if len(seen) == 2 {
			break
		}
	}
	if len(seen) != 2 {
		t.Errorf("a loop of two saw %v", slices.Collect(maps.Keys(seen)))
	}
}
