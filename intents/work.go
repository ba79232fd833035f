package intents

import (
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	// maxWork bounds how many schemas are applied to one value inside a parameter, through all references: with $ref a
	// short schema can require exponentially many.
	maxWork = 5000
)

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
		at := place + pointer(path...)
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
		w.hard("schema", w.at, "a parameter with $ref may hold at most %d schemas", maxReferring)
		return
	}
	for _, holder := range slices.Sorted(maps.Keys(w.refs)) {
		if !w.schemas[w.refs[holder]] {
			w.hard("schema", w.parents[holder], "$ref points to #%s, where the parameter has no schema",
				strings.ToValidUTF8(excerpt(w.refs[holder]), ""))
		}
	}
	if w.unusable {
		return
	}
	n, looping := worst(root, w.refs)
	switch {
	case looping:
		w.hard("schema", w.at, "a $ref leads back to itself without descending into the value")
	case n > maxWork:
		w.hard("schema", w.at, "the schema asks for too much work: one value would be held against more than %d schemas", maxWork)
	}
}

// comparisons returns the work of an enum, for whoever compares with each of its values in turn.
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
