package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Transcriber copies values from one JSON text to another and checks them on the way, without a tree. It writes values unchanged,
// except for the lossless conversions.
type Transcriber struct {
	Cursor   *strictjson.Cursor // at the next value to read
	out      []byte
	from, to int // of the text: what was written while the two are equal; from then on out has it, and to is unused
	taken    int // offset up to which the text was read and written
	tracking bool
	meter    Meter
	seen     []seenMember
	other    seenMember // the last one that was not remembered
}

var transcribers = sync.Pool{New: func() any { return &Transcriber{} }}

// NewTranscriber returns a transcriber that appends what it reads from c to out, within this many steps. The caller must call End.
func NewTranscriber(c *strictjson.Cursor, out []byte, steps int) *Transcriber {
	w, _ := transcribers.Get().(*Transcriber)
	from := max(c.Offset(), 0)
	*w = Transcriber{Cursor: c, out: out, from: from, to: from, meter: Meter{left: steps}, seen: w.seen}
	if len(out) > 0 {
		w.part()
	}
	return w
}

// End releases the transcriber. Nothing of it may be used any more, except the bytes of Written.
func (w *Transcriber) End() {
	clear(w.seen)
	*w = Transcriber{seen: w.seen[:0]}
	transcribers.Put(w)
}

// Exhausted reports whether the steps are used up: nothing is certain any more.
func (w *Transcriber) Exhausted() bool { return w.meter.Exhausted() }

// Copy reads and writes one value. It returns false if the value does not fit, or if that cannot be decided.
func (w *Transcriber) Copy(s *Schema) bool {
	w.taken, w.tracking = w.Cursor.Offset(), s.tracking
	if !w.value(s.check) {
		return false
	}
	w.copyTo(w.Cursor.Offset())
	return true
}

const none = -1

// Write writes bytes that are not part of the input.
func (w *Transcriber) Write(text ...byte) {
	if w.to != none && bytes.HasPrefix(w.Cursor.Bytes(w.to, w.Cursor.Size()), text) {
		w.to += len(text)
		return
	}
	w.part()
	w.out = append(w.out, text...)
}

// copyTo copies the input into out, up to an offset.
func (w *Transcriber) copyTo(offset int) {
	if w.to == w.taken {
		w.to = offset
	} else {
		w.part()
		w.out = append(w.out, w.Cursor.Bytes(w.taken, offset)...)
	}
	w.taken = offset
}

// part begins with an output of its own.
func (w *Transcriber) part() {
	if w.to == none {
		return
	}
	w.out = slices.Grow(w.out, w.Cursor.Size()-w.from+64) // a little more, for conversions
	w.out = append(w.out, w.Cursor.Bytes(w.from, w.to)...)
	w.to = none
}

// Written returns the written bytes: a part of the input if nothing had to be copied.
func (w *Transcriber) Written() []byte {
	if w.to == none {
		return w.out
	}
	return w.Cursor.Bytes(w.from, w.to)
}

// value reads one value and reports whether it fits.
func (w *Transcriber) value(c *check) bool {
	if c == nil || c.anything {
		return w.Cursor.Skip()
	}
	if c.never || !w.meter.take(max(c.cost, 1)) {
		return false
	}
	next := w.Cursor.Next()
	switch {
	case next == 0:
		return false
	case c.nullable && next == 'n', c.bare && c.kinds&kindOf(next) != 0:
		return w.Cursor.Skip()
	case next != '{' && next != '[':
		return w.scalar(c, next)
	case !c.plain || c.identity != nil || c.bounds != nil && c.dependentRequired != nil || len(c.required) > maxFlags:
		return w.tree(c)
	case next == '[':
		return c.allows(listKind) && w.list(c)
	default:
		return c.allows(objectKind) && w.object(c)
	}
}

func (c *check) allows(k kind) bool { return c.kinds == 0 || c.kinds&k != 0 }

// tree checks a value against a schema that needs a tree, and copies it unchanged.
func (w *Transcriber) tree(c *check) bool {
	v, err := strictjson.Decode(w.Cursor.Value())
	return err == nil && (!c.converts() || reflect.DeepEqual(v, c.convert(v))) && w.holds(v, c)
}

func (w *Transcriber) holds(v any, c *check) bool {
	r := Report{most: 1, meter: w.meter, tracking: w.tracking}
	c.validate(v, nil, &r)
	w.meter = r.meter
	return len(r.faults) == 0
}

func (w *Transcriber) scalar(c *check, next byte) bool {
	from := w.Cursor.Offset()
	raw := w.Cursor.Value()
	if raw == nil {
		return false
	}
	if c.bare && c.kinds&integerKind != 0 && kindOf(next) == numberKind && !hasFraction(raw) {
		return true
	}
	v := strictjson.Scalar(raw)
	if c.plain {
		if changed := c.scalar(v); changed != v {
			w.copyTo(from)
			text, err := json.Marshal(changed)
			if err != nil {
				return false
			}
			w.Write(text...)
			w.taken, v = w.Cursor.Offset(), changed
		}
	}
	return w.holds(v, c)
}

// kindOf returns the type of a value by its first byte. It does not distinguish integers from other numbers.
func kindOf(next byte) kind {
	switch next {
	case '"':
		return textKind
	case '{':
		return objectKind
	case '[':
		return listKind
	case 't', 'f':
		return boolKind
	case 'n':
		return nullKind
	default:
		return numberKind
	}
}

func (w *Transcriber) list(c *check) bool {
	n := 0
	for w.Cursor.Open('['); w.Cursor.Item(); n++ {
		if !w.value(c.items) {
			return false
		}
	}
	return !w.Cursor.Failed() && (c.bounds == nil || inBounds(n, c.minItems, c.maxItems))
}

// maxFlags bounds the required members that are remembered in one word.
const maxFlags = 64

func (w *Transcriber) object(c *check) bool {
	n, missing := 0, uint64(1)<<len(c.required)-1
	for w.Cursor.Open('{'); w.Cursor.Member(); n++ {
		m := w.member(c)
		missing &^= m.required
		if m.refused || !w.value(m.check) {
			return false
		}
	}
	return missing == 0 && !w.Cursor.Failed() && (c.bounds == nil || inBounds(n, c.minProperties, c.maxProperties))
}

func inBounds(n, least, most int) bool { return n >= least && (most < 0 || n <= most) }

// A seenMember is the check of an object for a member.
type seenMember struct {
	of       *check
	check    *check
	required uint64 // its bit
	refused  bool
}

// maxSeen bounds the members that are remembered while an answer is read.
const maxSeen = 256

// member returns the check of the object for the present member. It uses the mark of the name, because objects often repeat the same
// members.
func (w *Transcriber) member(c *check) *seenMember {
	mark := w.Cursor.Mark()
	if *mark > 0 && w.seen[*mark-1].of == c {
		return &w.seen[*mark-1]
	}
	name := w.Cursor.Name()
	m := seenMember{of: c, required: c.flags[string(name)]}
	var known bool
	if m.check, known = c.properties[string(name)]; !known {
		m.check, m.refused = c.additional, c.closed
	}
	if len(w.seen) == maxSeen {
		w.other = m
		return &w.other
	}
	w.seen = append(w.seen, m)
	*mark = uint32(len(w.seen))
	return &w.seen[*mark-1]
}
