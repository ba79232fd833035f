package schema

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// identity holds the keywords about equality: enum, const and uniqueItems. It compares values by their canonical text, so the cost for a
// list is proportional to the size of the list, whatever the list contains.
type identity struct {
	enum     map[string]bool
	constant string
	isConst  bool
	unique   bool
}

func newIdentity(m map[string]any) *identity {
	var out identity
	unbounded := &Meter{left: math.MaxInt}
	if list, ok := m["enum"].([]any); ok {
		out.enum = make(map[string]bool, len(list))
		for _, v := range list {
			out.enum[string(appendIdentity(nil, v, unbounded))] = true
		}
	}
	if v, ok := m["const"]; ok {
		out.isConst, out.constant = true, string(appendIdentity(nil, v, unbounded))
	}
	out.unique, _ = m["uniqueItems"].(bool)
	if out.enum == nil && !out.isConst && !out.unique {
		return nil
	}
	return &out
}

// hold adds a fault to r for every keyword that the value violates.
func (d *identity) hold(v any, c *check, at *Path, r *Report) {
	if d == nil {
		return
	}
	if d.enum != nil || d.isConst {
		var space [64]byte // large enough for most values
		text := appendIdentity(space[:0], v, &r.meter)
		if d.enum != nil && !d.enum[string(text)] {
			r.breaks(c, "enum", at)
		}
		if d.isConst && d.constant != string(text) {
			r.breaks(c, "const", at)
		}
	}
	items, ok := v.([]any)
	if !ok || !d.unique || !r.take(stepsOfUnique*len(items)) {
		return
	}
	seen := make(map[string]struct{}, len(items))
	for _, item := range items {
		r.text = appendIdentity(r.text[:0], item, &r.meter)
		if _, twice := seen[string(r.text)]; twice {
			r.breaks(c, "uniqueItems", at)
			return
		}
		seen[string(r.text)] = struct{}{}
	}
}

// appendIdentity appends the canonical text of a value that checkTree has accepted. Two values have the same text if and only if they are
// equal (core 4.2.2): 1, 1.0 and 10e-1 are equal. The text is meaningless once m is exhausted.
func appendIdentity(b []byte, v any, m *Meter) []byte {
	if !m.take(stepsOfIdentity) {
		return b
	}
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		if !m.takeText(0, v) {
			return b
		}
		return appendText(append(b, 's'), v)
	case json.Number:
		if !m.take(len(v)) {
			return b
		}
		return appendText(append(b, '#'), canonicalNumber(string(v)))
	case []any:
		b = append(strconv.AppendInt(append(b, '['), int64(len(v)), 10), ':')
		for _, item := range v {
			b = appendIdentity(b, item, m)
		}
		return b
	case map[string]any:
		b = append(strconv.AppendInt(append(b, '{'), int64(len(v)), 10), ':')
		if !m.take(sorting(len(v))) {
			return b
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !m.takeText(1, name) {
				return b
			}
			b = appendIdentity(appendText(b, name), v[name], m)
		}
		return b
	default:
		return append(b, '?')
	}
}

func appendText(b []byte, s string) []byte {
	return append(append(strconv.AppendInt(b, int64(len(s)), 10), ':'), s...)
}

// canonicalNumber returns a JSON number as its significant digits, e and a power of ten. It returns "0" for zero.
func canonicalNumber(s string) string {
	if _, ok := small(s); ok && s[len(s)-1] != '0' {
		return s + "e0"
	}
	mantissa, tens, _ := strings.Cut(strings.ReplaceAll(s, "E", "e"), "e")
	exponent, _ := strconv.Atoi(tens) // checkTree has bounded the exponent
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	exponent -= len(fraction)
	short := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(short)
	if negative {
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exponent)
}
