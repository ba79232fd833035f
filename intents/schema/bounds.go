package schema

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A kind is a set of JSON types.
type kind uint8

const (
	nullKind kind = 1 << iota
	boolKind
	textKind
	numberKind
	integerKind // numbers without fraction
	listKind
	objectKind
)

var kindNames = map[string]kind{
	"null": nullKind, "boolean": boolKind, "string": textKind, "number": numberKind, "integer": integerKind, "array": listKind,
	"object": objectKind,
}

// kindsNamed returns the types that a value of the keyword type permits.
func kindsNamed(v any) (out kind) {
	if s, ok := v.(string); ok {
		return kindNames[s]
	}
	for _, name := range texts(v) {
		out |= kindNames[name]
	}
	return out
}

func (k kind) has(v any, m *Meter) bool {
	switch v := v.(type) {
	case nil:
		return k&nullKind != 0
	case bool:
		return k&boolKind != 0
	case string:
		return k&textKind != 0
	case []any:
		return k&listKind != 0
	case map[string]any:
		return k&objectKind != 0
	case json.Number:
		return k&numberKind != 0 || k&integerKind != 0 && isWhole(string(v), m)
	default:
		return false
	}
}

// isWhole reports whether a number is an integer; 1.0 and 10e-1 are integers. It returns false once m is exhausted.
func isWhole(s string, m *Meter) bool {
	if _, ok := small(s); ok {
		return true
	}
	if !m.take(2*stepsOfIdentity + len(s)/2) {
		return false
	}
	_, exponent, _ := strings.Cut(canonicalNumber(s), "e")
	return !strings.HasPrefix(exponent, "-")
}

