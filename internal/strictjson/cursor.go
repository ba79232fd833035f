package strictjson

import (
	"bytes"
	"encoding/json"
	"math"
	"sync"
)

// A Cursor reads a document value by value and builds nothing. It accepts exactly what Decode accepts, and does not report the cause of a
// rejection: use Decode for that.
//
//	c := strictjson.Begin(data)
//	defer c.End()
//	for c.Open('{'); c.Member(); {
//		if string(c.Name()) == "total" { … }
//		c.Skip()
//	}
//	ok := c.Complete()
//
// After the document turns out not to be acceptable, Next returns 0, and Open, Member, Item, Skip and Complete return false.
type Cursor struct {
	data   []byte
	text   string // a copy of data, or empty
	at     int    // where the next value begins, or the text after the last one; failed
	depth  int    // of open lists and objects
	frames [MaxDepth + 2]frame
	names  [MaxDepth + 2]names // by depth
	used   int                 // the deepest of them
	name   *span               // of the present member
	long   bool
}

// A frame is an open list or object.
type frame struct {
	path    int // bytes of the names that lead to it
	inside  int // bytes that the value being read adds to them
	members int // names that were read
	object  bool
	started bool // a value in it was read
}

// MaxPath bounds the bytes of the names that lead to one value, which messages quote. A position in a list counts as eight.
const (
	MaxPath     = 4096
	bytesOfItem = 8
)

// failed is the position that means that there is none.
const failed = -1

var cursors = sync.Pool{New: func() any { return &Cursor{} }}

// Begin starts reading a document. It retains data, which must not change until End.
func Begin(data []byte) *Cursor {
	c, _ := cursors.Get().(*Cursor)
	c.data, c.at, c.depth, c.long = data, failed, 0, false
	c.frames[0] = frame{}
	if len(data) < math.MaxInt32 {
		c.at = space(data, 0)
	}
	return c
}

// End releases the cursor. The bytes it returned stay valid: they are those of the document.
func (c *Cursor) End() {
	c.data, c.text, c.name = nil, "", nil
	kept := 0
	for depth := range c.names[:c.used+1] {
		l := &c.names[depth]
		kept += cap(l.spans) + cap(l.table)
		l.spans, l.hashed = l.spans[:0], 0
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

// Next returns the first byte of the next value, which shows its type: { [ " t f n, a minus or a digit; or 0.
func (c *Cursor) Next() byte {
	if c.at == failed || c.at >= len(c.data) {
		return 0
	}
	return c.data[c.at]
}

// Offset returns the beginning of the next value; after a value, that of the following text. Bytes returns the text between two offsets.
func (c *Cursor) Offset() int { return c.at }

// Bytes returns the bytes from one offset to another. They are those of the document and must not be modified.
func (c *Cursor) Bytes(from, to int) []byte { return c.data[from:to:to] }

// Size returns how many bytes the document has.
func (c *Cursor) Size() int { return len(c.data) }

// Skip reads the next value including all values inside it.
func (c *Cursor) Skip() bool {
	if c.at == failed {
		return false
	}
	f := &c.frames[c.depth]
	c.at = c.skip(c.at, c.depth, f.path+f.inside)
	return c.at != failed
}

// Value is Skip, and returns the bytes of the value; nil where it is not acceptable.
func (c *Cursor) Value() []byte {
	from := c.at
	if !c.Skip() {
		return nil
	}
	return c.Bytes(from, c.at)
}

// Open enters the next value, which must be a list, '[', or an object, '{'.
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

// Item moves to the next value of the open list. It returns false after the last one, when the list is closed.
func (c *Cursor) Item() bool { return c.step(']') }

// Member moves to the value of the next member of the open object; Name then returns its name. It returns false after the last one, and
// closes the object.
func (c *Cursor) Member() bool {
	data, f, i := c.data, &c.frames[c.depth], c.at
	switch {
	case f.object && f.started && uint(i) < uint(len(data)) && data[i] == ',': // nearly always
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
	f.inside = end - i - 1 // without the quotes, and a slash
	if f.path+f.inside > MaxPath+1 {
		c.long = true
	}
	if i = space(data, end); uint(i) >= uint(len(data)) || data[i] != ':' {
		return false
	}
	c.at = space(data, i+1)
	return true
}

// Name returns the name of the member that Member went to.
func (c *Cursor) Name() []byte { return c.name.content(c.data) }

// Mark returns what the caller may remember about that name: 0 at first, and later what the caller set, if the next object at this depth
// has the same member in the same position, and the same members before it. It is valid until the next call.
func (c *Cursor) Mark() *uint32 { return &c.name.mark }

// step reads the text before the next value of the open list or object, or its end.
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

// Complete reports whether the document was acceptable and has ended.
func (c *Cursor) Complete() bool {
	return c.at != failed && c.depth == 0 && space(c.data, c.at) == len(c.data)
}

// Failed reports whether the document has turned out not to be acceptable.
func (c *Cursor) Failed() bool { return c.at == failed }

// Long reports whether the names that lead to some value take more than MaxPath bytes.
func (c *Cursor) Long() bool { return c.long }

// Scalar converts the bytes of a value that is neither a list nor an object, returned by Value, as Decode does.
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

// Text converts the bytes of a string, returned by Value, as Decode does. It returns false if they are not a string.
func Text(raw []byte) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	s := span{start: 1, end: uint32(len(raw) - 1), escaped: bytes.IndexByte(raw, '\\') >= 0}
	return string(s.content(raw)), true
}

// Members yields the members of a document that is one object, in order, each with the bytes of its value. It accepts what DecodeObject
// accepts, and builds nothing. If the document turns out to be unacceptable, it returns false, after any of them.
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
