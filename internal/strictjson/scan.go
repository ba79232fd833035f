package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// skip reads the value that begins at i, and returns where it ends. It goes into lists and objects without calling itself.
func (c *Cursor) skip(i, depth int) int {
	data, base := c.data, depth
	for {
		if i >= len(data) || depth > MaxDepth {
			return failed
		}
		switch b := data[i]; b {
		case '"':
			i, _ = text(data, i+1)
		case '{', '[':
			depth++
			f := c.open(depth, b)
			if i = space(data, i+1); i < len(data) && data[i] == b+2 {
				i++
				depth--
				break
			}
			if f.object {
				if i, _ = c.member(i, depth); i == failed {
					return failed
				}
			}
			continue
		case 't':
			i = word(data, i, "true")
		case 'f':
			i = word(data, i, "false")
		case 'n':
			i = word(data, i, "null")
		default:
			i = number(data, i)
		}
		for { // after a value
			if i == failed || depth == base {
				return i
			}
			if i = space(data, i); i >= len(data) {
				return failed
			}
			f, b := &c.frames[depth], data[i]
			if b == ',' {
				if i = space(data, i+1); f.object {
					if i, _ = c.member(i, depth); i == failed {
						return failed
					}
				}
				break
			}
			if f.object && b != '}' || !f.object && b != ']' {
				return failed
			}
			if f.object {
				c.names.close(f.names, depth)
			}
			depth--
			i++
		}
	}
}

// member reads the name that begins at i, and what stands between it and its value.
func (c *Cursor) member(i, depth int) (int, span) {
	data, f := c.data, &c.frames[depth]
	if i >= len(data) || data[i] != '"' {
		return failed, span{}
	}
	end, escaped := text(data, i+1)
	if end == failed {
		return failed, span{}
	}
	name := newSpan(data, i+1, end-1, escaped)
	if !c.names.add(data, name, f.names, depth) {
		return failed, span{}
	}
	f.inside = end - i - 1 // without the quotes, and a slash
	c.long = c.long || f.path+f.inside > MaxPath+1
	if i = space(data, end); i >= len(data) || data[i] != ':' {
		return failed, span{}
	}
	return space(data, i+1), name
}

// space returns where the next byte is that is none. RFC 8259 section 2.
func space(data []byte, i int) int {
	if i < len(data) && data[i] > ' ' { // nearly always
		return i
	}
	return spaces(data, i)
}

func spaces(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

func word(data []byte, i int, want string) int {
	if len(data)-i < len(want) || string(data[i:i+len(want)]) != want {
		return failed
	}
	return i + len(want)
}

// Eight bytes are looked at together: of a word, the lowest byte with its highest bit set in the result is the first that is
// looked for. (A borrow makes higher bytes wrong, never lower ones.)
const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// ends returns the bytes of w that a text cannot hold as they are: quotes, backslashes and control characters.
func ends(w uint64) uint64 {
	quote, slash := w^(ones*'"'), w^(ones*'\\')
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & highs
}

// text reads a text from after its first quote to after its last one.
func text(data []byte, i int) (end int, escaped bool) {
	start, foreign := i, uint64(0) // foreign: some byte is not ASCII
	for {
		for i+8 <= len(data) {
			w := binary.LittleEndian.Uint64(data[i:])
			if found := ends(w); found != 0 {
				n := bits.TrailingZeros64(found) &^ 7
				foreign |= w & (1<<n - 1)
				i += n >> 3
				break
			}
			foreign |= w
			i += 8
		}
		for i < len(data) && data[i] >= 0x20 && data[i] != '"' && data[i] != '\\' {
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

// escape reads what follows a backslash. RFC 8259 section 7; U+0000 and halves of surrogate pairs are refused.
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

func digits(data []byte, i int) int {
	for i < len(data) && '0' <= data[i] && data[i] <= '9' {
		i++
	}
	return i
}

// number reads a number. RFC 8259 section 6; its length and its exponent are bounded.
func number(data []byte, i int) int {
	start := i
	if data[i] == '-' {
		i++
	}
	end := digits(data, i)
	if end == i || end > i+1 && data[i] == '0' {
		return failed
	}
	if i = end; i < len(data) && data[i] == '.' {
		if end = digits(data, i+1); end == i+1 {
			return failed
		}
		i = end
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		if i++; i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		if end = digits(data, i); end == i {
			return failed
		}
		exponent := 0
		for _, c := range data[i:end] {
			if exponent = exponent*10 + int(c-'0'); exponent > maxExponent {
				return failed
			}
		}
		i = end
	}
	if i-start > maxNumber {
		return failed
	}
	return i
}
