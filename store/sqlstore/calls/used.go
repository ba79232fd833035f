package calls

import (
	"cmp"
	"strings"
	"sync"

	"github.com/uimgate/uimgate/pat"
)

// Used reports whether this process has seen that a call under the agreement is on record; it is true for the empty id.
// The first call has to go through Begin, which records it, so that the agreement is kept.
func (c *Calls) Used(service string, id pat.AgreementID) bool {
	return c.used.has(agreementKey{service, string(id)})
}

type agreementKey struct{ service, id string }

func (k agreementKey) compare(o agreementKey) int {
	return cmp.Or(strings.Compare(k.service, o.service), strings.Compare(k.id, o.id))
}

// recent keeps the agreements seen lately, at least most of them and at most twice as many.
type recent struct {
	most     int
	mu       sync.RWMutex
	now, old map[agreementKey]struct{}
}

func newRecent(most int) *recent { return &recent{most: most, now: map[agreementKey]struct{}{}} }

// has is true for the empty id, which is never stored.
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
