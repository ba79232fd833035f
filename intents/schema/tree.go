package schema

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxNumberText     = 400 // bytes; as in strictjson, for trees from other decoders
	maxNumberExponent = 400 // positive or negative
	maxPathText       = strictjson.MaxPath
)

// checkTree reports whether a value is a tree that can be processed, and adds a fault to r if it is not. Such a tree has known Go types,
// JSON numbers of bounded size, bounded depth and bounded names. In trees from strictjson, only the names can be invalid; trees from other
// decoders may contain anything.
func checkTree(v any, r *Report, at *Path) bool {
	message := treeFault(v, 1, 0, &r.meter)
	if message != "" {
		r.add(fault{kind: noTree, at: at.String(), name: message})
	}
	return message == "" && !r.meter.Exhausted()
}

// treeFault returns the message for a tree that cannot be processed, or "" if the tree is valid or m is exhausted.
func treeFault(v any, depth, names int, m *Meter) string {
	if !m.take(1) {
		return ""
	}
	switch v := v.(type) {
	case nil, bool, string:
		return ""
	case json.Number:
		if m.takeText(1, string(v)); !isNumber(string(v)) {
			return "contains a number that is not valid JSON or has more than " + strconv.Itoa(maxNumberText) + " digits"
		}
		return ""
	case []any:
		if depth > strictjson.MaxDepth {
			return "is nested deeper than " + strconv.Itoa(strictjson.MaxDepth) + " levels"
		}
		for _, item := range v {
			if fault := treeFault(item, depth+1, names+8, m); fault != "" {
				return fault
			}
		}
		return ""
	case map[string]any:
		if depth > strictjson.MaxDepth {
			return "is nested deeper than " + strconv.Itoa(strictjson.MaxDepth) + " levels"
		}
		for name, member := range v {
			if names+len(name) > maxPathText {
				return "has member names that are too long: the path to a value may have at most " + strconv.Itoa(maxPathText) + " bytes"
			}
			if fault := treeFault(member, depth+1, names+len(name)+1, m); fault != "" {
				return fault
			}
		}
		return ""
	default:
		return "is not a JSON value"
	}
}

// isNumber reports whether s is a JSON number (RFC 8259 section 6) within the bounds above.
func isNumber(s string) bool {
	if len(s) > maxNumberText {
		return false
	}
	rest := strings.TrimPrefix(s, "-")
	whole := digits(rest)
	if whole == 0 || whole > 1 && rest[0] == '0' {
		return false
	}
	rest = rest[whole:]
	if strings.HasPrefix(rest, ".") {
		n := digits(rest[1:])
		if n == 0 {
			return false
		}
		rest = rest[1+n:]
	}
	if rest == "" {
		return true
	}
	if rest[0] != 'e' && rest[0] != 'E' {
		return false
	}
	exponent, err := strconv.Atoi(rest[1:])
	return err == nil && exponent <= maxNumberExponent && exponent >= -maxNumberExponent
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// hasFraction reports whether a number is written with a fraction or an exponent.
func hasFraction(number []byte) bool {
	for _, b := range number {
		if b == '.' || b|0x20 == 'e' {
			return true
		}
	}
	return false
}
