// Package redact finds secrets in the output of a service, unchanged or as URLs, JSON, HTML and base64 encode them.
package redact

import (
	"bytes"
	"cmp"
	"slices"
)

// A Matcher finds all secrets of a set in one pass. It is immutable. The nil Matcher finds nothing.
//
// The Matcher assumes that ASCII letters and digits are not escaped. It searches for the anchor of each secret, its longest run of letters
// and digits, with the algorithm of Wu and Manber, which skips most bytes. It then compares the text around an anchor character by
// character, and accepts each character in any of its escaped forms.
type Matcher struct {
	width      int // length of the part of each anchor that shift covers
	shift      [tableSize]uint8
	anchored   map[uint16][]*needle // by the hash of the last two bytes of that part
	unanchored []*needle            // needles without an anchor, which are compared at every position
}

const (
	tableSize = 1 << 12
	// leastAnchor and mostAnchor are the minimum and maximum length of an anchor, in bytes.
	leastAnchor, mostAnchor = 2, 16
)

// New returns a Matcher for secrets. It returns nil if there are no secrets.
func New(secrets []string) *Matcher {
	var needles []*needle
	for _, text := range slices.Compact(slices.Sorted(slices.Values(secrets))) {
		if text != "" {
			needles = append(needles, needlesOf(text)...)
		}
	}
	if len(needles) == 0 {
		return nil
	}
	slices.SortStableFunc(needles, func(a, b *needle) int { return cmp.Compare(len(b.raw), len(a.raw)) })
	m := &Matcher{width: mostAnchor, anchored: map[uint16][]*needle{}}
	for _, n := range needles {
		if len(n.anchor) >= leastAnchor {
			m.width = min(m.width, len(n.anchor))
		}
	}
	for i := range m.shift {
		m.shift[i] = uint8(m.width - 1)
	}
	for _, n := range needles {
		if len(n.anchor) < leastAnchor {
			m.unanchored = append(m.unanchored, n)
			continue
		}
		for end := 1; end < m.width; end++ {
			h := hash(n.anchor[end-1], n.anchor[end])
			m.shift[h] = min(m.shift[h], uint8(m.width-1-end))
		}
		h := hash(n.anchor[m.width-2], n.anchor[m.width-1])
		m.anchored[h] = append(m.anchored[h], n)
	}
	return m
}

func hash(a, b byte) uint16 { return (uint16(a)<<4 ^ uint16(b)) % tableSize }

// In reports whether text contains a secret.
func (m *Matcher) In(text string) bool {
	found := false
	m.find([]byte(text), func(match) bool {
		found = true
		return false
	})
	return found
}

// mostPending is the number of matches that are collected before they are masked. Matches are not masked immediately, because overlapping
// matches could then not be found.
const mostPending = 1024

// Mask overwrites the secrets in b and returns the number of matches. It preserves the length and the format of b: valid JSON remains valid
// JSON, and base64 remains base64.
func (m *Matcher) Mask(b []byte) (count int) {
	var pending []match
	flush := func() {
		for _, f := range pending {
			f.mask(b)
		}
		count += len(pending)
		pending = pending[:0]
	}
	m.find(b, func(f match) bool {
		if pending = append(pending, f); len(pending) == mostPending {
			flush()
		}
		return true
	})
	flush()
	return count
}

// find calls the function each for every match, and stops if that function returns false.
func (m *Matcher) find(b []byte, each func(match) bool) {
	if m == nil {
		return
	}
	for _, n := range m.unanchored {
		for i := range b {
			if end := n.from(b, i); end > 0 && !each(match{n, i, end}) {
				return
			}
		}
	}
	if len(m.anchored) == 0 {
		return
	}
	for i := m.width - 1; i < len(b); {
		h := hash(b[i-1], b[i])
		if skip := m.shift[h]; skip > 0 {
			i += int(skip)
			continue
		}
		begin := i - m.width + 1
		for _, n := range m.anchored[h] {
			if !bytes.HasPrefix(b[begin:], n.anchor) {
				continue
			}
			if start, end := n.around(b, begin); end > 0 && !each(match{n, start, end}) {
				return
			}
		}
		i++
	}
}
