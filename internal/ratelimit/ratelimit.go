// Package ratelimit limits callers that send too many requests, with a token bucket for each caller. Its limits are approximate, and
// apply only within one process: the buckets are in memory. The store counts the limits of policies exactly.
//
//	set := ratelimit.NewSet(limit.Rate{Max: 10, Period: "minute"})
//	if !set.Admit(address, now) {
//		return tooMany(set.Wait())
//	}
package ratelimit

import (
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/uimgate/uimgate/internal/cache"
	"github.com/uimgate/uimgate/internal/limit"
)

// maxCallers is the maximum number of buckets; the least recently used ones are evicted first.
const maxCallers = 100_000

// A Set has a token bucket for each caller. A caller that is an IPv6 /64, written as a CIDR, also takes from the buckets of its /56 and of
// its /48. These hold twice and four times as many tokens. A client with such a network has many /64 networks. A Set is safe for concurrent
// use.
type Set struct{ buckets atomic.Pointer[buckets] }

// buckets holds the buckets for one rate.
type buckets struct {
	of      limit.Rate
	every   rate.Limit
	burst   int
	callers *cache.Cache[string, *rate.Limiter]
}

// wider lists the prefix lengths of the networks around a /64 that have buckets, each of them twice as large as the previous one.
var wider = []int{56, 48}

// NewSet returns a Set in which the bucket of a caller holds r.Max tokens. An empty bucket is full again after r.Period.
func NewSet(r limit.Rate) *Set {
	s := &Set{}
	s.SetRate(r)
	return s
}

// SetRate changes the rate. If the new rate differs, all buckets become full.
func (s *Set) SetRate(r limit.Rate) {
	if now := s.buckets.Load(); now != nil && now.of == r {
		return
	}
	per := rate.Limit(float64(r.Max) / float64(max(1, r.Period.Seconds())))
	s.buckets.Store(&buckets{of: r, every: per, burst: int(r.Max), callers: cache.New(cache.Options[string, *rate.Limiter]{
		Max: maxCallers,
		// A bucket that has not been used for a period is full, so removing it changes nothing.
		SinceUse: time.Duration(r.Period.Seconds()+1) * time.Second,
	})})
}

// Close stops the background work. Without Close, the background work stops some time after the last use. A closed Set can still be used.
func (s *Set) Close() { s.buckets.Load().callers.Close() }

// Admit takes one token from the bucket of a caller and from those of the networks around it. It returns false if one of them is empty;
// tokens that it has already taken from the other buckets stay taken.
func (s *Set) Admit(caller string, now time.Time) bool {
	b := s.buckets.Load()
	if !b.take(caller, 1, now) {
		return false
	}
	for i, name := range around(caller) {
		if !b.take(name, 2<<i, now) {
			return false
		}
	}
	return true
}

// Empty reports whether the bucket of a caller, or of a network around it, is empty. It takes no token.
func (s *Set) Empty(caller string, now time.Time) bool {
	b := s.buckets.Load()
	empty := func(name string) bool {
		l, ok := b.callers.Get(name)
		return ok && l.TokensAt(now) < 1
	}
	return empty(caller) || slices.ContainsFunc(around(caller), empty)
}

// around returns the names of the buckets for the networks around a caller; nil if the caller is not a /64.
func around(caller string) (names []string) {
	if !strings.HasSuffix(caller, "/64") {
		return nil
	}
	network, err := netip.ParsePrefix(caller)
	if err != nil {
		return nil
	}
	for _, bits := range wider {
		names = append(names, netip.PrefixFrom(network.Addr(), bits).Masked().String())
	}
	return names
}

// take takes one token from a bucket. times is the size of the bucket, as a multiple of the size of a caller's bucket.
func (b *buckets) take(name string, times int, now time.Time) bool {
	l := b.callers.GetOrMake(name, func() *rate.Limiter { return rate.NewLimiter(b.every*rate.Limit(times), b.burst*times) })
	return l.AllowN(now, 1)
}

// Wait returns how long an empty bucket takes to gain one token.
func (s *Set) Wait() time.Duration {
	return time.Duration(float64(time.Second) / float64(s.buckets.Load().every))
}
