package strictjson

import (
	"iter"
	"strings"
)

var escaper = strings.NewReplacer("~", "~0", "/", "~1")

// Escape escapes one reference token of a JSON pointer (RFC 6901 section 3).
func Escape(token string) string { return escaper.Replace(token) }

var unescaper = strings.NewReplacer("~1", "/", "~0", "~")

// Unescape decodes one reference token of a JSON pointer (RFC 6901 section 4).
func Unescape(token string) string { return unescaper.Replace(token) }

// Lookup returns the value at a JSON pointer in a tree that Decode made, and false if there is none (RFC 6901 section 4).
func Lookup(tree any, pointer string) (any, bool) {
	if pointer == "" {
		return tree, true
	}
	if root, ok := tree.(Object); ok {
		tree = map[string]any(root)
	}
	if pointer[0] != '/' {
		return nil, false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		token = Unescape(token)
		switch node := tree.(type) {
		case map[string]any:
			next, ok := node[token]
			if !ok {
				return nil, false
			}
			tree = next
		case []any:
			i, ok := index(token, len(node))
			if !ok {
				return nil, false
			}
			tree = node[i]
		default:
			return nil, false
		}
	}
	return tree, true
}

// Find returns the bytes of the value at a JSON pointer in a document (RFC 6901 section 4). It returns false if there is no such value, or
// if the document as a whole is unacceptable.
func Find(document []byte, pointer string) (value []byte, ok bool) {
	if pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	c := Begin(document)
	defer c.End()
	if value = c.find(pointer); value == nil {
		return nil, false
	}
	return value, c.Complete()
}

// find reads the next value, and returns the bytes of the value at pointer inside it; nil if there is none.
func (c *Cursor) find(pointer string) (value []byte) {
	if pointer == "" {
		return c.Value()
	}
	token, rest, more := strings.Cut(pointer[1:], "/")
	if more {
		rest = "/" + rest
	}
	token = Unescape(token)
	switch c.Next() {
	case '{':
		for c.Open('{'); c.Member(); {
			if string(c.Name()) == token {
				value = c.find(rest)
			} else {
				c.Skip()
			}
		}
	case '[':
		wanted, ok := index(token, len(c.data))
		n := 0
		for c.Open('['); c.Item(); n++ {
			if ok && n == wanted {
				value = c.find(rest)
			} else {
				c.Skip()
			}
		}
	default:
		c.Skip()
	}
	return value
}

// Tokens returns the reference tokens of a JSON pointer: names of members, or indexes in lists (RFC 6901 section 4).
func Tokens(pointer string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for pointer != "" {
			token, rest, more := strings.Cut(pointer[1:], "/")
			if !yield(unescaper.Replace(token)) || !more {
				return
			}
			pointer = "/" + rest
		}
	}
}

func index(token string, n int) (int, bool) {
	if token == "" || len(token) > 9 || (token[0] == '0' && token != "0") {
		return 0, false
	}
	i := 0
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			return 0, false
		}
		i = i*10 + int(c-'0')
	}
	return i, i < n
}
