package strictjson

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"

	"github.com/gowebpki/jcs"
)

// An InexactError names a number that RFC 8785 would change: its canonical form goes through float64.
type InexactError struct {
	Pointer string // RFC 6901
}

func (e *InexactError) Error() string {
	return fmt.Sprintf("the number at %q does not survive RFC 8785 (it needs more than float64 holds): send it as a string", e.Pointer)
}

// Canonical returns the RFC 8785 form of a tree that Decode made. The error is an *InexactError for the first number,
// in document order of its pointer, whose value the canonical form would change.
func Canonical(v any) ([]byte, error) {
	if err := Exact(v); err != nil {
		return nil, err
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("writing JSON: %w", err)
	}
	out, err := jcs.Transform(plain)
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	return out, nil
}

// Exact returns an *InexactError for a number in the tree that RFC 8785 would change, or nil.
func Exact(v any) error { return exact(v, "") }

func exact(v any, pointer string) error {
	switch v := v.(type) {
	case Object:
		return exact(map[string]any(v), pointer)
	case map[string]any:
		for name, member := range v {
			if err := exact(member, pointer+"/"+Escape(name)); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range v {
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

// exactInFloat64 reports whether the shortest text of the number's float64 has the value of the written number. RFC
// 8785 section 3.2.2.3 prints that text.
func exactInFloat64(n string) bool {
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
