package lease

import (
	"cmp"
	"hash/maphash"
	"strings"
	"sync"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A key identifies one counter of the store.
type key struct {
	service   string
	principal pat.Principal
	limitID   string
	period    limit.Period
}

func (k *key) compare(o *key) int {
	return cmp.Or(strings.Compare(k.service, o.service), cmp.Compare(k.principal, o.principal),
		strings.Compare(k.limitID, o.limitID), strings.Compare(string(k.period), string(o.period)))
}

func (e *entry) counted() store.CounterSlot {
	return store.CounterSlot{Principal: e.key.principal, LimitID: e.key.limitID, Period: e.key.period, Slot: e.slot, Restored: e.restored}
}

// shards is the number of shards. With several shards, callers with different limits use different locks.
const shards = 64

type shard struct {
	mu      sync.RWMutex
	entries map[key]*entry
}

func (h *Holder) shard(k *key) *shard {
	return &h.shards[(maphash.String(h.seed, string(k.principal))^maphash.String(h.seed, k.limitID))%shards]
}

// find returns the entry of a counter, or nil if there is none.
func (h *Holder) find(k *key) *entry {
	s := h.shard(k)
	s.mu.RLock()
	e := s.entries[*k]
	s.mu.RUnlock()
	return e
}

// entry returns the entry of a counter, and creates it if necessary. It returns nil if there are too many entries.
func (h *Holder) entry(k *key) *entry {
	if e := h.find(k); e != nil {
		return e
	}
	if h.entries.Load() >= int64(h.keys) {
		return nil
	}
	// The copies do not keep the memory of a request in use.
	own := key{strings.Clone(k.service), pat.Principal(strings.Clone(string(k.principal))), strings.Clone(k.limitID), k.period}
	s := h.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.entries[own]; e != nil {
		return e
	}
	if s.entries == nil {
		s.entries = map[key]*entry{}
	}
	e := &entry{key: own, restoredAt: h.store.RestoredAt}
	s.entries[own] = e
	h.entries.Add(1)
	return e
}

// each locks the entries one after another, calls f with each, and deletes an entry for which f returns true.
func (h *Holder) each(f func(*entry) bool) {
	for i := range h.shards {
		s := &h.shards[i]
		s.mu.RLock()
		entries := make([]*entry, 0, len(s.entries))
		for _, e := range s.entries {
			entries = append(entries, e)
		}
		s.mu.RUnlock()
		for _, e := range entries {
			e.mu.Lock()
			if !e.gone && f(e) {
				e.gone = true
				s.mu.Lock()
				delete(s.entries, e.key)
				s.mu.Unlock()
				h.entries.Add(-1)
			}
			e.mu.Unlock()
		}
	}
}
