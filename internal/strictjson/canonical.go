package strictjson

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// An InexactError identifies a number that RFC 8785 would change, because its canonical form has only the precision of float64.
type InexactError struct {
	Pointer string // RFC 6901
}

func (e *InexactError) Error() string {
	return fmt.Sprintf("the number at %q cannot be represented in RFC 8785, because float64 cannot represent it exactly: send it as a string", e.Pointer)
}

// Canonical returns the RFC 8785 form of a tree that Decode made. If the canonical form would change the value of a number, it returns an
// *InexactError for one such number.
func Canonical(v any) ([]byte, error) {
	if err := Exact(v); err != nil {
		return nil, err
	}
	if out, err := canonical.value(make([]byte, 0, plainSize), v); err == nil {
		return out, nil
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding JSON: %w", err)
	}
	out, err := jcs.Transform(plain)
	if err != nil {
		return nil, fmt.Errorf("canonicalizing JSON: %w", err)
	}
	return out, nil
}

// Exact returns an *InexactError for one of the numbers in the tree that RFC 8785 would change; nil if there is none.
func Exact(v any) error { return exact(v, "") }

func exact(v any, pointer string) error {
	switch v := v.(type) {
	case Object:
		return exact(map[string]any(v), pointer)
	case map[string]any:
		for name, member := range v {
			if isExact(member) {
				continue
			}
			if err := exact(member, pointer+"/"+Escape(name)); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
			if isExact(item) {
				continue
			}
			if err := exact(item, pointer+"/"+strconv.Itoa(i)); err != nil {
				return err
			}
		}
	case json.Number:
		if !exactInFloat64(string(v)) {
			return &InexactError{Pointer: pointer}
		}
	}
	return nil
}

// isExact reports whether a value needs no further check by exact, for which the caller would have to build a pointer.
func isExact(v any) bool {
	switch v := v.(type) {
	case map[string]any, Object, []any:
		return false
	case json.Number:
		return exactInFloat64(string(v))
	default:
		return true
	}
}

// exactInFloat64 reports whether the number has the same value as the shortest decimal form of its float64, which RFC 8785 section 3.2.2.3
// prints.
func exactInFloat64(n string) bool {
	if few(n) {
		return true
	}
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return false
	}
	want, ok := new(big.Rat).SetString(n)
	if !ok {
		return false
	}
	got, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'e', -1, 64))
	return ok && want.Cmp(got) == 0
}

// few reports whether a number has at most 15 digits and no exponent. float64 distinguishes all such numbers, so the shortest decimal form
// of the number's float64 has the same value.
func few(n string) bool {
	digits := 0
	for i := range len(n) {
		switch c := n[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c != '.' && c != '-':
			return false
		}
	}
	return digits > 0 && digits <= 15
}

// plainSize is large enough for the canonical form of most trees.
const plainSize = 256

// AppendCanonicalText appends a string as RFC 8785 encodes it: with the shortest escapes, and U+FFFD for invalid UTF-8.
func AppendCanonicalText(out []byte, s string) []byte {
	if out, err := canonical.text(out, s); err == nil {
		return out
	}
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r >= ' ':
			out = utf8.AppendRune(out, r)
		case r == '\b':
			out = append(out, `\b`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\f':
			out = append(out, `\f`...)
		case r == '\r':
			out = append(out, `\r`...)
		default:
			out = append(out, `\u00`...)
			out = append(out, hex[r>>4], hex[r&0xf])
		}
	}
	return append(out, '"')
}
