package engine

import (
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
)

// A pace is how long this process recently took to make a transaction durable. The zero value is that of a process that has made none.
type pace struct {
	mu          sync.Mutex
	last        time.Duration // the newest
	now, before time.Duration // the longest of this turn and of the previous one
	turn        time.Time     // the beginning of this turn
}

// paceTurn is how long a slow commit is remembered: once or twice this time.
const paceTurn = 10 * time.Second

// took records a transaction by the clock of the process. A single slow one does not count: the next limit per second would otherwise pay
// for a minute for an exception.
func (p *pace) took(began, ended time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(ended)
	d := max(0, ended.Sub(began))
	p.now, p.last = max(p.now, min(d, p.last)), d
}

func (p *pace) roll(at time.Time) {
	switch passed := at.Sub(p.turn); {
	case passed < 0: // the clock was set back
		p.turn = at
	case passed >= 2*paceTurn:
		p.now, p.before, p.turn = 0, 0, at
	case passed >= paceTurn:
		p.now, p.before, p.turn = 0, p.now, at
	}
}

// slots returns how many dispatch slots a call needs under a limit per second: those of a commit that takes twice as long as the recent
// slow ones.
func (p *pace) slots(at time.Time) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roll(at)
	length := limit.Second.SlotLength()
	needed := (2*max(p.now, p.before) + length - 1) / length
	return min(max(1, int64(needed)), limit.MaxDispatch)
}
