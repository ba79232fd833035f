package strictjson

import (
	"bytes"
	"encoding/json"
)

// tree reads a document of at most so many values; false where it is not acceptable, or has more.
func tree(data []byte, most int) (v any, ok bool) {
	c := Begin(data)
	defer c.End()
	if len(data) <= shortText {
		c.text = string(data)
	}
	v = c.tree(&most)
	return v, c.Complete()
}

// shortText is how long a document is at most whose texts are parts of one copy of it, in bytes: one allocation instead of many.
// Whoever keeps one of them keeps the copy.
const shortText = 2 << 10

// textOf returns the bytes from one offset to another.
func (c *Cursor) textOf(from, to int) string {
	if c.text != "" {
		return c.text[from:to]
	}
	return string(c.data[from:to])
}

// nameText returns the name of the member that Member went to.
func (c *Cursor) nameText() string {
	if c.name.escaped {
		return string(c.Name())
	}
	return c.textOf(int(c.name.start), int(c.name.end))
}

// scalar is Scalar of the next value; nil where it is not acceptable.
func (c *Cursor) scalar() any {
	from := c.at
	raw := c.Value()
	switch {
	case raw == nil:
		return nil
	case raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0:
		return c.textOf(from+1, c.at-1)
	case raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9':
		return json.Number(c.textOf(from, c.at))
	default:
		return Scalar(raw)
	}
}

// tree reads the next value with all that is inside it. most is how many values may still be read.
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
