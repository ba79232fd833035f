package calls

import (
	"sync"

	"github.com/uimgate/uimgate/pat"
)

// Used reports whether this process knows that the first call under an agreement was recorded. It returns true for the empty id. The first
// call under an agreement must use Begin, which records that the agreement was used, so that the agreement is kept.
func (c *Calls) Used(service string, id pat.AgreementID) bool {
	return c.used.has(ref{service, string(id)})
}

// recent is a set of the agreements that were used last. The field most is the minimum number of agreements that it keeps; it keeps at most
// twice as many.
type recent struct {
	most     int
	mu       sync.RWMutex
	now, old map[ref]struct{}
}

func newRecent(most int) *recent { return &recent{most: most, now: map[ref]struct{}{}} }

// has reports whether an agreement is in the set. It returns true for the empty id, which is never stored.
func (r *recent) has(k ref) bool {
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

func (r *recent) add(k ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.now) >= r.most {
		r.now, r.old = map[ref]struct{}{}, r.now
	}
	r.now[k] = struct{}{}
}
