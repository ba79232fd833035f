// Package bucket holds back callers that ask too often, by a token bucket for each: approximate, in memory and of this
// process alone. What policies limit is counted exactly, by the store.
//
//	set := bucket.NewSet(limit.Rate{Max: 10, Period: "minute"})
//	if !set.Admit(address, now) {
//		return tooMany(set.Wait())
//	}
package bucket

import (
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/time/rate"

	"github.com/uimgate/uimgate/internal/limit"
)

// maxCallers bounds how many callers are remembered at once; the least used are forgotten first.
const maxCallers = 100_000

// A Set is a bucket for each caller. It is safe for concurrent use.
type Set struct {
	every   rate.Limit
	burst   int
	callers *otter.Cache[string, *rate.Limiter]
}

// NewSet makes a Set in which each caller has r.Max at once, which come back within r.Period.
func NewSet(r limit.Rate) *Set {
	per := rate.Limit(float64(r.Max) / float64(max(1, r.Period.Seconds())))
	return &Set{every: per, burst: int(r.Max), callers: otter.Must(&otter.Options[string, *rate.Limiter]{
		MaximumSize: maxCallers,
		// After one idle period the bucket is full again, so forgetting it changes nothing.
		ExpiryCalculator: otter.ExpiryAccessing[string, *rate.Limiter](time.Duration(r.Period.Seconds()+1) * time.Second),
	})}
}

// Admit takes one from the bucket of a caller, or reports false where it is empty.
func (s *Set) Admit(caller string, now time.Time) bool {
	l, ok := s.callers.GetIfPresent(caller)
	if !ok {
		l, _ = s.callers.SetIfAbsent(caller, rate.NewLimiter(s.every, s.burst))
	}
	return l.AllowN(now, 1)
}

// Wait is how long it takes until an empty bucket holds one again.
func (s *Set) Wait() time.Duration { return time.Duration(float64(time.Second) / float64(s.every)) }
