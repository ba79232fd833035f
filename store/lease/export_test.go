package lease

// Known is how many limits are known.
func (h *Holder) Known() int64 { return h.known.Load() }
