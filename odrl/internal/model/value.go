package model

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/uimgate/uimgate/internal/regex"
)

// DecimalForm matches an xsd:decimal, integer or double.
var DecimalForm = regex.Lazy(`^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$`)

// maxDigits is the maximum length of a number in characters.
const maxDigits = 400

// ParseDecimal parses an xsd:decimal, integer or double exactly. It does not accept NaN or INF.
func ParseDecimal(s string) (*big.Rat, bool) {
	s = strings.TrimSpace(s)
	if len(s) > maxDigits || !DecimalForm().MatchString(s) {
		return nil, false
	}
	return new(big.Rat).SetString(strings.TrimPrefix(s, "+"))
}

// OrderedNumber encodes a number of any size as a list that sorts like the number: its sign, its power of ten, and its digits in groups
// of fifteen. OPA itself compares numbers beyond 64 bits inexactly. OrderedNumber returns false if the number has no finite decimal form
// or too many decimal places.
func OrderedNumber(x *big.Rat) ([]any, bool) {
	sign := int64(x.Sign())
	if sign == 0 {
		return []any{Integer(0)}, true
	}
	digits, exponent, ok := digitsOf(x)
	if !ok {
		return nil, false
	}
	const group = 15
	list := []any{Integer(sign), Integer(sign * exponent)}
	for len(digits) > 0 {
		part := digits[:min(group, len(digits))]
		digits = digits[len(part):]
		n, err := strconv.ParseInt(part+strings.Repeat("0", group-len(part)), 10, 64)
		if err != nil {
			return nil, false
		}
		list = append(list, Integer(sign*n))
	}
	if sign < 0 { // a negative number with more digits is smaller, but a longer list sorts as greater
		list = append(list, Integer(1))
	}
	return list, true
}

// digitsOf returns |x| as 0.digits × 10^exponent, without zeros at either end.
func digitsOf(x *big.Rat) (digits string, exponent int64, ok bool) {
	places, exact := x.FloatPrec()
	if !exact || places > 3*maxDigits {
		return "", 0, false
	}
	whole, fraction, _ := strings.Cut(new(big.Rat).Abs(x).FloatString(places), ".")
	whole = strings.TrimLeft(whole, "0")
	all := whole + fraction
	trimmed := strings.TrimLeft(all, "0")
	return strings.TrimRight(trimmed, "0"), int64(len(whole) - (len(all) - len(trimmed))), true
}

// DurationForm matches an xsd:duration, or a duration in weeks.
var DurationForm = regex.Lazy(`^(-)?P(?:([0-9]{1,9})Y)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})W)?(?:([0-9]{1,9})D)?(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9})(\.[0-9]{1,9})?S)?)?$`)

// durationStarts are the instants to which XML Schema 1.0 part 2, 3.2.6.2, adds durations to compare them.
var durationStarts = []time.Time{
	time.Date(1696, 9, 1, 0, 0, 0, 0, time.UTC), time.Date(1697, 2, 1, 0, 0, 0, 0, time.UTC),
	time.Date(1903, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(1903, 7, 1, 0, 0, 0, 0, time.UTC),
}

// ParseDuration parses an xsd:duration, or a duration in weeks. It returns the four lengths that durations are compared by, one for each of
// durationStarts, in nanoseconds. It returns false if s is not a duration, is longer than 5000 years, or has a length that does not fit in
// an int64.
func ParseDuration(s string) ([]any, bool) {
	m := DurationForm().FindStringSubmatch(s)
	if m == nil || strings.HasSuffix(s, "P") || strings.HasSuffix(s, "T") {
		return nil, false
	}
	part := func(i int) int64 { n, _ := strconv.ParseInt("0"+m[i], 10, 64); return n }
	months := part(2)*12 + part(3)
	seconds := (part(4)*7+part(5))*86400 + part(6)*3600 + part(7)*60 + part(8)
	const longest = 5000
	if months > longest*12 || seconds > longest*366*86400 {
		return nil, false
	}
	fraction := int64(0)
	if m[9] != "" {
		fraction = nanosIn(m[9][1:])
	}
	sign := int64(1)
	if m[1] != "" {
		sign = -1
	}
	list := make([]any, 0, len(durationStarts))
	for _, start := range durationStarts {
		length := start.AddDate(0, int(sign*months), 0).Unix() - start.Unix() + sign*seconds
		x := new(big.Int).Mul(big.NewInt(length), big.NewInt(int64(time.Second)))
		x.Add(x, big.NewInt(sign*fraction))
		if !x.IsInt64() {
			return nil, false
		}
		list = append(list, Integer(x.Int64()))
	}
	return list, true
}

// nanosIn returns the value of the digits after a decimal point in billionths.
func nanosIn(digits string) int64 {
	n, _ := strconv.ParseInt((digits + "000000000")[:9], 10, 64)
	return n
}

var semverForm = regex.Lazy(`^[vV]?([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?$`)

// ParseSemver parses v2, 2.1 or 1.2.3-rc.1 into a list that sorts in the order of Semantic Versioning 2.0.0, section 11.
func ParseSemver(s string) ([]any, bool) {
	const most = 128
	m := semverForm().FindStringSubmatch(s)
	if m == nil || len(s) > most {
		return nil, false
	}
	list := make([]any, 0, 4)
	for i := 1; i <= 3; i++ {
		n, _ := strconv.ParseInt("0"+m[i], 10, 64)
		list = append(list, Integer(n))
	}
	if m[4] == "" {
		return append(list, Integer(1)), true // a release comes after its pre-releases
	}
	list = append(list, Integer(0))
	for id := range strings.SplitSeq(m[4], ".") {
		if n, err := strconv.ParseInt(id, 10, 64); err == nil && id[0] != '-' {
			list = append(list, []any{Integer(0), Integer(n)})
			continue
		}
		list = append(list, []any{Integer(1), id})
	}
	return list, true
}

// Unwrap returns the value inside an object such as {"@value": …}, {"@id": …} or {"uid": …}, up to three levels deep. It returns any
// other value unchanged.
func Unwrap(v any) any {
	for range 3 {
		m, ok := v.(map[string]any)
		if !ok {
			return v
		}
		inner := any(nil)
		for _, k := range []string{"@value", "@id", "uid", "id", "rdf:value"} {
			if x, has := m[k]; has {
				inner = x
				break
			}
		}
		if inner == nil {
			return v
		}
		v = inner
	}
	return v
}

// TextOf returns a string, a number or a time as a string, even if it is wrapped in an object. It returns false for an empty string and for
// any other value.
func TextOf(v any) (string, bool) {
	switch v := Unwrap(v).(type) {
	case string:
		return strings.TrimSpace(v), v != ""
	case json.Number:
		return string(v), true
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), true
	}
	return "", false
}

// Integer returns n as a json.Number.
func Integer(n int64) json.Number { return json.Number(strconv.FormatInt(n, 10)) }

// NameOf returns a string, or the name that an object has as uid or @id. It also accepts a list with one element, and returns "" for nil.
func NameOf(v any) (string, bool) {
	switch v := v.(type) {
	case nil:
		return "", true
	case string:
		return v, true
	case map[string]any:
		for _, k := range []string{"uid", "@id", "id", "rdf:value", "@value"} {
			if inner, ok := v[k]; ok {
				return NameOf(inner)
			}
		}
	case []any:
		if len(v) == 1 {
			return NameOf(v[0])
		}
	}
	return "", false
}

// AsAny returns list as an any, and ok unchanged.
func AsAny(list []any, ok bool) (any, bool) { return list, ok }
