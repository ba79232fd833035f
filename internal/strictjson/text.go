package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// Eight bytes are examined together. In the result for a word, the lowest byte with its highest bit set is the first match: a borrow makes
// higher bytes wrong, but never lower ones.
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

func wordAt(data []byte, i int) uint64 { return binary.LittleEndian.Uint64(data[i : i+8]) }

// ends marks the bytes of w that a string cannot contain unescaped: quotes, backslashes and control characters.
func ends(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & highs
}

// text reads a string. i is the position after its opening quote. end is the position after its closing quote, or failed if the string is
// not valid.
func text(data []byte, i int) (end int, escaped bool) {
	start, foreign := i, uint64(0) // foreign & highs is not 0 if some byte is not ASCII
	for {
		for i+8 <= len(data) {
			w := wordAt(data, i)
			if found := ends(w); found != 0 {
				foreign |= w & (found - 1) &^ found // the bytes before the match
				i += bits.TrailingZeros64(found) >> 3
				if foreign&highs == 0 && data[i] == '"' {
					return i + 1, escaped
				}
				break
			}
			foreign |= w
			i += 8
		}
		for i < len(data) && data[i] >= 0x20 && data[i] != '"' && data[i] != '\\' { // the bytes up to the match
			foreign |= uint64(data[i])
			i++
		}
		switch {
		case i >= len(data):
			return failed, false
		case data[i] == '"':
			if foreign&highs != 0 && !utf8.Valid(data[start:i]) {
				return failed, false
			}
			return i + 1, escaped
		case data[i] != '\\':
			return failed, false
		}
		escaped = true
		if i = escape(data, i+1); i == failed {
			return failed, false
		}
	}
}

// escape reads the characters after a backslash, and returns the position after them (RFC 8259 section 7). It rejects U+0000 and unpaired
// surrogates.
func escape(data []byte, i int) int {
	if i >= len(data) {
		return failed
	}
	switch data[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
	default:
		return failed
	}
	r, ok := hex4(data, i+1)
	switch {
	case !ok, r == 0, 0xDC00 <= r && r <= 0xDFFF:
		return failed
	case r < 0xD800 || r > 0xDFFF:
		return i + 5
	}
	if i += 5; i+1 >= len(data) || data[i] != '\\' || data[i+1] != 'u' {
		return failed
	}
	if low, ok := hex4(data, i+2); !ok || low < 0xDC00 || low > 0xDFFF {
		return failed
	}
	return i + 6
}

func hex4(data []byte, i int) (r rune, ok bool) {
	if i+4 > len(data) {
		return 0, false
	}
	for _, c := range data[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return r, true
}
