package engine

import (
	"maps"
	"sync"
)

// notes are rows of the sequences table in which a process records its observations of clocks and servers for later processes. A note is
// pending until the database has it. The next transaction that writes anything includes the pending notes, so that nothing is counted by a
// clock that later processes cannot reconstruct. A failed write is retried at the next reading of a clock, and by Close.
type notes struct {
	mu      sync.Mutex
	pending map[string]int64
	writing bool
}

// set adds rows to the pending ones.
func (n *notes) set(rows map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pending == nil {
		n.pending = map[string]int64{}
	}
	maps.Copy(n.pending, rows)
}

// claim reports whether the caller must write the pending rows. If so, the caller must then call done.
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

// done removes the written rows from the pending ones, except for rows that have changed since.
func (n *notes) done(written map[string]int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writing = false
	n.drop(written)
}

// wrote removes the rows that a transaction has written from the pending ones.
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
