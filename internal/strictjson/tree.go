package strictjson

import (
	"bytes"
	"encoding/json"
	"math"
)

// tree reads a document of at most n values; false if it is unacceptable, or has more.
func tree(data []byte, most int) (v any, ok bool) {
	c := Begin(data)
	defer c.End()
	v = c.tree(&most)
	return v, c.Complete()
}

// shortText is the maximum length of a document whose strings are parts of one copy of it, in bytes: one allocation instead of many.
// Keeping one of them keeps the copy.
const shortText = 2 << 10

// textOf returns the bytes from one offset to another.
func (c *Cursor) textOf(from, to int) string {
	if len(c.data) > shortText {
		return string(c.data[from:to])
	}
	if c.text == "" {
		c.text = string(c.data)
	}
	return c.text[from:to]
}

// Text reads the next value, which must be a string. The text is not a part of the document's bytes.
func (c *Cursor) Text() (s string, ok bool) {
	if c.Next() != '"' {
		return "", false
	}
	from := c.at
	if raw := c.Value(); raw != nil {
		return c.unquoted(raw, from), true
	}
	return "", false
}

// unquoted returns the value of the string that begins at an offset.
func (c *Cursor) unquoted(raw []byte, from int) string {
	if bytes.IndexByte(raw, '\\') >= 0 {
		s := span{start: 1, end: uint32(len(raw) - 1), escaped: true}
		return string(s.content(raw))
	}
	return c.textOf(from+1, from+len(raw)-1)
}

// Object reads the next value, which must be an object, as Decode makes it. It holds no part of the document's bytes.
func (c *Cursor) Object() (o Object, ok bool) {
	if c.Next() != '{' {
		return nil, false
	}
	unbounded := math.MaxInt
	o, ok = c.tree(&unbounded).(map[string]any)
	return o, ok && !c.Failed()
}

// nameText returns the name of the member that Member went to.
func (c *Cursor) nameText() string {
	if c.name.escaped {
		return string(c.Name())
	}
	return c.textOf(int(c.name.start), int(c.name.end))
}

// scalar is Scalar of the next value; nil if it is unacceptable.
func (c *Cursor) scalar() any {
	from := c.at
	raw := c.Value()
	switch {
	case raw == nil:
		return nil
	case raw[0] == '"':
		return c.unquoted(raw, from)
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return json.Number(c.textOf(from, c.at))
	default:
		return Scalar(raw)
	}
}

// tree reads the next value including all values inside it. most is how many values may still be read.
func (c *Cursor) tree(most *int) any {
	if *most--; *most < 0 {
		c.at = failed
		return nil
	}
	switch c.Next() {
	case '{':
		members := map[string]any{}
		for c.Open('{'); c.Member(); {
			name := c.nameText()
			members[name] = c.tree(most)
		}
		return members
	case '[':
		list := []any{}
		for c.Open('['); c.Item(); {
			list = append(list, c.tree(most))
		}
		return list
	default:
		return c.scalar()
	}
}
