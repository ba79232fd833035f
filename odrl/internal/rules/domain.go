package rules

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A domain describes the facts that one left operand may have under the constraints seen so far. It excludes only facts that are certainly
// impossible.
type domain struct {
	operand string
	left    *model.Operand
	// Values with an order: the ranges that the one fact may be in, ascending.
	ordered bool
	ranges  []span
	// Texts. A call may have several facts of one operand. Each fact equals only, if only is not nil. Each set in some contains at least one
	// of the facts. A fact never equals a value in none. All values in all are among the facts. Each fact is part of every value in whole.
	only      *string
	some      [][]string
	none, all []string
	whole     []string
}

// A span is the range of values from first to last, inclusive.
type span struct{ first, last int64 }

func newDomain(operand string, left *model.Operand) domain {
	all := span{math.MinInt64, math.MaxInt64}
	switch left.Bounds {
	case model.Unbounded:
	case model.UpToHundred:
		all = span{0, 100 * model.Scale}
	case model.NotNegative:
		all.first = 0
	}
	return domain{operand: operand, left: left, ranges: []span{all}}
}

// order narrows the domain by an ordered comparison with the values of a span.
func (d *domain) order(operator string, s span) {
	below, above := span{math.MinInt64, max(s.first, math.MinInt64+1) - 1}, span{min(s.last, math.MaxInt64-1) + 1, math.MaxInt64}
	var allowed []span
	switch operator {
	case "eq", "within":
		allowed = []span{s}
	case "neq", "outside":
		allowed = []span{below, above}
		if s.first == math.MinInt64 {
			allowed = allowed[1:]
		}
	case "lt":
		allowed = []span{below}
	case "lteq":
		allowed = []span{{below.first, s.last}}
	case "gt":
		allowed = []span{above}
	case "gteq":
		allowed = []span{{s.first, above.last}}
	}
	var left []span
	for _, x := range d.ranges {
		for _, y := range allowed {
			if both := (span{max(x.first, y.first), min(x.last, y.last)}); both.first <= both.last {
				left = append(left, both)
			}
		}
	}
	d.ordered, d.ranges = true, left
}

// texts narrows the domain by a comparison of texts. It never modifies the lists in place, because domains share them.
func (d *domain) texts(operator string, values []string) {
	switch operator {
	case "eq":
		if d.only != nil && *d.only != values[0] {
			d.none = slices.Concat(d.none, values) // two different values: no fact is possible
		}
		d.only = &values[0]
	case "isAnyOf":
		d.some = slices.Concat(d.some, [][]string{values})
	case "neq", "isNoneOf":
		d.none = slices.Concat(d.none, values)
	case "isAllOf":
		d.all = slices.Concat(d.all, values)
	case "isPartOf", "isA":
		d.whole = slices.Concat(d.whole, values)
	}
}

// possible reports whether any facts are possible, and returns an example of them.
func (d *domain) possible() ([]string, bool) {
	if d.ordered {
		if len(d.ranges) == 0 {
			return nil, false
		}
		return []string{d.word(d.ranges[0].first)}, true
	}
	example := slices.Compact(slices.Sorted(slices.Values(d.all)))
	if d.only != nil {
		if slices.ContainsFunc(example, func(v string) bool { return v != *d.only }) {
			return nil, false
		}
		example = []string{*d.only}
	}
	for _, set := range d.some {
		if slices.ContainsFunc(set, func(v string) bool { return slices.Contains(example, v) }) {
			continue
		}
		i := slices.IndexFunc(set, d.may)
		if i < 0 || d.only != nil {
			return nil, false
		}
		example = append(example, set[i])
	}
	for i, v := range d.whole { // a fact may be part of several wholes
		if slices.ContainsFunc(d.whole[:i], func(w string) bool { return d.apart(v, w) && d.apart(w, v) }) {
			return nil, false
		}
	}
	if slices.ContainsFunc(example, func(v string) bool { return !d.may(v) }) {
		return nil, false
	}
	if len(example) == 0 && len(d.whole) > 0 {
		example = d.whole[:1]
	}
	return example, true
}

// wholes returns the values that every fact equals or is part of.
func (d *domain) wholes() []string {
	if d.only != nil {
		return append(slices.Clone(d.whole), *d.only)
	}
	return d.whole
}

// may reports whether a string may be one of the facts. If a code is excluded, so are its parts.
func (d *domain) may(v string) bool {
	left := d.left
	excluded := func(w string) bool { return v == w || left.IsCode(w) && left.IsCode(v) && !d.apart(v, w) }
	return !slices.ContainsFunc(d.none, excluded) && !slices.ContainsFunc(d.whole, func(w string) bool { return d.apart(v, w) })
}

// apart reports whether piece is certainly not part of whole. This is known only for codes, because a taxonomy may place any other string
// within another.
func (d *domain) apart(piece, whole string) bool {
	left := d.left
	return left.IsCode(piece) && left.IsCode(whole) && piece != whole && !strings.HasPrefix(piece, whole+"-")
}

// word formats an ordered value as in a policy.
func (d *domain) word(n int64) string {
	switch {
	case d.operand == "dateTime":
		return time.Unix(0, n).UTC().Format(time.RFC3339Nano)
	case d.operand == clock:
		return time.Unix(0, n).UTC().Format("15:04:05.999999999Z")
	case d.operand == "version":
		return strconv.FormatInt(n>>40, 10) + "." + strconv.FormatInt(n>>20&(1<<20-1), 10) + "." + strconv.FormatInt(n&(1<<20-1), 10)
	case n == math.MinInt64:
		return "0"
	default:
		return strings.TrimSuffix(strings.TrimRight(big.NewRat(n, model.Scale).FloatString(9), "0"), ".")
	}
}
