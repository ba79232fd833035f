package nonces

import (
	"crypto/rand"
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"time"
)

// A Set contains used nonces, by the first 8 bytes of their digests. It has a table for each minute in which nonces expire, and drops each
// table as a whole. In a set of 4 million nonces, the chance that a fresh nonce is mistaken for a used one, and refused, is 2 in 10^13. A
// used nonce is never mistaken for a fresh one. The zero Set is empty. A Set is not safe for concurrent use.
type Set struct {
	generations []*generation
	len         int
	odd         uint64 // a secret factor of positions, because agents choose the nonces
}

// mostGenerations is the maximum number of tables, because a nonce is looked up in all of them. At the maximum, further nonces go into the
// newest table, and stay until the last nonce of that table expires.
const mostGenerations = 64

// A generation is an open-addressing table: a key is at its position or, if that is taken, at the next free one.
type generation struct {
	minute int64 // since 1970, in which its nonces expire
	last   int64 // when the last of them expires, in nanoseconds since 1970
	keys   []uint64
	n      int
}

// leastPlaces is the initial size of a table. A table grows by half when four fifths of it are taken.
const leastPlaces = 64

// Len returns how many nonces are in the set.
func (s *Set) Len() int { return s.len }

// Bytes returns the memory that the tables take.
func (s *Set) Bytes() int {
	n := 0
	for _, g := range s.generations {
		n += len(g.keys) * 8
	}
	return n
}

// Has reports whether a nonce is in the set.
func (s *Set) Has(d Digest) bool {
	k := key(d)
	for _, g := range slices.Backward(s.generations) { // most repeated nonces are recent
		if _, found := g.find(k, s.odd); found {
			return true
		}
	}
	return false
}

// Add adds a nonce, which stays in the set at least until the given time, in nanoseconds since 1970.
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

// of returns the generation of a minute, and creates it if necessary. If there are already mostGenerations others, it returns the newest of
// them instead.
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

// Drop removes the generations whose nonces have all expired by the given time, in nanoseconds since 1970.
func (s *Set) Drop(now int64) {
	s.generations = slices.DeleteFunc(s.generations, func(g *generation) bool {
		if g.last > now {
			return false
		}
		s.len -= g.n
		return true
	})
}

// key returns the entry of a table for a digest. It is never 0, which marks a free position.
func key(d Digest) uint64 { return max(binary.BigEndian.Uint64(d[:8]), 1) }

// find returns the position of a key, or the free position for it. Multiplication by a secret odd number spreads keys even if an attacker
// chooses them; the high part of the second product is a position in a table of any size.
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
