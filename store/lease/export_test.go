package lease

import "time"

// Known returns how many limits have an entry.
func (h *Holder) Known() int64 { return h.entries.Load() }

// LeaseFrom makes a Holder without leases lease limits of at least n.
func (h *Holder) LeaseFrom(n int64) { h.from = n }

// BoundKeys bounds the entries of a Holder without leases.
func (h *Holder) BoundKeys(n int) { h.keys = n }

// BoundPatience bounds how long a Holder without leases waits for the store.
func (h *Holder) BoundPatience(d time.Duration) { h.patience = d }
