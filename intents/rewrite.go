package intents

import (
	"slices"

	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// Rewrite does the work of Fit in one pass and without a tree: it reads the bytes of a response and appends the bytes of the output to out.
// The outputs have the order that they have in the response, and their values are copied unchanged except for the conversions of Fit. If
// out is empty and the output is one contiguous part of the response, which is usual, Rewrite returns that part without copying. If the
// intent declares no outputs, Rewrite returns the whole response.
//
// ok is false if the response does not match the declared outputs, or if Rewrite cannot handle it. The caller must then use Fit, which
// returns the output or the error.
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

// A rewriter copies the outputs of a response, and stops at the first output that does not match its schema.
type rewriter struct {
	*schema.Transcriber

	outputs  int // outputs written
	required int // required outputs written
}

// members reads an object that contains outputs. It adds all other members to undeclared, unless undeclared is nil. It returns false if
// an output does not match its schema, or the response is invalid.
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
			fits = w.Cursor.Skip() // the outputs in this member are missing
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
