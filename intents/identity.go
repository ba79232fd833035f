package intents

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// identity holds the keywords about equality: enum, const and uniqueItems. The library compares each pair again, with
// rational numbers, and collisions of its hash of a list are easy to construct. Here each value has one text, so that
// the cost of a list is proportional to its length, for any content.
type identity struct {
	enum     map[string]bool
	list     []any // enum as written in the schema
	constant string
	value    any // const as written in the schema
	isConst  bool
	unique   bool
}

var identityKeywords = map[string]bool{"enum": true, "const": true, "uniqueItems": true}

func newIdentity(m map[string]any) (out identity) {
	if list, ok := m["enum"].([]any); ok {
		out.list, out.enum = list, make(map[string]bool, len(list))
		for _, v := range list {
			out.enum[string(appendIdentity(nil, v))] = true
		}
	}
	if v, ok := m["const"]; ok {
		out.isConst, out.value, out.constant = true, v, string(appendIdentity(nil, v))
	}
	out.unique, _ = m["uniqueItems"].(bool)
	return out
}

func (d *identity) validate(v any, nullable bool, at *path, r *report) {
	if d.enum != nil || d.isConst {
		text := appendIdentity(nil, v)
		if d.enum != nil && !d.enum[string(text)] {
			list := d.list
			if nullable {
				list = append(slices.Clone(list), nil)
			}
			r.add(violated("enum", cutList(list), at.String()))
		}
		if d.isConst && d.constant != string(text) {
			r.add(violated("const", d.value, at.String()))
		}
	}
	items, ok := v.([]any)
	if !ok || !d.unique {
		return
	}
	seen := make(map[string]bool, len(items))
	for _, item := range items {
		text := string(appendIdentity(nil, item))
		if seen[text] {
			r.add(violated("uniqueItems", nil, at.String()))
			return
		}
		seen[text] = true
	}
}

// appendIdentity appends a text that is the same for two checked values exactly if they are equal (core 4.2.2): 1, 1.0
// and 10e-1 are.
func appendIdentity(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, 'n')
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		return appendText(append(b, 's'), v)
	case json.Number:
		return appendText(append(b, '#'), canonicalNumber(string(v)))
	case []any:
		b = append(strconv.AppendInt(append(b, '['), int64(len(v)), 10), ':')
		for _, item := range v {
			b = appendIdentity(b, item)
		}
		return b
	case map[string]any:
		b = append(strconv.AppendInt(append(b, '{'), int64(len(v)), 10), ':')
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b = appendIdentity(appendText(b, name), v[name])
		}
		return b
	default:
		return append(b, '?')
	}
}

func appendText(b []byte, s string) []byte {
	return append(append(strconv.AppendInt(b, int64(len(s)), 10), ':'), s...)
}

// canonicalNumber writes a JSON number as its significant digits and a power of ten.
func canonicalNumber(s string) string {
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