// small parses an integer of at most 18 characters that has only digits and an optional minus sign.
func small(s string) (int64, bool) {
	if len(s) > 18 || digits(strings.TrimPrefix(s, "-")) != len(strings.TrimPrefix(s, "-")) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// short parses a number that has no exponent, and at most 18 characters before the decimal point. n is its integer part. rest is 1 if the
// exact number is above n, -1 if it is below n, and 0 if they are equal.
func short(s string) (n int64, rest int, ok bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if n, ok = small(whole); !ok || digits(fraction) != len(fraction) {
		return 0, 0, false
	}
	switch {
	case strings.Trim(fraction, "0") == "":
		return n, 0, true
	case whole[0] == '-':
		return n, -1, true
	default:
		return n, 1, true
	}
}

// bounds holds the keywords that restrict a value itself and not the values inside it, except the keywords in identity.
type bounds struct {
	numbers           []numberBound
	minLength         int // in characters; here and below, -1 means no bound
	maxLength         int
	minItems          int
	maxItems          int
	minProperties     int
	maxProperties     int
	pattern           *pattern
	format            func(any) bool
	formatCost        formatCost
	dependentRequired []dependency
}

type dependency struct {
	name  string
	names []string
}

// A numberBound is a keyword that compares numbers with a limit.
type numberBound struct {
	keyword string
	limit   *big.Rat
	whole   int64 // the limit, if isWhole is true
	isWhole bool
	digits  int // the magnitude of the limit
}

var numberKeywords = []string{"exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"}

func (c *compiler) newBounds(m map[string]any) *bounds {
	out := bounds{
		minLength: countOf(m, "minLength"), maxLength: countOf(m, "maxLength"), minItems: countOf(m, "minItems"),
		maxItems: countOf(m, "maxItems"), minProperties: countOf(m, "minProperties"), maxProperties: countOf(m, "maxProperties"),
	}
	some := max(out.minLength, out.maxLength, out.minItems, out.maxItems, out.minProperties, out.maxProperties) >= 0
	for _, keyword := range numberKeywords {
		if limit, ok := rational(m, keyword); ok {
			text, _ := m[keyword].(json.Number)
			b := numberBound{keyword: keyword, limit: limit, digits: magnitude(string(text))}
			b.whole, b.isWhole = small(string(text))
			out.numbers = append(out.numbers, b)
		}
	}
	if text, ok := m["pattern"].(string); ok {
		out.pattern = c.pattern(text)
	}
	if name, ok := m["format"].(string); ok {
		out.format, out.formatCost = formats[name], costOfFormat(name)
	}
	if named, ok := m["dependentRequired"].(map[string]any); ok {
		for _, name := range slices.Sorted(maps.Keys(named)) {
			out.dependentRequired = append(out.dependentRequired, dependency{name, texts(named[name])})
		}
	}
	if !some && out.numbers == nil && out.pattern == nil && out.format == nil && out.dependentRequired == nil {
		return nil
	}
	return &out
}

// hold adds a fault to r for every keyword that the value violates.
func (b *bounds) hold(v any, c *check, at *Path, r *Report) {
	if b == nil {
		return
	}
	if b.format != nil && r.take(b.formatCost.of(v)) && !b.format(v) {
		r.breaks(c, "format", at)
	}
	switch v := v.(type) {
	case json.Number:
		b.number(string(v), c, at, r)
	case string:
		b.string(v, c, at, r)
	case []any:
		outside(len(v), b.minItems, b.maxItems, "minItems", "maxItems", c, at, r)
	case map[string]any:
		for _, d := range b.dependentRequired {
			if _, ok := v[d.name]; !ok {
				continue
			}
			if slices.ContainsFunc(d.names, func(name string) bool { _, ok := v[name]; return !ok }) {
				r.addAt(fault{kind: missingDependent}, at)
				break
			}
		}
		outside(len(v), b.minProperties, b.maxProperties, "minProperties", "maxProperties", c, at, r)
	}
}

func outside(n, least, most int, below, above string, c *check, at *Path, r *Report) {
	if most >= 0 && n > most {
		r.breaks(c, above, at)
	}
	if n < least {
		r.breaks(c, below, at)
	}
}

func (b *bounds) string(s string, c *check, at *Path, r *Report) {
	if b.minLength >= 0 || b.maxLength >= 0 {
		n, known := b.length(s)
		if !known {
			if !r.meter.takeText(1, s) {
				return
			}
			n = utf8.RuneCountInString(s)
		}
		outside(n, b.minLength, b.maxLength, "minLength", "maxLength", c, at, r)
		if b.maxLength >= 0 && n > b.maxLength {
			return // do not match the pattern against a string that is too long
		}
	}
	if b.pattern != nil && !b.pattern.match(s, &r.meter) {
		r.breaks(c, "pattern", at)
	}
}

// length returns a number of characters for which minLength and maxLength have the same result as for the length of s. It derives the
// number from the size of s: a string has at most one character for each byte, and at least one for every four bytes. known is false if the
// size does not determine the result.
func (b *bounds) length(s string) (n int, known bool) {
	most, least := len(s), (len(s)+utf8.UTFMax-1)/utf8.UTFMax
	switch {
	case b.maxLength >= 0 && least > b.maxLength:
		return least, true
	case (b.maxLength < 0 || most <= b.maxLength) && least >= b.minLength:
		return least, true
	default:
		return 0, false
	}
}

func (b *bounds) number(s string, c *check, at *Path, r *Report) {
	n, rest, isShort := short(s)
	var exact *big.Rat
	for _, one := range b.numbers {
		if isShort && one.isWhole && (rest == 0 || one.keyword != "multipleOf") {
			if one.breaksShort(n, rest) {
				r.breaks(c, one.keyword, at)
			}
			continue
		}
		if !r.take(stepsOfRational(magnitude(s) + one.digits)) {
			return
		}
		if exact == nil {
			var ok bool
			if exact, ok = new(big.Rat).SetString(s); !ok {
				r.breaks(c, one.keyword, at) // unreachable: checkTree rejects such a number
				return
			}
		}
		if one.breaks(exact) {
			r.breaks(c, one.keyword, at)
		}
	}
}

// breaksShort is like breaks, for a number in the form that short returns.
func (b *numberBound) breaksShort(n int64, rest int) bool {
	if b.keyword == "multipleOf" {
		return n%b.whole != 0 // multipleOf is positive
	}
	return b.beyond(cmp.Or(cmp.Compare(n, b.whole), rest))
}

func (b *numberBound) breaks(n *big.Rat) bool {
	if b.keyword == "multipleOf" {
		return !new(big.Rat).Quo(n, b.limit).IsInt()
	}
	return b.beyond(n.Cmp(b.limit))
}

func (b *numberBound) beyond(order int) bool {
	switch b.keyword {
	case "maximum":
		return order > 0
	case "exclusiveMaximum":
		return order >= 0
	case "minimum":
		return order < 0
	default:
		return order <= 0
	}
}

// magnitude estimates the number of decimal digits of a fraction with the value of the number s.
func magnitude(s string) int {
	n := len(s)
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exponent, _ := strconv.Atoi(s[i+1:])
		n += max(exponent, -exponent)
	}
	return n
}
