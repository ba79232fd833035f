// Package ratelimit limits callers that send too many requests, by a token bucket for each: approximate, in memory and only in this
// process. The store counts the limits of policies exactly.
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

// maxCallers bounds the buckets; the least recently used are evicted first.
const maxCallers = 100_000

// A Set has a bucket for each caller. A caller that is an IPv6 network of 64 bits, written as a CIDR, shares the bucket of its /56, which
// holds twice as much, and that of its /48, with four times as much: a client with such a network has many /64. It is safe for concurrent
// use.
type Set struct{ buckets atomic.Pointer[buckets] }

// buckets are the buckets of one rate.
type buckets struct {
	of      limit.Rate
	every   rate.Limit
	burst   int
	callers *cache.Cache[string, *rate.Limiter]
}

// wider are the networks around a /64 with separate buckets, each twice as large as the previous one.
var wider = []int{56, 48}

// NewSet makes a Set in which each caller may take r.Max at once. They are refilled within r.Period.
func NewSet(r limit.Rate) *Set {
	s := &Set{}
	s.SetRate(r)
	return s
}

// SetRate changes the rate from now on. If it differs, all buckets are full again.
func (s *Set) SetRate(r limit.Rate) {
	if now := s.buckets.Load(); now != nil && now.of == r {
		return
	}
	per := rate.Limit(float64(r.Max) / float64(max(1, r.Period.Seconds())))
	s.buckets.Store(&buckets{of: r, every: per, burst: int(r.Max), callers: cache.New(cache.Options[string, *rate.Limiter]{
		Max: maxCallers,
		// After an idle period the bucket is full again, so removing it changes nothing.
		SinceUse: time.Duration(r.Period.Seconds()+1) * time.Second,
	})})
}

// Close stops the background work, which would otherwise stop some time after the last use. The Set still works.
func (s *Set) Close() { s.buckets.Load().callers.Close() }

// Admit takes one from the bucket of a caller, or returns false if it, or that of a network around it, is empty.
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

// Empty reports whether the bucket of a caller, or that of a network around it, is empty, and takes nothing.
func (s *Set) Empty(caller string, now time.Time) bool {
	b := s.buckets.Load()
	empty := func(name string) bool {
		l, ok := b.callers.Get(name)
		return ok && l.TokensAt(now) < 1
	}
	return empty(caller) || slices.ContainsFunc(around(caller), empty)
}

// around returns the names of the buckets of the networks around a caller; nil: the caller is not such a network.
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

// take takes one from a bucket that holds times as much as those of callers.
func (b *buckets) take(name string, times int, now time.Time) bool {
	l := b.callers.GetOrMake(name, func() *rate.Limiter { return rate.NewLimiter(b.every*rate.Limit(times), b.burst*times) })
	return l.AllowN(now, 1)
}

// Wait returns how long it takes until an empty bucket holds one again.
func (s *Set) Wait() time.Duration {
	return time.Duration(float64(time.Second) / float64(s.buckets.Load().every))
}
