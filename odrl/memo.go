package odrl

import (
	"maps"
	"sync"
	"sync/atomic"
)

// maxDecisions is how many decisions a policy caches; when this number is reached, the cache is cleared. Few are needed, because the set of
// active rules changes rarely.
const maxDecisions = 256

// decisions caches the Decision for each set of elements that a plan found. Reads take no lock.
type decisions struct {
	mu    sync.Mutex
	known atomic.Pointer[map[string]memoEntry]
}

// A memoEntry is the Decision for a set of elements, or records that the Decision also depends on the reasons.
type memoEntry struct {
	decision *Decision
	wanting  bool
}

func (d *decisions) get(key []byte) (memoEntry, bool) {
	m := d.known.Load()
	if m == nil {
		return memoEntry{}, false
	}
	r, ok := (*m)[string(key)]
	return r, ok
}

func (d *decisions) put(key []byte, r memoEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := map[string]memoEntry{}
	if m := d.known.Load(); m != nil && len(*m) < maxDecisions {
		next = maps.Clone(*m)
	}
	next[string(key)] = r
	d.known.Store(&next)
}
