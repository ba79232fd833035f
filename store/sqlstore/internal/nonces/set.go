package nonces

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"time"
)

// A Set holds used nonces by the first 8 bytes of their digests, in one table for each minute that they expire in; a table is dropped as
// a whole. Among 4 million nonces, the chance that a fresh nonce is mistaken for one of them is 2 in 10^13: it is then refused. A used
// nonce is never mistaken for a fresh one. The zero Set is empty. It is not safe for concurrent use.
type Set struct {
	generations []*generation
	len         int
	odd         uint64 // determines the positions of keys; callers who choose nonces cannot know it
}

// mostGenerations bounds in how many tables a nonce is looked up. At the bound, nonces stay until the last of them expires.
const mostGenerations = 64

// A generation is an open-addressing table: a key is at its position or, if that is taken, at the next free one.
type generation struct {
	minute int64 // since 1970, in which its nonces end
	last   int64 // when the last of them ends, in nanoseconds since 1970
	keys   []uint64
	n      int
}

// leastPlaces is the size of the first table of a generation. Tables grow by a half where four fifths are taken.
const leastPlaces = 64

// Len returns how many nonces are in the set.
func (s *Set) Len() int { return s.len }

// Bytes returns how much memory the tables have.
func (s *Set) Bytes() int {
	n := 0
	for _, g := range s.generations {
		n += len(g.keys) * 8
	}
	return n
}

// Has reports whether a nonce is used.
func (s *Set) Has(d Digest) bool {
	k := key(d)
	for _, g := range slices.Backward(s.generations) { // most repeated nonces are recent
		if _, found := g.find(k, s.odd); found {
			return true
		}
	}
	return false
}

// Add makes a nonce used until at least a time in nanoseconds since 1970.
func (s *Set) Add(d Digest, until int64) {
	if s.odd == 0 {
		var secret [8]byte
		_, _ = rand.Read(secret[:]) // it never fails
		s.odd = binary.BigEndian.Uint64(secret[:]) | 1
	}
	g := s.of(until / int64(time.Minute))
	g.last = max(g.last, until)
	if g.n >= len(g.keys)/5*4 {
		g.grow(s.odd)
	}
	k := key(d)
	if at, found := g.find(k, s.odd); !found {
		g.keys[at] = k
		g.n++
		s.len++
	}
}

// of returns the generation of a minute.
func (s *Set) of(minute int64) *generation {
	var newest *generation
	for _, g := range s.generations {
		if g.minute == minute {
			return g
		}
		if newest == nil || g.minute > newest.minute {
			newest = g
		}
	}
	if len(s.generations) >= mostGenerations {
		return newest
	}
	g := &generation{minute: minute, last: math.MinInt64, keys: make([]uint64, leastPlaces)}
	s.generations = append(s.generations, g)
	return g
}

// Drop removes the generations whose nonces have all ended at a time in nanoseconds since 1970.
func (s *Set) Drop(now int64) {
	s.generations = slices.DeleteFunc(s.generations, func(g *generation) bool {
		if g.last > now {
			return false
		}
		s.len -= g.n
		return true
	})
}

// key returns the entry of a table for a digest: never 0, which marks a free position.
func key(d Digest) uint64 { return max(binary.BigEndian.Uint64(d[:8]), 1) }

// find returns the position of a key, or its free one. Multiplication by a secret odd number also spreads chosen keys; its high part is a
// position in a table of any size.
func (g *generation) find(k, odd uint64) (at uint64, found bool) {
	at, _ = bits.Mul64(k*odd, uint64(len(g.keys)))
	for g.keys[at] != 0 {
		if g.keys[at] == k {
			return at, true
		}
		if at++; at == uint64(len(g.keys)) {
			at = 0
		}
	}
	return at, false
}

func (g *generation) grow(odd uint64) {
	was := g.keys
	g.keys = make([]uint64, len(was)*3/2)
	for _, k := range was {
		if k != 0 {
			at, _ := g.find(k, odd)
			g.keys[at] = k
		}
	}
}
