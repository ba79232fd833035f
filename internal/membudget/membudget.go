// Package membudget limits the memory that all requests of a process hold together: their bodies, the bodies of their responses, and the
// trees parsed from them. A request that would exceed the limit is refused while it is still small, so that the process does not run out
// of memory.
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
var ErrExhausted = errors.New("the memory for requests is exhausted")

// withoutLimit is the memory that is assumed if there is no limit: neither GOMEMLIMIT, nor that of a cgroup or of the system.
const withoutLimit = 1 << 30

// LimitFromCGroup sets the memory limit of the runtime to nine tenths of the memory of the process's cgroup or of the machine, unless
// GOMEMLIMIT is set. It returns the limit in bytes. If it also returns an error, the limit is unchanged.
func LimitFromCGroup() (int64, error) {
	if _, err := memlimit.Set(memlimit.WithProvider(memlimit.ApplyFallback(memlimit.FromCgroup, memlimit.FromSystem))); err != nil {
		return Limit(), fmt.Errorf("determining the available memory: %w", err)
	}
	return Limit(), nil
}

// Limit returns the current memory limit of the runtime in bytes; 1 GiB if there is none.
func Limit() int64 {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	return withoutLimit
}

// A Budget limits the memory that all requests together may hold. Requests of unauthenticated senders may hold at most half of it, and
// those of all senders that are not approved at most three quarters. It is safe for concurrent use.
type Budget struct {
	size int64
	shed func()

	mu      sync.Mutex
	free    [levels]int64 // by level: the bytes that shares of this level and of lower levels may still take
	waiting queue
}

// A level is the degree to which a sender is trusted. A share can take bytes only if they are free for its level and for all higher
// levels.
type level int

const (
	unknown  level = iota // the sender is not authenticated
	known                 // the sender was authenticated
	approved              // the operator approved the sender
	levels   = iota
)

// most returns how many bytes the shares of a level and of lower levels may hold together.
func (b *Budget) most(of level) int64 {
	return [levels]int64{b.size / 2, b.size - b.size/4, b.size}[of]
}

// NewBudget returns a Budget of the given number of bytes. The Budget calls shed each time it refuses memory.
func NewBudget(bytes int64, shed func()) *Budget {
	b := &Budget{size: bytes, shed: shed}
	for of := range level(levels) {
		b.free[of] = b.most(of)
	}
	return b
}

// Open returns the share of one request. The request counts as unauthenticated until Known or Approved is called.
func (b *Budget) Open() *Share {
	s := &Share{}
	b.Start(s)
	return s
}

// Start is like Open for the zero Share s, which must not be copied afterwards.
func (b *Budget) Start(s *Share) { s.budget = b }

// Beside returns another share of the same budget, at the current level of s, for work that continues after its request.
func (s *Share) Beside() *Share {
	if s == nil {
		return nil
	}
	return &Share{budget: s.budget, level: s.level}
}

// A Share is the memory that one request holds. Only one goroutine at a time may use it. The nil Share is for trusted callers: it has no
// limit, and counts nothing.
type Share struct {
	budget *Budget
	taken  int64
	level  level
}

// Known records that the sender was authenticated.
func (s *Share) Known() { s.raise(known) }

// Approved records that the operator approved the sender.
func (s *Share) Approved() { s.raise(approved) }

// raise raises the share to a higher level. The bytes that the share has taken become available to the levels that it leaves.
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

// Take takes n more bytes, or none, and does not wait. It returns ErrExhausted if the bytes are not free, or if another Share of the same
// or a higher level is waiting.
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

// Wait is like Take, but waits until other shares release enough memory: it is for responses that cannot be requested again. It returns
// ErrExhausted if ctx is done, if the level may not hold that much, or if waiting shares would otherwise wait for each other forever.
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

// Close releases all memory of the share. The request must no longer use that memory.
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

// With returns a context that carries the share of its request.
func With(ctx context.Context, s *Share) context.Context {
	return context.WithValue(ctx, shareKey{}, s)
}

// IsKey reports whether key is the key of the share in a context. It is for separate context types: their Value method must return the
// *Share for this key. Other contexts get the share from With.
func IsKey(key any) bool { return key == shareKey{} }

// Of returns the share that a context carries; nil if it carries none.
func Of(ctx context.Context) *Share {
	s, _ := ctx.Value(shareKey{}).(*Share)
	return s
}
