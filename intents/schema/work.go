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

// The cost of validation is bounded twice: by maxWork when a schema is read, and by the steps of a Meter in each call.

// maxWork is the maximum number of schemas that are applied to one value inside a parameter, including those that are reached by
// references: with $ref, a short schema can apply exponentially many.
const maxWork = 5000

const (
	// CallSteps is the maximum number of steps for validating the parameters of one call, for any schema and any values. A step takes about 10
	// ns on one processor. Steps are counted and not timed, so the result does not depend on the load of the machine.
	CallSteps = 1_500_000
	// AnswerSteps is the maximum number of steps for validating the response of the web service, which may be longer and does not come from
	// the agent.
	AnswerSteps = 32 * CallSteps
)

// The steps of the parts of validation, according to measurements.
const (
	stepsOfCheck    = 4  // applying a schema to a value
	stepsOfInside   = 15 // entering a list or an object, or evaluating with a separate report
	stepsOfLookup   = 6  // looking up a member by its name
	stepsOfIdentity = 9  // writing the canonical text of a value
	stepsOfUnique   = 22 // recording an item for uniqueItems
	stepsOfSeen     = 30 // recording that an item or member was evaluated
	stepsOfFault    = 30 // adding a fault
)

// stepsOfRational returns the steps of comparing or dividing fractions with this many decimal digits.
func stepsOfRational(digits int) int { return 80 + digits*digits/40 }

// A formatCost is the cost of recognizing a format: the steps for each value, and those for each byte of the value.
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

// A Meter counts the remaining steps. Once it is exhausted, the results of validation are meaningless.
type Meter struct{ left int }

// NewMeter returns a Meter with this many steps.
func NewMeter(steps int) *Meter { return &Meter{left: steps} }

// take takes n steps, and reports whether at least n steps were left. Otherwise the Meter is exhausted.
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

// takeText takes n steps and the steps of reading s, and reports whether they were left.
func (m *Meter) takeText(n int, s string) bool { return m.take(n + len(s)/4) }

// sorting returns the steps of sorting n names.
func sorting(n int) int { return 10 + n*(8+2*bits.Len(uint(n))) }

// TooMuch returns the violation for a parameter at which the steps were used up.
func TooMuch(at string) Violation {
	return Violation{
		Pointer: at, Keyword: "work", Reason: reason.ParameterTooLong,
		Message: "takes more than the " + strconv.Itoa(CallSteps) + " steps that the validation of one call may take: " +
			"send fewer or shorter values in one call",
	}
}

// A workload counts how many schemas are applied to one value and to the values on one path below it.
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

// worst returns the count of a workload for values that are nested to the maximum depth; the count is at most maxWork+1. It also reports
// whether a schema applies itself to the same value in an endless loop.
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
	// A child of a value is validated against one schema of properties or prefixItems (named), or against that of items or
	// additionalProperties (rest). In addition, it is validated against the schemas of all other keywords for children (beside).
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

// settle checks the references and the result of worst after the whole parameter has been normalized. It adds problems.
func (w *walker) settle(root any) {
	if len(w.refs) > 0 && w.count > maxReferring {
		w.Hard("schema", w.at, "a parameter with $ref may contain at most %d schemas", maxReferring)
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
		w.Hard("schema", w.at, "the schema causes too much work: one value would be checked against more than %d schemas", maxWork)
	}
}

// comparisons estimates the work of an enum, as a number of schemas. It assumes that a value is compared with each value of the enum.
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
