package rules

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A domain is what may still be the value of one left operand, given the constraints seen so far. It
// errs on the side of what may be: only what certainly cannot be is left out.
type domain struct {
	// Ordered values: the bounds, both held, and what lies between and is left out.
	lo, hi  int64
	holes   []model.Interval // from held, to not
	ordered bool
	// Texts. A call may have several facts of one operand: they all equal only, some are in each of
	// some, none in none, all of all are among them, and they are part of each of whole.
	only  *string
	some  [][]string
	none  map[string]bool
	all   map[string]bool
	whole []string
}

func newDomain(operand string) *domain {
	d := &domain{lo: math.MinInt64, hi: math.MaxInt64, none: map[string]bool{}, all: map[string]bool{}}
	switch bounds := model.LeftOperand(operand).Bounds; {
	case bounds == model.UpToHundred:
		d.lo, d.hi = 0, 100*model.Scale
	case bounds == model.NotNegative:
		d.lo = 0
	case operand == clockVariable:
		d.lo, d.hi = 0, int64(model.Day)-1
	}
	return d
}

func (d *domain) clone() *domain {
	c := *d
	c.holes, c.some, c.whole = slices.Clone(d.holes), slices.Clone(d.some), slices.Clone(d.whole)
	c.none, c.all = maps.Clone(d.none), maps.Clone(d.all)
	return &c
}

// order adds an ordered comparison with the values from a.from to before a.to, or with a.from alone.
func (d *domain) order(operator string, a model.Interval) {
	d.ordered = true
	last := a.To - 1
	if a.From == a.To {
		last = a.From
	}
	switch operator {
	case "eq", "within":
		d.lo, d.hi = max(d.lo, a.From), min(d.hi, last)
	case "neq", "outside":
		d.holes = append(d.holes, model.Interval{From: a.From, To: last + 1})
	case "lt":
		d.hi = min(d.hi, below(a.From))
	case "lteq":
		d.hi = min(d.hi, last)
	case "gt":
		d.lo = max(d.lo, above(last))
	case "gteq":
		d.lo = max(d.lo, a.From)
	}
}

func below(n int64) int64 { return max(n, math.MinInt64+1) - 1 }

func above(n int64) int64 { return min(n, math.MaxInt64-1) + 1 }

// least is the smallest value left; false where there is none.
func (d *domain) least() (int64, bool) {
	x := d.lo
	slices.SortFunc(d.holes, func(a, b model.Interval) int { return compare(a.From, b.From) })
	for _, h := range d.holes {
		if h.From <= x && x < h.To {
			x = h.To
		}
	}
	return x, x <= d.hi
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	default:
		return 0
	}
}

// texts adds a comparison of texts.
func (d *domain) texts(operator string, values []string) {
	switch operator {
	case "eq":
		if d.only != nil && *d.only != values[0] {
			d.none[values[0]] = true // two values at once: nothing is left
		}
		d.only = &values[0]
	case "isAnyOf":
		d.some = append(d.some, values)
	case "neq", "isNoneOf":
		for _, v := range values {
			d.none[v] = true
		}
	case "isAllOf":
		for _, v := range values {
			d.all[v] = true
		}
	case "isPartOf", "isA":
		d.whole = append(d.whole, values...)
	}
}

// possible reports whether anything is left, and gives an example.
func (d *domain) possible(operand string) ([]string, bool) {
	if d.ordered {
		n, ok := d.least()
		return []string{wordValue(operand, n)}, ok
	}
	var example []string
	if d.only != nil {
		if d.none[*d.only] {
			return nil, false
		}
		example = []string{*d.only}
	}
	for v := range d.all {
		if d.none[v] || d.only != nil && v != *d.only {
			return nil, false
		}
	}
	if d.only == nil {
		example = model.SortedKeys(d.all)
	}
	for _, set := range d.some {
		if slices.ContainsFunc(set, func(v string) bool { return slices.Contains(example, v) }) {
			continue
		}
		i := slices.IndexFunc(set, func(v string) bool { return !d.none[v] && d.fits(operand, v) })
		if i < 0 || d.only != nil {
			return nil, false
		}
		example = append(example, set[i])
	}
	if !d.nested(operand) || slices.ContainsFunc(example, func(v string) bool { return !d.fits(operand, v) }) {
		return nil, false
	}
	if len(example) == 0 && len(d.whole) > 0 {
		example = d.whole[:1]
	}
	return example, true
}

// fits reports whether a value may be part of all that it must be part of. Of codes that is known, of
// all else a taxonomy may say so.
func (d *domain) fits(operand, v string) bool {
	left := model.LeftOperand(operand)
	return !slices.ContainsFunc(d.whole, func(w string) bool {
		return left.IsCode(v) && left.IsCode(w) && !codePart(v, w)
	})
}

// nested reports whether something may be part of all the codes at once.
func (d *domain) nested(operand string) bool {
	left := model.LeftOperand(operand)
	for i, v := range d.whole {
		for _, w := range d.whole[:i] {
			if left.IsCode(v) && left.IsCode(w) && !codePart(v, w) && !codePart(w, v) {
				return false
			}
		}
	}
	return true
}

func codePart(piece, whole string) bool {
	return piece == whole || strings.HasPrefix(piece, whole+"-")
}

// wordValue writes an ordered value as a policy would.
func wordValue(operand string, n int64) string {
	switch {
	case operand == "dateTime":
		return time.Unix(0, n).UTC().Format(time.RFC3339Nano)
	case operand == clockVariable:
		return time.Unix(0, n).UTC().Format("15:04:05.999999999Z")
	case operand == "version":
		return strconv.FormatInt(n>>40, 10) + "." + strconv.FormatInt(n>>20&(1<<20-1), 10) + "." + strconv.FormatInt(n&(1<<20-1), 10)
	case n == math.MinInt64:
		return "0"
	default:
		s := strconv.FormatInt(n/model.Scale, 10)
		if rest := n % model.Scale; rest != 0 {
			if rest < 0 {
				rest = -rest
			}
			part := strconv.FormatInt(rest+model.Scale, 10)[1:]
			s += "." + strings.TrimRight(part, "0")
			if n < 0 && n > -model.Scale {
				s = "-" + s
			}
		}
		return s
	}
}
