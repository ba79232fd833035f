package a2a

import (
	"encoding/json"
	"strings"
	"unicode"
)

// plain reports whether every reader makes the same signed bytes of a value: no text, list or object is empty, numbers are integers that
// a double holds, and names are ASCII.
func plain(v any) bool {
	const digits = 15 // of an integer that a double represents exactly
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
