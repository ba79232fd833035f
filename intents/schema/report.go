package schema

import (
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/suggest"
)

const (
	// maxGuesses is the maximum number of searches for similar names in one call, and maxGuessWork that of comparisons of characters in these
	// searches.
	maxGuesses   = 8
	maxGuessWork = 500_000
	// maxNameSent is the maximum length, in bytes, of an unknown name that is compared with known names or repeated in a response.
	maxNameSent = 256
)

// A Report collects the faults of the values of one call, up to a bound, and counts the steps of validation.
type Report struct {
	faults    []fault
	most      int
	meter     Meter
	tracking  bool // some schema depends on which items or properties others have evaluated
	text      []byte
	guesses   int
	guessWork int
}

// NewReport returns a Report that collects at most maxFaults faults, within this many steps.
func NewReport(maxFaults, steps int) *Report {
	return &Report{most: maxFaults, meter: Meter{left: steps}}
}

// Exhausted reports whether the steps are used up. The other results are then meaningless.
func (r *Report) Exhausted() bool { return r.meter.Exhausted() }

// Failed reports whether r has a fault.
func (r *Report) Failed() bool { return len(r.faults) > 0 }

// Missing adds the fault that a required parameter was not sent.
func (r *Report) Missing(name string) {
	r.add(fault{kind: missingParameter, at: finding.Pointer(name), name: name})
}

// Undeclared adds the fault that the intent does not declare a parameter. If repeat is true, the violation lists the declared names.
func (r *Report) Undeclared(name string, known []string, repeat bool) {
	r.add(fault{kind: unknownName, name: name, known: known, repeat: repeat})
}

// TakeSorting takes n steps, and the steps of sorting this many names. It returns false if the steps are used up.
func (r *Report) TakeSorting(n, names int) bool { return r.take(n + sorting(names)) }

// A fault is a violation that is not yet formatted. Most faults inside anyOf and similar keywords are never formatted.
type fault struct {
	kind    faultKind
	at      string // pointer to the value
	keyword string
	check   *check   // the schema that has the keyword
	name    string   // the name of the member; for noTree, the message
	known   []string // the declared names, if the name is unknown
	repeat  bool     // whether the violation lists the declared names
}

type faultKind int

const (
	brokenKeyword faultKind = iota
	noValue                 // the schema false
	notAllowed              // the schema false, as the value of a keyword
	missingMember
	missingParameter
	missingDependent
	unknownName
	noTree // the value is not a tree that can be processed
)

func (r *Report) full() bool { return len(r.faults) >= r.most || r.meter.Exhausted() }

func (r *Report) take(n int) bool { return r.meter.take(n) }

// add adds a fault, unless the report is full or the steps are used up.
func (r *Report) add(f fault) {
	if !r.full() {
		r.faults = append(r.faults, f)
	}
}

// breaks adds the fault that a value violates a keyword of its schema.
func (r *Report) breaks(c *check, keyword string, at *Path) {
	r.addAt(fault{kind: brokenKeyword, keyword: keyword, check: c}, at)
}

func (r *Report) addAt(f fault, at *Path) {
	if r.full() || !r.take(stepsOfFault) {
		return
	}
	f.at = at.String()
	if r.meter.takeText(0, f.at) {
		r.add(f)
	}
}

// ask evaluates a value against a schema and returns at most maxFaults faults. It takes steps from r, but does not add the faults to r.
func (r *Report) ask(c *check, v any, at *Path, maxFaults int) ([]fault, seen) {
	if !r.take(2 * stepsOfInside) {
		return nil, seen{}
	}
	inner := Report{most: maxFaults, meter: r.meter, tracking: r.tracking, text: r.text}
	s := c.validate(v, at, &inner)
	r.meter, r.text = inner.meter, inner.text
	return inner.faults, s
}

// Violations returns the faults as violations, without duplicates.
func (r *Report) Violations() []Violation {
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

func (r *Report) violation(f fault) Violation {
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
			Pointer: f.at, Keyword: "required", Reason: reason.MissingParameter,
			Message: "the " + what + " " + finding.Excerpt(f.name) + " is required",
		}
	case missingDependent:
		return Violation{
			Pointer: f.at, Keyword: "dependentRequired", Reason: reason.MissingParameter,
			Message: "lacks a member that another member requires",
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

func unknownMember(at, name string, known []string, r *Report) Violation {
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

// mayGuess reports whether the bounds permit comparing name with the known names, and counts that comparison.
func (r *Report) mayGuess(name string, known []string) bool {
	if r.guesses == maxGuesses {
		return false
	}
	for _, k := range known {
		r.guessWork += len(name) * len(k)
	}
	r.guesses++
	return r.guessWork <= maxGuessWork
}
