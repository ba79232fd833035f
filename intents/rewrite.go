package intents

import (
	"slices"

	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// Rewrite is Fit from the bytes of a response to those of the output, which it appends to out: in one pass, without a tree. It copies
// values unchanged, in the order of the response, except for the conversions of Fit. If out is empty and the output is a part of the
// response, as is usual, it returns that part and copies nothing; without outputs it returns the whole response. Rewrite returns false if
// it cannot decide, or if the response does not fit: then use Fit for the result or the error.
func (i *Intent) Rewrite(out, answer []byte) (output []byte, undeclared UndeclaredMembers, ok bool) {
	c := strictjson.Begin(answer)
	defer c.End()
	if len(i.Outputs) == 0 {
		output = c.Value()
		return output, undeclared, c.Complete()
	}
	if i.places == nil {
		return out, undeclared, false
	}
	w := rewriter{Transcriber: schema.NewTranscriber(c, out, schema.AnswerSteps)}
	defer w.End()
	w.Write('{')
	fits := false
	switch {
	case i.places.output != nil:
		fits = w.output(i.places)
	case c.Next() == '{':
		fits = w.members(i.places, &undeclared)
	case len(i.Outputs) == 1 && !i.Outputs[0].HasFrom:
		fits = w.output(i.places.members[i.Outputs[0].Name])
	}
	if !fits || !c.Complete() || c.Long() || w.Exhausted() || w.required < i.requiredOutputs {
		return out, UndeclaredMembers{}, false
	}
	w.Write('}')
	slices.Sort(undeclared.Names)
	return w.Written(), undeclared, true
}

// A rewriter writes the outputs that it reads, as long as they fit.
type rewriter struct {
	*schema.Transcriber

	outputs  int // written
	required int // of them
}

// members reads an object that has outputs as members; it adds other members to undeclared, unless that is nil.
func (w *rewriter) members(at *place, undeclared *UndeclaredMembers) bool {
	for w.Cursor.Open('{'); w.Cursor.Member(); {
		next := at.members[string(w.Cursor.Name())]
		var fits bool
		switch {
		case next == nil:
			if undeclared != nil {
				note(undeclared, w.Cursor.Name())
			}
			fits = w.Cursor.Skip()
		case next.output != nil:
			fits = w.output(next)
		case w.Cursor.Next() == '{':
			fits = w.members(next, nil)
		default:
			fits = w.Cursor.Skip() // the requested member is missing
		}
		if !fits {
			return false
		}
	}
	return !w.Cursor.Failed()
}

func (w *rewriter) output(at *place) bool {
	p := at.output
	if w.outputs > 0 {
		w.Write(',')
	}
	w.outputs++
	if p.Required {
		w.required++
	}
	w.Write(at.name...)
	return w.Copy(p.compiled)
}
