// Package membudget bounds the memory that the requests of a process hold together: their bodies and those of their responses, and the
// trees made from them. A request that does not fit is refused while it is small, so that it does not end the process.
//
//	limit, err := membudget.LimitFromCGroup()  // once, at the start
//	budget := membudget.NewBudget(limit/4, shed)
//	share := budget.Open()                  // one for each request
//	defer share.Close()
//	err = share.Take(n)                     // ErrExhausted
package membudget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// ErrExhausted means that there is not enough memory left for a request.
var ErrExhausted = errors.New("no memory is left for this")

// withoutLimit is the assumed memory if neither GOMEMLIMIT, nor a cgroup, nor the system has a limit.
const withoutLimit = 1 << 30

// LimitFromCGroup sets the runtime's limit to nine tenths of the memory of the process's cgroup, or of the machine, unless GOMEMLIMIT is
// set, and returns it in bytes. After an error it is what Limit returns.
func LimitFromCGroup() (int64, error) {
	if _, err := memlimit.Set(memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem))); err != nil {
		return Limit(), fmt.Errorf("finding out how much memory there is: %w", err)
	}
	return Limit(), nil
}

// Limit returns the present GOMEMLIMIT, in bytes; 1 GiB if there is none.
func Limit() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return withoutLimit
}

// A Budget bounds what all requests together may hold. A quarter of it is reserved for approved senders, and another quarter for
// authenticated ones. It is safe for concurrent use.
type Budget struct {
	size int64
	shed func()

	mu      sync.Mutex
	free    [levels]int64 // for shares of a level and those below it
	waiting queue
}

// A level is how far a sender is trusted. A share may take what is free for its level and for all levels above it.
type level int

const (
	unknown  level = iota // the sender is not authenticated
	known                 // the sender was authenticated
	approved              // the operator approved the sender
	levels   = iota
)

// most returns how many bytes the shares of a level and of those below it may hold.
func (b *Budget) most(of level) int64 {
	return [levels]int64{b.size / 2, b.size - b.size/4, b.size}[of]
}

// NewBudget makes a Budget of that many bytes. shed is called whenever something does not fit.
func NewBudget(bytes int64, shed func()) *Budget {
	b := &Budget{size: bytes, shed: shed}
	for of := range level(levels) {
		b.free[of] = b.most(of)
	}
	return b
}

// Open starts the share of one request, which counts as unauthenticated until Known is called.
func (b *Budget) Open() *Share {
	s := &Share{}
	b.Start(s)
	return s
}

// Start is Open for the zero Share, which is not to be copied from then on.
func (b *Budget) Start(s *Share) { s.budget = b }

// Beside opens another share of the same budget, at the present level of s, for work that continues after its request.
func (s *Share) Beside() *Share {
	if s == nil {
		return nil
	}
	return &Share{budget: s.budget, level: s.level}
}

// A Share is the memory of one request. It is for one goroutine at a time. The nil Share holds nothing and has no bound: it is for
// trusted callers.
type Share struct {
	budget *Budget
	taken  int64
	level  level
}

// Known records that the sender was authenticated.
func (s *Share) Known() { s.raise(known) }

// Approved records that the operator approved the sender.
func (s *Share) Approved() { s.raise(approved) }

// raise releases what the share took from the levels that it leaves.
func (s *Share) raise(to level) {
	if s == nil || s.level >= to {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	for of := s.level; of < to; of++ {
		s.budget.free[of] += s.taken
	}
	s.level = to
	s.budget.serve()
}

// Take takes n more bytes, all or none of them, without waiting, and only if no other Share of its level or above waits. The error is
// ErrExhausted.
func (s *Share) Take(n int64) error {
	if s == nil {
		return nil
	}
	if !s.took(n) {
		return s.refused()
	}
	return nil
}

func (s *Share) took(n int64) bool {
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting.holds(s.level) || !s.fits(n) {
		return false
	}
	s.take(n)
	return true
}

// fits reports whether n bytes are free for the share.
func (s *Share) fits(n int64) bool { return n <= slices.Min(s.budget.free[s.level:]) }

func (s *Share) take(n int64) {
	for of := s.level; of < levels; of++ {
		s.budget.free[of] -= n
	}
	s.taken += n
}

// Wait is Take for a response that cannot be repeated: it waits until others end or ctx does. A request for more than the level may hold
// is refused at once, and so is one in a deadlock of waiting shares. The error is ErrExhausted.
func (s *Share) Wait(ctx context.Context, n int64) error {
	if s == nil {
		return nil
	}
	if !s.waited(ctx, n) {
		return s.refused()
	}
	return nil
}

func (s *Share) refused() error {
	s.budget.shed()
	return ErrExhausted
}

// Close releases everything. The request must not use what it took any more.
func (s *Share) Close() {
	if s == nil {
		return
	}
	b := s.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	for of := s.level; of < levels; of++ {
		b.free[of] += s.taken
	}
	s.taken = 0
	b.serve()
}

type shareKey struct{}

// With returns a context that carries the share of the request it is of.
func With(ctx context.Context, s *Share) context.Context {
	return context.WithValue(ctx, shareKey{}, s)
}

// IsKey reports whether Value of a context is called for its share: it must then return the *Share. It is for separate context types; all
// others are made by With.
func IsKey(key any) bool { return key == shareKey{} }

// Of returns the share that a context carries; nil if it carries none.
func Of(ctx context.Context) *Share {
	s, _ := ctx.Value(shareKey{}).(*Share)
	return s
}
