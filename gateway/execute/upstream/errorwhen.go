package upstream

import (
	"bytes"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/strictjson"
)

// isRefusal reports whether a response is a refusal. A response that is not acceptable JSON is not a refusal.
func isRefusal(w config.ErrorWhen, answer []byte) bool {
	if w.Pointer == "" || answer == nil {
		return false
	}
	there, ok := valueAt(answer, w.Pointer)
	switch {
	case !ok:
		return false
	case !w.Equals.IsEmpty():
		return same(w.Equals.Tree(), there)
	default:
		return says(there)
	}
}

// maxSign is the maximum length, in bytes, of a value in a response that is compared with a configured value.
const maxSign = 64 << 10

// valueAt returns the value at a JSON pointer in a response, if the value is acceptable JSON. If the value is longer than maxSign, valueAt
// returns its first bytes as a string.
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

// same reports whether two values are equal. It compares numbers by value if RFC 8785 can represent them exactly, otherwise by text.
func same(a, b any) bool {
	if strictjson.Kind(a) != strictjson.Kind(b) {
		return false
	}
	x, errX := strictjson.Canonical(a)
	y, errY := strictjson.Canonical(b)
	if errX != nil || errY != nil { // numbers that RFC 8785 cannot represent
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
