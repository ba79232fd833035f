package schema

import (
	"encoding/json"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// The cost of checking is bounded twice: by the schema, when it is read, and by the steps of a call, when it is made.

// maxWork bounds how many schemas are applied to one value inside a parameter, through all references: with $ref a short schema can
// require exponentially many.
const maxWork = 5000

const (
	// CallSteps bounds the work of checking the parameters of one call, for any schema and any values. A step takes about 10 ns of one
	// processor. Steps are counted and never measured, so that the load of the machine decides nothing.
	CallSteps = 1_500_000
	// AnswerSteps is the same bound for the response of the web service, which may be longer and is not the agent's.
	AnswerSteps = 32 * CallSteps
)

// The measured steps of the parts of checking.
const (
	stepsOfCheck    = 4  // applying a schema to a value
	stepsOfInside   = 15 // entering a list or an object, or evaluating apart from the report
	stepsOfLookup   = 6  // a member by its name
	stepsOfIdentity = 9  // the text of a value
	stepsOfUnique   = 22 // remembering an item
	stepsOfSeen     = 30 // remembering what was evaluated
	stepsOfFault    = 30
)

// stepsOfRational returns the steps of comparing fractions of so many decimal digits, or of dividing one by the other.
func stepsOfRational(digits int) int { return 80 + digits*digits/40 }

// A formatCost is the cost of recognizing a format: steps for each value and for each byte of it.
type formatCost struct{ value, perByte int }

func costOfFormat(name string) formatCost {
	switch name {
	case "regex":
		return formatCost{100, 700}
	case "uri-template":
		return formatCost{50, 20}
	case "byte", "binary", "password", "float", "double":
		return formatCost{20, 1}
	default:
		return formatCost{50, 4}
	}
}

func (f formatCost) of(v any) int {
	switch v := v.(type) {
	case string:
		return f.value + f.perByte*len(v)
	case json.Number:
		return stepsOfRational(magnitude(string(v)))
	default:
		return 1
	}
}

// A Meter counts the remaining steps. Once it is used up, nothing is judged any more.
type Meter struct{ left int }

// NewMeter returns a meter of n steps.
func NewMeter(steps int) *Meter { return &Meter{left: steps} }

// take takes n steps, and reports whether that many were left.
func (m *Meter) take(n int) bool {
	if m.left < n {
		m.left = -1
		return false
	}
	m.left -= n
	return true
}

// Exhausted reports whether the steps are used up.
func (m *Meter) Exhausted() bool { return m.left < 0 }

// takeText takes n steps and those of reading a text.
func (m *Meter) takeText(n int, s string) bool { return m.take(n + len(s)/4) }

// sorting returns the steps of sorting n names.
func sorting(n int) int { return 10 + n*(8+2*bits.Len(uint(n))) }

// TooMuch returns the violation for the parameter that exhausted the steps.
func TooMuch(at string) Violation {
	return Violation{
		Pointer: at, Keyword: "work", Reason: reason.ParameterTooLong,
		Message: "takes more than the " + strconv.Itoa(CallSteps) + " steps of work that checking one call may take: " +
			"send fewer or shorter values in one call",
	}
}

// A workload counts how many schemas are applied to one value, and to the values on one path below it.
type workload struct {
	root    any
	refs    map[string]string
	memo    map[placeAtDepth]int
	open    map[placeAtDepth]bool
	looping bool
}

type placeAtDepth struct {
	place string
	depth int
}

// worst returns that count for values nested to the maximal depth, at most maxWork+1, and whether a schema applies
// itself to the same value without end.
func worst(root any, refs map[string]string) (int, bool) {
	w := workload{root: root, refs: refs, memo: map[placeAtDepth]int{}, open: map[placeAtDepth]bool{}}
	depth := 0
	if len(refs) > 0 {
		depth = strictjson.MaxDepth
	}
	n := w.of("", root, depth)
	return n, w.looping
}

func (w *workload) of(place string, schema any, depth int) int {
	m, ok := schema.(map[string]any)
	if !ok {
		return 1
	}
	key := placeAtDepth{place, depth}
	if n, ok := w.memo[key]; ok {
		return n
	}
	if w.open[key] {
		w.looping = true
		return maxWork + 1
	}
	w.open[key] = true
	defer delete(w.open, key)

	total := 1 + comparisons(m["enum"])
	if target, ok := w.refs[place]; ok {
		sub, _ := strictjson.Lookup(w.root, target)
		total += w.of(target, sub, depth)
	}
	// Each child of a value is validated against one of properties or prefixItems, or else the rest keyword, and
	// additionally against all others.
	below := max(depth-1, 0)
	named, rest, beside := 0, 0, 0
	eachSubschema(m, func(path []string, sub any) {
		at := place + finding.Pointer(path...)
		switch path[0] {
		case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas":
			total += w.of(at, sub, depth)
		case "properties", "prefixItems":
			if depth > 0 || len(w.refs) == 0 {
				named = max(named, w.of(at, sub, below))
			}
		case "items", "additionalProperties":
			if depth > 0 || len(w.refs) == 0 {
				rest = max(rest, w.of(at, sub, below))
			}
		case "patternProperties", "contains", "unevaluatedItems", "unevaluatedProperties", "propertyNames":
			if depth > 0 || len(w.refs) == 0 {
				beside += w.of(at, sub, below)
			}
		}
		total, beside = min(total, maxWork+1), min(beside, maxWork+1)
	})
	total = min(total+max(named, rest)+beside, maxWork+1)
	w.memo[key] = total
	return total
}

// settle checks the references, and the result of worst, once the whole parameter has been walked.
func (w *walker) settle(root any) {
	if len(w.refs) > 0 && w.count > maxReferring {
		w.Hard("schema", w.at, "a parameter with $ref may hold at most %d schemas", maxReferring)
		return
	}
	for _, holder := range slices.Sorted(maps.Keys(w.refs)) {
		if !w.schemas[w.refs[holder]] {
			w.Hard("schema", w.parents[holder], "$ref points to #%s, where the parameter has no schema",
				strings.ToValidUTF8(finding.Excerpt(w.refs[holder]), ""))
		}
	}
	if w.Unusable {
		return
	}
	n, looping := worst(root, w.refs)
	switch {
	case looping:
		w.Hard("schema", w.at, "a $ref leads back to itself without descending into the value")
	case n > maxWork:
		w.Hard("schema", w.at, "the schema asks for too much work: one value would be held against more than %d schemas", maxWork)
	}
}

// comparisons returns the work of an enum, which compares with each of its values in turn.
func comparisons(enum any) int {
	list, _ := enum.([]any)
	n := len(list) / 16
	for _, v := range list {
		if !is[string](v) {
			n += 2
		}
	}
	return min(n, maxWork+1)
}
