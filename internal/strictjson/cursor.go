package strictjson

import (
	"bytes"
	"encoding/json"
	"math"
	"sync"
)

// A Cursor reads a document value by value, without building a tree. It accepts exactly the documents that Decode accepts, but does not
// report why it rejects a document: use Decode for that.
//
//	c := strictjson.Begin(data)
//	defer c.End()
//	for c.Open('{'); c.Member(); {
//		if string(c.Name()) == "total" { … }
//		c.Skip()
//	}
//	ok := c.Complete()
//
// Once the Cursor has found that the document is not acceptable, Next returns 0, and Open, Member, Item, Skip and Complete return false.
type Cursor struct {
	data   []byte
	text   string // a copy of data, or empty
	at     int    // where the next value begins, or the text after the last one; or failed
	depth  int    // number of open lists and objects
	frames [MaxDepth + 2]frame
	names  [MaxDepth + 2]names // by depth
	used   int                 // the greatest depth of names in use
	name   *span               // the name of the current member
	long   bool
}

// A frame is an open list or object.
type frame struct {
	path    int // length of the names that lead to it, in bytes
	inside  int // length that the value being read adds to path
	members int // number of names that were read
	object  bool
	started bool // a value in it was read
}

// MaxPath is the maximum length of the names that lead to one value, in bytes: messages quote these names. A position in a list counts as
// eight bytes. See Cursor.Long.
const (
	MaxPath     = 4096
	bytesOfItem = 8
)

// failed is the position of a Cursor whose document is unacceptable.
const failed = -1

var cursors = sync.Pool{New: func() any { return &Cursor{} }}

// Begin starts reading a document. The caller must not change data until End, and must call End.
func Begin(data []byte) *Cursor {
	c, _ := cursors.Get().(*Cursor)
	c.data, c.at, c.depth, c.long = data, failed, 0, false
	c.frames[0] = frame{}
	if len(data) < math.MaxInt32 {
		c.at = space(data, 0)
	}
	return c
}

// End releases the cursor. Bytes that its methods returned stay valid: they are a part of the document, or a copy.
func (c *Cursor) End() {
	c.data, c.text, c.name = nil, "", nil
	kept := 0
	for depth := range c.names[:c.used+1] {
		l := &c.names[depth]
		kept += cap(l.spans)
		l.spans, l.hashes, l.hashed = l.spans[:0], nil, 0
	}
	c.used = 0
	if kept <= keptNames {
		cursors.Put(c)
	}
}

// level returns the names of the objects at a depth.
func (c *Cursor) level(depth int) *names {
	c.used = max(c.used, depth)
	return &c.names[depth]
}

// Next returns the first byte of the next value, which identifies its type: {, [, ", t, f, n, a minus sign or a digit. It returns 0 if
// there is no value.
func (c *Cursor) Next() byte {
	if c.at == failed || c.at >= len(c.data) {
		return 0
	}
	return c.data[c.at]
}

// Offset returns the position of the next value or, after a value, of the text that follows it. Bytes returns the text between two
// positions.
func (c *Cursor) Offset() int { return c.at }

// Bytes returns the part of the document between two positions. The caller must not modify it.
func (c *Cursor) Bytes(from, to int) []byte { return c.data[from:to:to] }

// Size returns the length of the document in bytes.
func (c *Cursor) Size() int { return len(c.data) }

// Skip reads the next value, including all values inside it.
func (c *Cursor) Skip() bool {
	if c.at == failed {
		return false
	}
	f := &c.frames[c.depth]
	c.at = c.skip(c.at, c.depth, f.path+f.inside)
	return c.at != failed
}

// Value is like Skip, but returns the bytes of the value; nil if it is unacceptable.
func (c *Cursor) Value() []byte {
	from := c.at
	if !c.Skip() {
		return nil
	}
	return c.Bytes(from, c.at)
}

