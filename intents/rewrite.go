package intents

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"sync"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Rewrite is Fit from the bytes of an answer to those of the output, which it appends to out: in one pass, without a tree. It copies
// values as they are, in the order of the answer, except for the conversions of Fit. If out is empty and the output is a part of the
// answer, as is usual, it returns that part and copies nothing; without outputs it returns the whole answer. Rewrite returns false if it
// cannot decide, or if the answer does not fit: then use Fit for the result or the error.
func (i *Intent) Rewrite(out, answer []byte) (output []byte, undeclared Undeclared, ok bool) {
	c := strictjson.Begin(answer)
	defer c.End()
	if len(i.Outputs) == 0 {
		output = c.Value()
		return output, undeclared, c.Complete()
	}
	if i.places == nil {
		return out, undeclared, false
	}
	w, _ := rewriters.Get().(*rewriter)
	defer w.end()
	w.begin(c, out)
	w.write('{')
	fits := false
	switch {
	case i.places.output != nil:
		fits = w.output(i.places)
	case c.Next() == '{':
		fits = w.members(i.places, &undeclared)
	case len(i.Outputs) == 1 && !i.Outputs[0].HasFrom:
		fits = w.output(i.places.members[i.Outputs[0].Name])
	}
	if !fits || !c.Complete() || c.Long() || w.meter.exhausted() || w.required < i.requiredOutputs {
		return out, Undeclared{}, false
	}
	w.write('}')
	slices.Sort(undeclared.Names)
	return w.written(), undeclared, true
}

// A rewriter writes what it reads, as long as it fits.
type rewriter struct {
	cursor   *strictjson.Cursor
	out      []byte
	from, to int // of the answer: what was written while the two are equal; from then on out has it, and to is unused
	taken    int // offset up to which the answer was read and written
	tracking bool
	outputs  int // written
	required int // of them
	meter    meter
	seen     []seenMember
	other    seenMember // the last one that was not remembered
}

var rewriters = sync.Pool{New: func() any { return &rewriter{} }}

func (w *rewriter) begin(c *strictjson.Cursor, out []byte) {
	from := max(c.Offset(), 0)
	*w = rewriter{cursor: c, out: out, from: from, to: from, meter: meter{left: answerSteps}, seen: w.seen}
	if len(out) > 0 {
		w.part()
	}
}

func (w *rewriter) end() {
	clear(w.seen)
	*w = rewriter{seen: w.seen[:0]}
	rewriters.Put(w)
}

const none = -1

// write writes bytes that are not part of the answer.
func (w *rewriter) write(text ...byte) {
	if w.to != none && bytes.HasPrefix(w.cursor.Bytes(w.to, w.cursor.Size()), text) {
		w.to += len(text)
		return
	}
	w.part()
	w.out = append(w.out, text...)
}

// copyTo writes the answer from what was read and written of it up to an offset.
func (w *rewriter) copyTo(offset int) {
	if w.to == w.taken {
		w.to = offset
	} else {
		w.part()
		w.out = append(w.out, w.cursor.Bytes(w.taken, offset)...)
	}
	w.taken = offset
}

// part begins with an output of its own.
func (w *rewriter) part() {
	if w.to == none {
		return
	}
	w.out = slices.Grow(w.out, w.cursor.Size()-w.from+64) // a little more, for conversions
	w.out = append(w.out, w.cursor.Bytes(w.from, w.to)...)
	w.to = none
}

func (w *rewriter) written() []byte {
	if w.to == none {
		return w.out
	}
	return w.cursor.Bytes(w.from, w.to)
}

// members reads an object that outputs are members of; it adds other members to undeclared, unless that is nil.
func (w *rewriter) members(at *place, undeclared *Undeclared) bool {
	for w.cursor.Open('{'); w.cursor.Member(); {
		next := at.members[string(w.cursor.Name())]
		var fits bool
		switch {
		case next == nil:
			if undeclared != nil {
				note(undeclared, w.cursor.Name())
			}
			fits = w.cursor.Skip()
		case next.output != nil:
			fits = w.output(next)
		case w.cursor.Next() == '{':
			fits = w.members(next, nil)
		default:
			fits = w.cursor.Skip() // what is asked for is not there
		}
		if !fits {
			return false
		}
	}
	return !w.cursor.Failed()
}

func (w *rewriter) output(at *place) bool {
	p := at.output
	if w.outputs > 0 {
		w.write(',')
	}
	w.outputs++
	if p.Required {
		w.required++
	}
	w.write(at.name...)
	w.taken, w.tracking = w.cursor.Offset(), p.tracking
	if !w.value(p.check) {
		return false
	}
	w.copyTo(w.cursor.Offset())
	return true
}

// value reads one value and reports whether it fits.
func (w *rewriter) value(c *check) bool {
	if c == nil || c.anything {
		return w.cursor.Skip()
	}
	if c.never || !w.meter.take(max(c.cost, 1)) {
		return false
	}
	next := w.cursor.Next()
	switch {
	case next == 0:
		return false
	case c.nullable && next == 'n', c.bare && c.kinds&kindOf(next) != 0:
		return w.cursor.Skip()
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

// tree holds a value against a schema that a tree is needed for. It is copied as it is.
func (w *rewriter) tree(c *check) bool {
	v, err := strictjson.Decode(w.cursor.Value())
	return err == nil && (!c.converts() || reflect.DeepEqual(v, c.convert(v))) && w.holds(v, c)
}

func (w *rewriter) holds(v any, c *check) bool {
	r := report{most: 1, meter: w.meter, tracking: w.tracking}
	c.validate(v, nil, &r)
	w.meter = r.meter
	return len(r.faults) == 0
}

func (w *rewriter) scalar(c *check, next byte) bool {
	from := w.cursor.Offset()
	raw := w.cursor.Value()
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
			w.write(text...)
			w.taken, v = w.cursor.Offset(), changed
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

func (w *rewriter) list(c *check) bool {
	n := 0
	for w.cursor.Open('['); w.cursor.Item(); n++ {
		if !w.value(c.items) {
			return false
		}
	}
	return !w.cursor.Failed() && (c.bounds == nil || inBounds(n, c.minItems, c.maxItems))
}

// maxFlags bounds the required members that are remembered in one word.
const maxFlags = 64

func (w *rewriter) object(c *check) bool {
	n, missing := 0, uint64(1)<<len(c.required)-1
	for w.cursor.Open('{'); w.cursor.Member(); n++ {
		m := w.member(c)
		missing &^= m.required
		if m.refused || !w.value(m.check) {
			return false
		}
	}
	return missing == 0 && !w.cursor.Failed() && (c.bounds == nil || inBounds(n, c.minProperties, c.maxProperties))
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

// member returns the check of the object for the member that is read. It uses the mark of the name, because objects often have the same
// members again.
func (w *rewriter) member(c *check) *seenMember {
	mark := w.cursor.Mark()
	if *mark > 0 && w.seen[*mark-1].of == c {
		return &w.seen[*mark-1]
	}
	name := w.cursor.Name()
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
