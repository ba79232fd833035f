package strictjson

import (
	"bytes"
	"hash/maphash"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// A span is a string in a document, without its quotes.
type span struct {
	start, end uint32
	word, mask uint64 // its first eight bytes, including the closing quote, and the mask of the bits that they occupy
	mark       uint32 // the result of Mark
	escaped    bool   // it contains a backslash
}

func newSpan(data []byte, start, end int, escaped bool) span {
	s := span{start: uint32(start), end: uint32(end), escaped: escaped, mask: 1<<(8*min(end-start+1, 8)) - 1}
	if start+8 <= len(data) {
		s.word = wordAt(data, start) & s.mask
		return s
	}
	for i, b := range data[start : end+1] {
		s.word |= uint64(b) << (8 * i)
	}
	return s
}

// content returns the value of a string. That is a part of data if the string has no escapes.
func (s *span) content(data []byte) []byte {
	inside := data[s.start:s.end:s.end]
	if !s.escaped {
		return inside
	}
	return unescape(make([]byte, 0, len(inside)), inside)
}

func (s *span) same(other *span, data []byte) bool {
	if !s.escaped && !other.escaped {
		return s.word == other.word && bytes.Equal(data[s.start:s.end], data[other.start:other.end])
	}
	return bytes.Equal(s.content(data), other.content(data))
}

// names detects members that occur twice in one object. Each depth has its own. spans holds the names of the object that is open at this
// depth and, after them, the remaining names of the previous object. Usually the name of the next member is the first of these, so it
// differs from all names before it. Any other name is compared with the names before it one by one. In larger objects, it is looked up by
// hash instead, so that the work grows linearly with the number of names.
type names struct {
	spans  []span
	hashes map[uint64]struct{} // of the first spans
	hashed int                 // how many of spans are in hashes
}

const (
	fewNames  = 12
	keptNames = 1024 // a Cursor with a larger capacity for names is not reused
)

var nameSeed = maphash.MakeSeed()

// next reads the name that begins at i, after its opening quote, as the name of member n of the object, counted from 0. It returns the
// position after the closing quote; failed if the name is not a valid string, or the object already has it.
//
// The name is equal to the expected one if their bytes are equal, including the closing quote. next compares the first eight bytes as a
// word, without those after the quote. If the name is longer, it also compares the last eight bytes or, if it is longer than two words, all
// bytes.
func (l *names) next(data []byte, i, n int) int {
	if n < len(l.spans) {
		s := &l.spans[n]
		from, size := int(s.start), int(s.end-s.start)+1
		if end := i + size; i+8 <= len(data) && end <= len(data) && (wordAt(data, i)^s.word)&s.mask == 0 {
			if size <= 8 || size <= 16 && wordAt(data, end-8) == wordAt(data, from+size-8) || bytes.Equal(data[i:end], data[from:from+size]) {
				return end
			}
		}
	}
	return l.add(data, i, n)
}

func (l *names) add(data []byte, i, n int) int {
	end, escaped := text(data, i)
	if end == failed {
		return failed
	}
	name, before := newSpan(data, i, end-1, escaped), l.spans[:n]
	if l.hashed > n {
		l.hashed = 0
	}
	if n >= fewNames {
		if !l.enter(data, &name, before) {
			return failed
		}
	} else {
		for k := range before {
			if (before[k].word == name.word || escaped || before[k].escaped) && before[k].same(&name, data) {
				return failed
			}
		}
	}
	if before == nil {
		before = make([]span, 0, 16)
	}
	l.spans = append(before, name)
	return end
}

// enter adds a name to hashes. It reports whether the name is new.
func (l *names) enter(data []byte, name *span, before []span) bool {
	if l.hashed == 0 {
		l.hashes = make(map[uint64]struct{}, 2*len(before))
	}
	for ; l.hashed < len(before); l.hashed++ {
		l.hashes[maphash.Bytes(nameSeed, before[l.hashed].content(data))] = struct{}{}
	}
	hash := maphash.Bytes(nameSeed, name.content(data))
	if _, known := l.hashes[hash]; known && slices.ContainsFunc(before, func(s span) bool { return s.same(name, data) }) {
		return false
	}
	l.hashes[hash] = struct{}{}
	l.hashed++
	return true
}

// unescape appends the value of a string that was already validated (RFC 8259 section 7).
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