// Open enters the next value, which must be a list if kind is '[', or an object if kind is '{'. Otherwise the document counts as
// unacceptable, and Open returns false.
func (c *Cursor) Open(kind byte) bool {
	if c.Next() != kind || c.depth > MaxDepth {
		c.at = failed
		return false
	}
	c.depth++
	c.at++
	up := &c.frames[c.depth-1]
	c.frames[c.depth] = frame{path: up.path + up.inside, inside: bytesOfItem, object: kind == '{'}
	return true
}

// Item moves to the next value of the open list. After the last value it closes the list and returns false.
func (c *Cursor) Item() bool { return c.step(']') }

// Member moves to the value of the next member of the open object; Name then returns its name. After the last member it closes the object
// and returns false.
func (c *Cursor) Member() bool {
	data, f, i := c.data, &c.frames[c.depth], c.at
	switch {
	case f.object && f.started && uint(i) < uint(len(data)) && data[i] == ',': // the usual case
		i = space(data, i+1)
	case c.step('}'):
		i = c.at
	default:
		return false
	}
	c.at = failed
	if uint(i) >= uint(len(data)) || data[i] != '"' {
		return false
	}
	l := c.level(c.depth)
	end := l.next(data, i+1, f.members)
	if end == failed {
		return false
	}
	c.name = &l.spans[f.members]
	f.members++
	f.inside = end - i - 1 // the name without its quotes, and a slash
	if f.path+f.inside > MaxPath+1 {
		c.long = true
	}
	if i = space(data, end); uint(i) >= uint(len(data)) || data[i] != ':' {
		return false
	}
	c.at = space(data, i+1)
	return true
}

// Name returns the name of the member to which Member has moved.
func (c *Cursor) Name() []byte { return c.name.content(c.data) }

// Mark returns a pointer to a number that the caller may set to remember something about the name. It is 0 at first. If the next object at
// this depth has the same member in the same position, after the same members, Mark returns the number that the caller set. The pointer is
// valid until the next call.
func (c *Cursor) Mark() *uint32 { return &c.name.mark }

// step moves to the next value of the open list or object. At its end, step closes it and returns false.
func (c *Cursor) step(end byte) bool {
	f := &c.frames[c.depth]
	if c.at == failed || c.depth == 0 || f.object != (end == '}') {
		c.at = failed
		return false
	}
	i := space(c.data, c.at)
	switch {
	case i >= len(c.data):
		c.at = failed
		return false
	case c.data[i] == end:
		c.depth--
		c.at = i + 1
		return false
	case f.started && c.data[i] != ',':
		c.at = failed
		return false
	case f.started:
		i = space(c.data, i+1)
	}
	f.started = true
	c.at = i
	return true
}

// Complete reports whether the document is acceptable and was read to its end.
func (c *Cursor) Complete() bool {
	return c.at != failed && c.depth == 0 && space(c.data, c.at) == len(c.data)
}

// Failed reports whether the document has turned out to be unacceptable.
func (c *Cursor) Failed() bool { return c.at == failed }

// Long reports whether the names that lead to some value are longer than MaxPath.
func (c *Cursor) Long() bool { return c.long }

// Scalar decodes the bytes of a value that is neither a list nor an object, as Decode does. raw is a result of Value.
func Scalar(raw []byte) any {
	switch raw[0] {
	case '"':
		s, _ := Text(raw)
		return s
	case 't':
		return true
	case 'f':
		return false
	case 'n':
		return nil
	default:
		return json.Number(raw)
	}
}

// Text decodes the bytes of a string, as Decode does. raw is a result of Value. Text returns false if raw is not a string.
func Text(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	s := span{start: 1, end: uint32(len(raw) - 1), escaped: bytes.IndexByte(raw, '\\') >= 0}
	return string(s.content(raw)), true
}

// Members calls the function each for the members of a document that must be one object, in order, with the bytes of their values. It
// accepts what DecodeObject accepts, without building a tree. If the document turns out to be unacceptable, Members returns false, possibly
// after calls of each.
func Members(document []byte, each func(name, value []byte)) bool {
	c := Begin(document)
	defer c.End()
	for c.Open('{'); c.Member(); {
		name := c.Name()
		if value := c.Value(); value != nil {
			each(name, value)
		}
	}
	return c.Complete()
}
