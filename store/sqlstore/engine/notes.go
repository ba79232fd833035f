package engine

import (
	"maps"
	"sync"
)

// Notes are rows of the table sequences in which a process records for later ones what it saw of the clocks. A note is pending until the
// database has it: the next transaction that writes anything includes it, so that nothing is counted on a clock that later processes
// cannot find. A failed write is repeated at the next reading of a clock, and when the store is closed.
type notes struct {
	mu      sync.Mutex
	pending map[string]int64
	writing bool
}

// set changes rows that are not yet written.
func (n *notes) set(rows map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pending == nil {
		n.pending = map[string]int64{}
	}
	maps.Copy(n.pending, rows)
}

// claim reports whether the caller must write the pending rows; it then calls done.
func (n *notes) claim() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.writing || len(n.pending) == 0 {
		return false
	}
	n.writing = true
	return true
}

func (n *notes) rows() map[string]int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.pending)
}

// done removes the rows that were written from the pending ones, unless they changed meanwhile.
func (n *notes) done(written map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writing = false
	n.drop(written)
}

// wrote removes rows that a transaction of calls has written.
func (n *notes) wrote(written map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop(written)
}

func (n *notes) drop(written map[string]int64) {
	for name, v := range written {
		if n.pending[name] == v {
			delete(n.pending, name)
		}
	}
}
