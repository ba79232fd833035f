package upstream

import (
	"bytes"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// An ErrorWhen describes which responses with a 2xx status are refusals, for services that refuse with 200. The zero value describes
// none.
type ErrorWhen struct {
	Pointer string // RFC 6901, into the response; empty: no response is a refusal
	// Equals is the value there of a refusal, if HasEquals; otherwise any value except null, false, 0, an empty text, list or object.
	Equals    any
	HasEquals bool
	Message   string // pointer to the message; empty: where services usually have it
}

// in reports whether a response is a refusal. An unacceptable response is not.
func (w ErrorWhen) in(answer []byte) bool {
	if w.Pointer == "" || answer == nil {
		return false
	}
	there, ok := valueAt(answer, w.Pointer)
	switch {
	case !ok:
		return false
	case w.HasEquals:
		return same(w.Equals, there)
	default:
		return says(there)
	}
}

// maxSign bounds the values in responses, in bytes, that are compared with one of the operator's.
const maxSign = 64 << 10

// valueAt returns the value at a JSON pointer in a response, if that is acceptable JSON. A value longer than maxSign is returned as a
// text of its bytes.
func valueAt(answer []byte, pointer string) (v any, ok bool) {
	raw, ok := strictjson.Find(answer, pointer)
	if !ok {
		return nil, false
	}
	if len(raw) > maxSign {
		return string(raw[:maxSign]), true
	}
	v, err := strictjson.Decode(raw)
	return v, err == nil
}

// same reports whether two values are equal. It compares numbers by value, as far as that is exact.
func same(a, b any) bool {
	if strictjson.Kind(a) != strictjson.Kind(b) {
		return false
	}
	x, errX := strictjson.Canonical(a)
	y, errY := strictjson.Canonical(b)
	if errX != nil || errY != nil { // numbers that RFC 8785 cannot write
		textA, _ := strictjson.ScalarText(a)
		textB, _ := strictjson.ScalarText(b)
		return textA != "" && textA == textB
	}
	return bytes.Equal(x, y)
}

func says(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		text, _ := strictjson.ScalarText(v)
		return text != "" && text != "false" && text != "0"
	}
}
