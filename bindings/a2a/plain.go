package a2a

import (
	"encoding/json"
	"strings"
	"unicode"
)

// plain reports whether all readers derive the same signed bytes from a value: strings, lists and objects are not empty, numbers are
// integers that a double represents exactly, and names are ASCII. Null is not plain.
func plain(v any) bool {
	const digits = 15 // a double represents every integer of 15 digits exactly
	switch v := v.(type) {
	case string:
		return v != ""
	case json.Number:
		text := strings.TrimPrefix(string(v), "-")
		return len(text) <= digits && strings.Trim(text, "0123456789") == "" && string(v) != "-0"
	case []any:
		for _, item := range v {
			if !plain(item) {
				return false
			}
		}
		return len(v) > 0
	case map[string]any:
		for name, member := range v {
			if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) || !plain(member) {
				return false
			}
		}
		return len(v) > 0
	case bool:
		return true
	default: // null and other types
		return false
	}
}
