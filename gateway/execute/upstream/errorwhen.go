package upstream

import (
	"bytes"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// An ErrorWhen says which answers with a 2xx status are refusals, for services that say no with 200. The zero value: none.
type ErrorWhen struct {
	Pointer string // RFC 6901, into the answer; empty: no answer is a refusal
	// Equals is the value there of a refusal, where HasEquals; otherwise any but null, false, 0, an empty text, list or
	// object.
	Equals    any
	HasEquals bool
	Message   string // where the message is, likewise; empty: where services usually have it
}

// in reports whether an answer is a refusal.
func (w ErrorWhen) in(body any) bool {
	if w.Pointer == "" {
		return false
	}
	there, ok := strictjson.Lookup(body, w.Pointer)
	switch {
	case !ok:
		return false
	case w.HasEquals:
		return same(w.Equals, there)
	default:
		return says(there)
	}
}

// same reports whether two values are equal; numbers by what they are, as far as that can be told exactly.
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
