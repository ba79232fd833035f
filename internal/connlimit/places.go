package connlimit

import "sync"

// Places limits what its owners have open at the same time, such as streams. The zero Places admits nothing. It is safe for concurrent use.
type Places struct {
	Most   int // the maximum for all owners together
	MostOf int // the maximum for one owner

	mu  sync.Mutex
	all int
	of  map[string]int
}

// Enter reports whether there is a place for the owner. If there is, the caller must call Leave.
func (p *Places) Enter(owner string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all >= p.Most || p.of[owner] >= p.MostOf {
		return false
	}
	if p.of == nil {
		p.of = map[string]int{}
	}
	p.all++
	p.of[owner]++
	return true
}

// Leave gives back the place of an owner.
func (p *Places) Leave(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all--
	if p.of[owner]--; p.of[owner] == 0 {
		delete(p.of, owner)
	}
}
