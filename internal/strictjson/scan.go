package strictjson

import "math/bits"

// skip reads the value that begins at i, including all values inside it, and returns the position after it. depth is the number of lists
// and objects around the value. path is the length of the names that lead to the value, in bytes. Positions are compared as unsigned
// numbers, so that failed is beyond the end.
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

// skipObject reads an object. i is the position after its opening brace.
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
		inside := path + end - i - 1 // the name without its quotes, and a slash
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

// skipList reads a list. i is the position after its opening bracket.
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

// closing returns the position after the byte at i; failed if that byte is not the wanted one.
func closing(data []byte, i int, want byte) int {
	if uint(i) >= uint(len(data)) || data[i] != want {
		return failed
	}
	return i + 1
}

// space returns the position of the first byte from i that is not white space (RFC 8259 section 2). If i is failed, it returns failed.
func space(data []byte, i int) int {
	if uint(i) < uint(len(data)) && data[i] <= ' ' { // the rare case
		return spaces(data, i)
	}
	return i
}

// spaces is the slow path of space. It is not inlined, so that space can be.
//
//go:noinline
func spaces(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		if i++; i+8 <= len(data) { // skip the indentation, up to eight spaces at a time
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
