package strictjson

import "math/bits"

// skip reads the value that begins at i including all values inside it, and returns where it ends. depth counts the lists and objects
// around it, path the bytes of the names that lead to it. Positions are compared as unsigned, so that failed is beyond the end.
func (c *Cursor) skip(i, depth, path int) int {
	data := c.data
	if uint(i) >= uint(len(data)) || depth > MaxDepth {
		return failed
	}
	switch data[i] {
	case '"':
		i, _ = text(data, i+1)
		return i
	case '{':
		return c.skipObject(i+1, depth+1, path)
	case '[':
		return c.skipList(i+1, depth+1, path)
	case 't':
		return word(data, i, "true")
	case 'f':
		return word(data, i, "false")
	case 'n':
		return word(data, i, "null")
	default:
		return number(data, i)
	}
}

// skipObject is skip for an object, from after its brace.
func (c *Cursor) skipObject(i, depth, path int) int {
	data, names := c.data, c.level(depth)
	if i = space(data, i); uint(i) < uint(len(data)) && data[i] == '}' {
		return i + 1
	}
	for n := 0; uint(i) < uint(len(data)) && data[i] == '"'; n++ {
		end := names.next(data, i+1, n)
		if end == failed {
			return failed
		}
		inside := path + end - i - 1 // without the quotes, and a slash
		if inside > MaxPath+1 {
			c.long = true
		}
		if i = space(data, end); uint(i) >= uint(len(data)) || data[i] != ':' {
			return failed
		}
		if i = space(data, i+1); uint(i) < uint(len(data)) && data[i] == '"' && depth <= MaxDepth {
			i, _ = text(data, i+1)
		} else {
			i = c.skip(i, depth, inside)
		}
		if i = space(data, i); uint(i) >= uint(len(data)) || data[i] != ',' {
			return closing(data, i, '}')
		}
		i = space(data, i+1)
	}
	return failed
}

// skipList is skip for a list, from after its bracket.
func (c *Cursor) skipList(i, depth, path int) int {
	data := c.data
	if i = space(data, i); uint(i) < uint(len(data)) && data[i] == ']' {
		return i + 1
	}
	for {
		i = space(data, c.skip(i, depth, path+bytesOfItem))
		if uint(i) >= uint(len(data)) || data[i] != ',' {
			return closing(data, i, ']')
		}
		i = space(data, i+1)
	}
}

// closing returns the position after the byte at i, which must be that one.
func closing(data []byte, i int, want byte) int {
	if uint(i) >= uint(len(data)) || data[i] != want {
		return failed
	}
	return i + 1
}

// space returns the position of the next byte that is not white space; of failed, failed. RFC 8259 section 2.
func space(data []byte, i int) int {
	if uint(i) < uint(len(data)) && data[i] <= ' ' { // rarely
		return spaces(data, i)
	}
	return i
}

// spaces is space if there is some. (It is not inlined, so that space is.)
//
//go:noinline
func spaces(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		if i++; i+8 <= len(data) { // the spaces of an indented document
			i += bits.TrailingZeros64(wordAt(data, i)^ones*' ') >> 3
		}
	}
	return i
}

func word(data []byte, i int, want string) int {
	if len(data)-i < len(want) || string(data[i:i+len(want)]) != want {
		return failed
	}
	return i + len(want)
}
