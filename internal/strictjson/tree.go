package strictjson

import (
	"bytes"
	"encoding/json"
	"math"
)

// tree reads a document of at most maxValues values. It returns false if the document is unacceptable, or has more values.
func tree(data []byte, maxValues int) (v any, ok bool) {
	c := Begin(data)
	defer c.End()
	v = c.tree(&maxValues)
	return v, c.Complete()
}

// shortText is the maximum length, in bytes, of a document whose strings share one copy of the document. That takes one allocation instead
// of many, but a string that is kept keeps the whole copy.
const shortText = 2 << 10

// textOf returns the part of the document between two positions as a string.
func (c *Cursor) textOf(from, to int) string {
	if len(c.data) > shortText {
		return string(c.data[from:to])
	}
	if c.text == "" {
		c.text = string(c.data)
	}
	return c.text[from:to]
}

// Text reads the next value, which must be a string. The result does not refer to the bytes of the document.
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

// unquoted returns the value of the string raw. from is the position of raw.
func (c *Cursor) unquoted(raw []byte, from int) string {
	if bytes.IndexByte(raw, '\\') >= 0 {
		s := span{start: 1, end: uint32(len(raw) - 1), escaped: true}
		return string(s.content(raw))
	}
	return c.textOf(from+1, from+len(raw)-1)
}

// Object reads the next value, which must be an object, and returns it as Decode does. The result does not refer to the bytes of the
// document.
func (c *Cursor) Object() (o Object, ok bool) {
	if c.Next() != '{' {
		return nil, false
	}
	unbounded := math.MaxInt
	o, ok = c.tree(&unbounded).(map[string]any)
	return o, ok && !c.Failed()
}

// nameText returns the name of the member to which Member has moved.
func (c *Cursor) nameText() string {
	if c.name.escaped {
		return string(c.Name())
	}
	return c.textOf(int(c.name.start), int(c.name.end))
}

// scalar reads the next value like Scalar; nil if it is unacceptable.
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

// tree reads the next value, including all values inside it. most is the number of values that may still be read.
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
