package sqlstore

import "sync"

type agreementKey struct{ service, id string }

// recent remembers the agreements seen lately, at least most of them and at most twice as many.
type recent struct {
	most     int
	mu       sync.RWMutex
	now, old map[agreementKey]struct{}
}

func newRecent(most int) *recent { return &recent{most: most, now: map[agreementKey]struct{}{}} }

// has is true of the empty id, of which there is nothing to remember.
func (r *recent) has(k agreementKey) bool {
	if k.id == "" {
		return true
	}
	r.mu.RLock()
	_, young := r.now[k]
	_, old := r.old[k]
	r.mu.RUnlock()
	if old && !young {
		r.add(k)
	}
	return young || old
}

func (r *recent) add(k agreementKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.now) >= r.most {
		r.now, r.old = map[agreementKey]struct{}{}, r.now
	}
	r.now[k] = struct{}{}
}
