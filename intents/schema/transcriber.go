package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// A Transcriber copies values from one JSON text to another and validates them in the same pass, without a tree. It copies values
// unchanged, except for lossless conversions. It is not safe for concurrent use.
type Transcriber struct {
	Cursor   *strictjson.Cursor // at the next value to read
	out      []byte             // the output, if to is none
	from, to int                // offsets of the part of the input that equals the output; if there is no such part, to is none
	taken    int                // the offset up to which the input has been read and written
	tracking bool
	meter    Meter
	seen     []seenMember
	other    seenMember // the last member that did not fit into seen
}

var transcribers = sync.Pool{New: func() any { return &Transcriber{} }}

// NewTranscriber returns a Transcriber that reads from c and appends to out, within this many steps. The caller must call End.
func NewTranscriber(c *strictjson.Cursor, out []byte, steps int) *Transcriber {
	w, _ := transcribers.Get().(*Transcriber)
	from := max(c.Offset(), 0)
	*w = Transcriber{Cursor: c, out: out, from: from, to: from, meter: Meter{left: steps}, seen: w.seen}
	if len(out) > 0 {
		w.part()
	}
	return w
}

// End releases the Transcriber, which must not be used again. The bytes that Written returned remain valid.
func (w *Transcriber) End() {
	clear(w.seen)
	*w = Transcriber{seen: w.seen[:0]}
	transcribers.Put(w)
}

// Exhausted reports whether the steps are used up. The other results are then meaningless.
func (w *Transcriber) Exhausted() bool { return w.meter.Exhausted() }

// Copy reads one value, validates it against s, and writes it. It returns false if the value is invalid, if the Transcriber cannot handle
// it, or if the steps are used up.
func (w *Transcriber) Copy(s *Schema) bool {
	w.taken, w.tracking = w.Cursor.Offset(), s.tracking
	if !w.value(s.check) {
		return false
	}
	w.copyTo(w.Cursor.Offset())
	return true
}

const none = -1

// Write writes bytes that do not come from a value of the input.
func (w *Transcriber) Write(text ...byte) {
	if w.to != none && bytes.HasPrefix(w.Cursor.Bytes(w.to, w.Cursor.Size()), text) {
		w.to += len(text)
		return
	}
	w.part()
	w.out = append(w.out, text...)
}

// copyTo writes the input from taken up to an offset.
func (w *Transcriber) copyTo(offset int) {
	if w.to == w.taken {
		w.to = offset
	} else {
		w.part()
		w.out = append(w.out, w.Cursor.Bytes(w.taken, offset)...)
	}
	w.taken = offset
}

// part copies the output to out, because the output will no longer equal a part of the input.
func (w *Transcriber) part() {
	if w.to == none {
		return
	}
	w.out = slices.Grow(w.out, w.Cursor.Size()-w.from+64) // with some space for conversions
	w.out = append(w.out, w.Cursor.Bytes(w.from, w.to)...)
	w.to = none
}

// Written returns the output. It is a part of the input if nothing had to be copied.
func (w *Transcriber) Written() []byte {
	if w.to == none {
		return w.out
	}
	return w.Cursor.Bytes(w.from, w.to)
}

// value reads one value and reports whether it is valid. It writes the input up to the value, and the value itself, only if it converts the
// value.
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

// tree reports whether the next value is valid, for a schema that needs a tree. It returns false if the value needs a conversion.
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

// kindOf returns the type of a value from its first byte. It does not distinguish integers from other numbers.
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

// maxFlags is the number of required members for which a uint64 has bits.
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

// A seenMember is the cached result of looking up the name of a member in the schema of an object.
type seenMember struct {
	of       *check // the schema of the object
	check    *check // the schema of the member
	required uint64 // the bit of the member in flags
	refused  bool   // the object must not have the member
}

// maxSeen is the maximum number of cached members of one response.
const maxSeen = 256

// member looks up the current member in the schema of its object. It caches the results by the cursor's mark, because responses often
// repeat the same members.
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
