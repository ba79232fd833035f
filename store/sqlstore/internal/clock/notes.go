package clock

import (
	"maps"
	"sync"
)

// Notes are rows of the sequences table in which a process records its observations of clocks and servers for later processes. A note is
// pending until the database has it. The next transaction that writes anything includes the pending notes, so that nothing is counted by a
// clock that later processes cannot reconstruct. A failed write is retried at the next reading of a clock, and by Close.
type Notes struct {
	mu      sync.Mutex
	pending map[string]int64
	writing bool
}

// Set adds rows to the pending ones.
func (n *Notes) Set(rows map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pending == nil {
		n.pending = map[string]int64{}
	}
	maps.Copy(n.pending, rows)
}

// Claim reports whether the caller must write the pending rows. If so, the caller must then call Done.
func (n *Notes) Claim() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writing || len(n.pending) == 0 {
		return false
	}
	n.writing = true
	return true
}

// Rows returns the pending rows.
func (n *Notes) Rows() map[string]int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.pending)
}

// Done removes the written rows from the pending ones, except for rows that have changed since.
func (n *Notes) Done(written map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writing = false
	n.drop(written)
}

// Wrote removes the rows that a transaction has written from the pending ones.
func (n *Notes) Wrote(written map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop(written)
}

func (n *Notes) drop(written map[string]int64) {
	for name, v := range written {
		if n.pending[name] == v {
			delete(n.pending, name)
		}
	}
}
