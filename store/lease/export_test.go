package lease

import "time"

// Known is how many limits are known.
func (h *Holder) Known() int64 { return h.known.Load() }

// LeaseFrom makes a Holder that has no leases yet lease limits of at least so many.
func (h *Holder) LeaseFrom(n int64) { h.from = n }

// BoundKeys bounds how many limits a Holder that has no leases yet may know.
func (h *Holder) BoundKeys(n int) { h.keys = n }

// BoundPatience bounds how long a Holder that has no leases yet waits for the store.
func (h *Holder) BoundPatience(d time.Duration) { h.patience = d }
