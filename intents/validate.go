package intents

import (
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/internal/suggest"
)

const (
	// MaxViolations bounds the violations that one call of Validate returns.
	MaxViolations = 64
	// maxGuesses bounds the searches for nearest names in one call, and maxGuessWork their comparisons of two characters.
	maxGuesses   = 8
	maxGuessWork = 500_000
	// maxNameSent bounds the name of a member that is checked or repeated in an answer, in bytes.
	maxNameSent = 256
)

// Validate checks the parameters of a call, a tree that strictjson made. It returns an object that includes the
// defaults, or every violation (at most MaxViolations) in the order in which the intent declares its parameters,
// undeclared ones last. It does not change the given object. The returned object shares its values, and is the given one if
// there is nothing to fill in: the caller must change neither. Numbers are compared exactly, at any size.
//
// An optional parameter whose schema does not accept null may be sent as null and counts as absent: models fill in every parameter
// that the schema has.
// Defaults inside a parameter's own schema are annotations and are not added.
func (i *Intent) Validate(params strictjson.Object) (strictjson.Object, []Violation) {
	r := report{most: MaxViolations, meter: meter{left: CallSteps}}
	complete := true // nothing to fill in or to leave out
	for n := range i.Inputs {
		p := &i.Inputs[n]
		v, sent := p.in(params)
		switch {
		case sent:
			if p.validate(v, p.at, &r); r.meter.exhausted() {
				return nil, append(r.violations(), tooMuch(finding.Pointer(p.Name)))
			}
		case p.Required:
			r.add(fault{kind: missingParameter, at: finding.Pointer(p.Name), name: p.Name})
		default:
			complete = complete && !p.HasDefault && !params.Has(p.Name)
		}
	}
	if i.undeclared(params, &r); r.meter.exhausted() {
		return nil, append(r.violations(), tooMuch(""))
	}
	switch {
	case len(r.faults) > 0:
		return nil, r.violations()
	case complete && params != nil:
		return params, nil
	default:
		return i.filled(params), nil
	}
}

// in returns the value that was sent for a parameter, and whether one was.
func (p *Parameter) in(params strictjson.Object) (v any, sent bool) {
	v, sent = params[p.Name]
	return v, sent && (v != nil || !p.absent)
}

// filled returns parameters that were found to be good, with the defaults of those that were not sent.
func (i *Intent) filled(params strictjson.Object) strictjson.Object {
	out := make(strictjson.Object, len(i.Inputs))
	for n := range i.Inputs {
		p := &i.Inputs[n]
		if v, sent := p.in(params); sent {
			out[p.Name] = v
		} else if p.HasDefault {
			out[p.Name] = strictjson.Clone(p.Default)
		}
	}
	return out
}

// validate checks one value, whatever decoder made it.
func (p *Parameter) validate(v any, at *path, r *report) {
	if checkTree(v, r, at) {
		r.tracking = p.tracking
		p.check.validate(v, at, r)
	}
}

// undeclared reports the parameters that the intent does not declare.
func (i *Intent) undeclared(params strictjson.Object, r *report) {
	var names []string
	for name := range params {
		if _, ok := i.inputs[name]; !ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 || !r.take(len(params)+sorting(len(names))) {
		return
	}
	slices.Sort(names)
	for n, name := range names {
		r.add(fault{kind: unknownName, name: name, known: i.known, repeat: n == 0})
	}
}

func unknownMember(at, name string, known []string, r *report) Violation {
	v := Violation{
		Pointer: at, Keyword: "additionalProperties", Reason: reason.UnknownParameter,
		Message: "a name longer than " + strconv.Itoa(maxNameSent) + " bytes is not a parameter",
	}
	if len(name) > maxNameSent {
		return v
	}
	v.Pointer = at + finding.Pointer(name)
	v.Message = finding.Excerpt(name) + " is not a parameter here"
	if r.mayGuess(name, known) {
		v.Nearest = suggest.Name(name, known)
	}
	if v.Nearest != "" {
		v.Message += ": did you mean " + finding.Excerpt(v.Nearest) + "?"
	}
	return v
}

// A path leads to a value inside the parameters. It is written as text only for a violation.
type path struct {
	up    *path
	name  string
	index int
}

func pathTo(up *path, name string) *path { return &path{up: up, name: name, index: -1} }
func pathAt(up *path, index int) *path   { return &path{up: up, index: index} }
func (p *path) String() string           { return string(p.write(nil)) }
func (p *path) write(b []byte) []byte {
	if p == nil {
		return b
	}
	b = append(p.up.write(b), '/')
	if p.index >= 0 {
		return strconv.AppendInt(b, int64(p.index), 10)
	}
	return append(b, strictjson.Escape(p.name)...)
}

// mayGuess reports whether the names known may be compared with one sent.
func (r *report) mayGuess(name string, known []string) bool {
	if r.guesses == maxGuesses {
		return false
	}
	for _, k := range known {
		r.guessWork += len(name) * len(k)
	}
	r.guesses++
	return r.guessWork <= maxGuessWork
}
