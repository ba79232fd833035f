package clock

import (
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
)

// A Pace records how long this process recently took to make transactions durable. The zero value has no transactions.
type Pace struct {
	mu          sync.Mutex
	last        time.Duration // the duration of the last transaction
	now, before time.Duration // the longest transaction in the current turn and in the previous one
	turn        time.Time     // when the current turn began
}

// paceTurn is the length of a turn. A slow commit counts for one to two turns.
const paceTurn = 10 * time.Second

// Took records a transaction that began and ended at the given times of the process's clock. A single slow transaction does not count;
// otherwise one outlier would make limits per second stricter for a minute.
func (p *Pace) Took(began, ended time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(ended)
	d := max(0, ended.Sub(began))
	p.now, p.last = max(p.now, min(d, p.last)), d
}

func (p *Pace) roll(at time.Time) {
	switch passed := at.Sub(p.turn); {
	case passed < 0: // the clock was set back
		p.turn = at
	case passed >= 2*paceTurn:
		p.now, p.before, p.turn = 0, 0, at
	case passed >= paceTurn:
		p.now, p.before, p.turn = 0, p.now, at
	}
}

// Slots returns how many dispatch slots a call needs under a limit per second: enough for a commit that takes twice as long as the slowest
// recent one.
func (p *Pace) Slots(at time.Time) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(at)
	length := limit.Second.SlotLength()
	needed := (2*max(p.now, p.before) + length - 1) / length
	return min(max(1, int64(needed)), limit.MaxDispatch)
}
