package intents

import (
	"slices"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/reason"
)

// A report collects the faults of the values of one call, up to a bound, and counts the steps of finding them.
type report struct {
	faults    []fault
	most      int
	meter     meter
	tracking  bool // some schema asks which items or properties others have looked at
	text      []byte
	guesses   int
	guessWork int
}

// A fault is a violation before it is written out: most faults inside anyOf and the like never are.
type fault struct {
	kind    faultKind
	at      string // pointer to the value
	keyword string
	check   *check   // whose keyword it is
	name    string   // of the member
	known   []string // the names declared, for an unknown one
	repeat  bool     // whether the answer repeats them
}

type faultKind int

const (
	brokenKeyword faultKind = iota
	noValue                 // the schema false
	notAllowed              // the schema false, by a keyword
	missingMember
	missingParameter
	missingDependent
	unknownName
	noTree // name is what is wrong
)

func (r *report) full() bool { return len(r.faults) >= r.most || r.meter.exhausted() }

func (r *report) take(n int) bool { return r.meter.take(n) }

// add adds a fault unless the report is full; once the steps are used up nothing is certain any more.
func (r *report) add(f fault) {
	if !r.full() {
		r.faults = append(r.faults, f)
	}
}

// breaks adds the fault that a value breaks a keyword of its schema.
func (r *report) breaks(c *check, keyword string, at *path) {
	r.addAt(fault{kind: brokenKeyword, keyword: keyword, check: c}, at)
}

func (r *report) addAt(f fault, at *path) {
	if r.full() || !r.take(stepsOfFault) {
		return
	}
	f.at = at.String()
	if r.meter.takeText(0, f.at) {
		r.add(f)
	}
}

// ask evaluates a schema for a value and returns the faults, at most so many. It reports none of them.
func (r *report) ask(c *check, v any, at *path, most int) ([]fault, seen) {
	if !r.take(2 * stepsOfInside) {
		return nil, seen{}
	}
	inner := report{most: most, meter: r.meter, tracking: r.tracking, text: r.text}
	s := c.validate(v, at, &inner)
	r.meter, r.text = inner.meter, inner.text
	return inner.faults, s
}

// violations writes the faults out, each once.
func (r *report) violations() []Violation {
	out := make([]Violation, 0, len(r.faults))
	type key struct{ at, keyword, message string }
	written := make(map[key]bool, len(r.faults))
	for _, f := range r.faults {
		v := r.violation(f)
		k := key{v.Pointer, v.Keyword, v.Message}
		if !written[k] {
			written[k] = true
			out = append(out, v)
		}
	}
	return out
}

func (r *report) violation(f fault) Violation {
	switch f.kind {
	case noValue:
		return Violation{Pointer: f.at, Keyword: "false", Reason: reason.InvalidParameter, Message: "no value is allowed here"}
	case notAllowed:
		return Violation{Pointer: f.at, Keyword: f.keyword, Reason: reason.InvalidParameter, Message: "is not allowed"}
	case missingMember, missingParameter:
		what := "member"
		if f.kind == missingParameter {
			what = "parameter"
		}
		return Violation{
			Pointer: f.at, Keyword: "required", Reason: reason.MissingParameter, Message: "the " + what + " " + finding.Excerpt(f.name) + " is required",
		}
	case missingDependent:
		return Violation{
			Pointer: f.at, Keyword: "dependentRequired", Reason: reason.MissingParameter,
			Message: "lacks a member that another of its members asks for",
		}
	case unknownName:
		v := unknownMember(f.at, f.name, f.known, r)
		if f.repeat {
			v.Known = slices.Clone(f.known)
		}
		return v
	case noTree:
		return Violation{Pointer: f.at, Keyword: "type", Reason: reason.InvalidParameter, Message: f.name}
	default:
		return violated(f.keyword, f.check.limitFor(f.keyword), f.at)
	}
}
