package protocol

import (
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf16"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// appendCanonical appends the form of a tree of strictjson over which all digests of the protocol are made, json.dumps with
// sorted keys of Python: a space behind each comma and colon, ASCII alone, the text of numbers as it was written.
func appendCanonical(out []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		out = append(out, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) { // the order of UTF-8 is that of code points
			if i > 0 {
				out = append(out, ", "...)
			}
			out = append(appendASCII(out, name), ": "...)
			out = appendCanonical(out, v[name])
		}
		return append(out, '}')
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ", "...)
			}
			out = appendCanonical(out, item)
		}
		return append(out, ']')
	case string:
		return appendASCII(out, v)
	case json.Number:
		return append(out, v...)
	case bool:
		if v {
			return append(out, "true"...)
		}
		return append(out, "false"...)
	default: // of strictjson only nil is left
		return append(out, "null"...)
	}
}

// appendASCII appends a string in quotes with everything beyond ASCII, and U+007F, as \u and four lower-case hex digits, in
// pairs of surrogates beyond U+FFFF.
func appendASCII(out []byte, s string) []byte {
	quoted, err := strictjson.Append(nil, s)
	if err != nil {
		return append(out, `""`...) // a string can always be written
	}
	for _, r := range string(quoted) {
		switch {
		case r < 0x7f:
			out = append(out, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = appendUnit(appendUnit(out, high), low)
		default:
			out = appendUnit(out, r)
		}
	}
	return out
}

func appendUnit(out []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(out, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}
