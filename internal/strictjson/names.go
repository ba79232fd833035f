package strictjson

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"unicode/utf16"
	"unicode/utf8"
)

// A span is a text in a document, without its quotes.
type span struct {
	start, end uint32
	escaped    bool   // there is a backslash in it
	key        uint64 // equal for equal bytes: their number and the first seven of them
}

func newSpan(data []byte, start, end int, escaped bool) span {
	s := span{start: uint32(start), end: uint32(end), escaped: escaped}
	n := end - start
	if start+8 <= len(data) {
		s.key = binary.LittleEndian.Uint64(data[start:]) & (1<<(8*min(n, 7)) - 1)
	} else {
		for i, b := range data[start:end] {
			s.key |= uint64(b) << (8 * i)
		}
	}
	s.key |= uint64(min(n, 255)) << 56
	return s
}

// content returns what a text says: its bytes in data where nothing in it is escaped.
func (s span) content(data []byte) []byte {
	inside := data[s.start:s.end:s.end]
	if !s.escaped {
		return inside
	}
	return unescape(make([]byte, 0, len(inside)), inside)
}

// names find a member that stands twice in one object. The few names of most objects are compared one by one; those of
// larger ones by hash, so that the work grows with their number alone.
type names struct {
	spans []span                            // of all objects that are open, those of outer ones first
	sets  [MaxDepth + 2]map[uint64]struct{} // hashes by depth, of objects with many names
}

const (
	fewNames  = 12
	keptNames = 1024 // of one document, for the next one
)

var nameSeed = maphash.MakeSeed()

// open begins an object, and returns what add and close take as its first name.
func (n *names) open() (first int) { return len(n.spans) }

func (n *names) close(first, depth int) {
	if many := len(n.spans) - first; many > keptNames {
		n.sets[depth] = nil
	} else if many > fewNames {
		clear(n.sets[depth])
	}
	n.spans = n.spans[:first]
}

// reset forgets the names of a document. It reports whether little memory is kept for the next one.
func (n *names) reset() bool {
	if len(n.spans) > 0 { // the document ended early
		clear(n.sets[:])
	}
	n.spans = n.spans[:0]
	return cap(n.spans) <= keptNames
}

// add reports whether the object has no member of that name yet.
func (n *names) add(data []byte, name span, first, depth int) bool {
	before := n.spans[first:]
	if len(before) < fewNames {
		for i := range before {
			if (before[i].key == name.key || before[i].escaped || name.escaped) && before[i].same(name, data) {
				return false
			}
		}
		n.spans = append(n.spans, name)
		return true
	}
	set := n.sets[depth]
	if len(before) == fewNames {
		if set == nil {
			set = map[uint64]struct{}{}
			n.sets[depth] = set
		}
		for _, earlier := range before {
			set[earlier.hash(data)] = struct{}{}
		}
	}
	h := name.hash(data)
	if _, known := set[h]; known {
		for _, earlier := range before {
			if earlier.same(name, data) {
				return false
			}
		}
	}
	set[h] = struct{}{}
	n.spans = append(n.spans, name)
	return true
}

func (s span) hash(data []byte) uint64 { return maphash.Bytes(nameSeed, s.content(data)) }

func (s span) same(other span, data []byte) bool {
	if !s.escaped && !other.escaped && s.key != other.key {
		return false
	}
	return bytes.Equal(s.content(data), other.content(data))
}

// unescape appends what a text that was read says. RFC 8259 section 7.
func unescape(out, inside []byte) []byte {
	for {
		i := bytes.IndexByte(inside, '\\')
		if i < 0 {
			return append(out, inside...)
		}
		out = append(out, inside[:i]...)
		c := inside[i+1]
		inside = inside[i+2:]
		switch c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, _ := hex4(inside, 0)
			inside = inside[4:]
			if utf16.IsSurrogate(r) {
				low, _ := hex4(inside, 2)
				r, inside = utf16.DecodeRune(r, low), inside[6:]
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, c)
		}
	}
}
