package intents

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Rewrite is Fit from the bytes of an answer to those of the output, which it appends to out: one pass, and no tree. Values are
// copied as they stand, in the order of the answer, but for the conversions of Fit; without outputs the output is the answer
// itself, and nothing is appended. It returns false where it cannot tell, or where the answer does not fit: then Fit says what is
// so, and what is wrong.
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
	w := rewriter{cursor: c, out: slices.Grow(out, len(answer)+len(i.places.name)+2), meter: meter{left: answerSteps}}
	w.out = append(w.out, '{')
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
	slices.Sort(undeclared.Names)
	return append(w.out, '}'), undeclared, true
}

// A place is where outputs are found in an answer: an output, or members on the way to some.
type place struct {
	output  *Parameter
	name    []byte // of the output, as JSON
	members map[string]*place
}

// places returns where the outputs are found; nil where two of them share values, or one is inside a list.
func placesOf(outputs []Parameter) *place {
	root := &place{}
	for n := range outputs {
		p := &outputs[n]
		from := pointer(p.Name)
		if p.HasFrom {
			from = p.From
		}
		at := root
		for token := range strictjson.Tokens(from) {
			if at.output != nil || isIndex(token) {
				return nil
			}
			next := at.members[token]
			if next == nil {
				next = &place{}
				if at.members == nil {
					at.members = map[string]*place{}
				}
				at.members[token] = next
			}
			at = next
		}
		if at.output != nil || at.members != nil {
			return nil
		}
		name, err := json.Marshal(p.Name)
		if err != nil {
			return nil
		}
		at.output, at.name = p, name
	}
	return root
}

func isIndex(token string) bool { return digits(token) == len(token) && token != "" }

// A rewriter writes what it reads, as long as it fits.
type rewriter struct {
	cursor   *strictjson.Cursor
	out      []byte
	tracking bool
	taken    int // offset up to which the answer was copied to out
	written  int // outputs
	required int // of them
	meter    meter
}

// members reads an object in which outputs are found; others are added to undeclared, unless that is nil.
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
	if w.written > 0 {
		w.out = append(w.out, ',')
	}
	w.written++
	if p.Required {
		w.required++
	}
	w.out = append(append(w.out, at.name...), ':')
	w.taken, w.tracking = w.cursor.Offset(), p.tracking
	if !w.value(p.check) {
		return false
	}
	w.copyTo(w.cursor.Offset())
	return true
}

func (w *rewriter) copyTo(offset int) {
	w.out = append(w.out, w.cursor.Bytes(w.taken, offset)...)
	w.taken = offset
}

// value reads one value and reports whether it fits.
func (w *rewriter) value(c *check) bool {
	if c == nil || c.accepts() {
		return w.cursor.Skip()
	}
	if c.never || !w.meter.take(max(c.cost, 1)) {
		return false
	}
	next := w.cursor.Next()
	switch {
	case next == 0:
		return false
	case c.nullable && next == 'n':
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

// accepts reports whether any value fits.
func (c *check) accepts() bool {
	return !c.never && c.kinds == 0 && c.bounds == nil && c.identity == nil && c.combination == nil && c.items == nil && c.properties == nil &&
		c.additional == nil && len(c.required) == 0 && !c.closed
}

func (c *check) allows(k kind) bool { return c.kinds == 0 || c.kinds&k != 0 }

// tree holds a value against a schema that a tree is needed for. It is copied as it is.
func (w *rewriter) tree(c *check) bool {
	v, err := strictjson.Decode(w.cursor.Value())
	return err == nil && (!c.converts() || reflect.DeepEqual(v, c.convert(v))) && w.holds(v, c)
}

func (w *rewriter) holds(v any, c *check) bool {
	r := report{most: 1, meter: &w.meter, tracking: w.tracking}
	c.validate(v, nil, &r)
	return len(r.faults) == 0
}

func (w *rewriter) scalar(c *check, next byte) bool {
	from := w.cursor.Offset()
	raw := w.cursor.Value()
	if raw == nil {
		return false
	}
	if c.bounds == nil && c.identity == nil && c.combination == nil && c.kinds&kindOf(next, raw) != 0 {
		return true // as nearly all
	}
	v := strictjson.Scalar(raw)
	if c.plain {
		if changed := c.scalar(v); changed != v {
			w.copyTo(from)
			text, err := json.Marshal(changed)
			if err != nil {
				return false
			}
			w.out, w.taken, v = append(w.out, text...), w.cursor.Offset(), changed
		}
	}
	return w.holds(v, c)
}

// kindOf returns the type of a value that is neither a list nor an object; of a number with a fraction or an exponent it does not
// tell whether it is whole.
func kindOf(next byte, raw []byte) kind {
	switch next {
	case '"':
		return textKind
	case 't', 'f':
		return boolKind
	case 'n':
		return nullKind
	}
	for _, b := range raw {
		if b == '.' || b|0x20 == 'e' {
			return numberKind
		}
	}
	return numberKind | integerKind
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
		name := w.cursor.Name()
		if missing != 0 {
			missing &^= c.flags[string(name)]
		}
		sub, known := c.properties[string(name)]
		if !known {
			if c.closed {
				return false
			}
			sub = c.additional
		}
		if !w.value(sub) {
			return false
		}
	}
	return missing == 0 && !w.cursor.Failed() && (c.bounds == nil || inBounds(n, c.minProperties, c.maxProperties))
}

func inBounds(n, least, most int) bool { return n >= least && (most < 0 || n <= most) }
