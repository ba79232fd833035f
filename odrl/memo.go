package odrl

import (
	"maps"
	"sync"
	"sync/atomic"
)

// maxDecisions bounds how many assembled decisions a policy caches. Which rules are active changes rarely; beyond the bound the cache is
// cleared.
const maxDecisions = 256

// decisions caches the Decision for each set of elements that a plan found. Reading takes no lock.
type decisions struct {
	mu    sync.Mutex
	known atomic.Pointer[map[string]memoEntry]
}

// The entry of a set: its decision, or that the reasons are needed too before there is one.
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
