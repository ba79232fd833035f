package protocol

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// appendCanonical appends a strictjson tree in the form that all digests of the protocol cover. This is the output of Python's json.dumps
// with sorted keys: a space after each comma and colon, only ASCII characters, and numbers as written.
func appendCanonical(out []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		out = append(out, '{')
		for i, name := range slices.Sorted(maps.Keys(v)) { // the byte order of UTF-8 is the order of code points
			if i > 0 {
				out = append(out, ", "...)
			}
			out = append(appendText(out, name), ": "...)
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
		return appendText(out, v)
	case json.Number:
		return append(out, v...)
	case bool:
		if v {
			return append(out, "true"...)
		}
		return append(out, "false"...)
	default: // only nil is left
		return append(out, "null"...)
	}
}

// appendText appends a string in quotes and in ASCII.
func appendText(out []byte, s string) []byte {
	quoted, err := strictjson.Append(nil, s)
	if err != nil {
		return append(out, `""`...) // cannot occur: a string can always be encoded
	}
	return strictjson.AppendASCII(out, quoted)
}
