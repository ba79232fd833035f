package plan

import (
	"cmp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A planKind is the kind of a value. As in Rego, a value of a lower kind is less than any value of a higher kind.
type planKind uint8

const (
	undefined planKind = iota
	aNull
	aBoolean
	aNumber
	aText
	anArray
	anObject
)

// A value is a JSON value in a plan. Numbers are the integers of the normal form. list has the elements of an array, or the members of an
// object, each name before its value.
type value struct {
	kind planKind
	n    int64  // a number; 1 for true; the identity of an opaque string, which is not 0
	s    string // a string
	list []value
}

// size returns the number of elements or members.
func (v *value) size() int {
	if v.kind == anObject {
		return len(v.list) / 2
	}
	return len(v.list)
}

// element returns the i-th element, or the value of the i-th member.
func (v *value) element(i int) *value {
	if v.kind == anObject {
		return &v.list[2*i+1]
	}
	return &v.list[i]
}

// at returns the value under a key, or nil.
func (v *value) at(key *value) *value {
	switch {
	case v.kind == anArray && key.kind == aNumber && key.n >= 0 && key.n < int64(len(v.list)):
		return &v.list[key.n]
	case v.kind == anObject && key.kind == aText:
		for i := 0; i < len(v.list); i += 2 {
			if v.list[i].s == key.s {
				return &v.list[i+1]
			}
		}
	}
	return nil
}

func (v *value) equal(w *value) bool {
	if v.kind != w.kind || v.n != w.n || v.s != w.s || len(v.list) != len(w.list) {
		return false
	}
	for i := range v.list {
		if !v.list[i].equal(&w.list[i]) {
			return false
		}
	}
	return true
}

// order compares values as Rego does. It returns false if a plan cannot compare them.
func (v *value) order(w *value) (int, bool) {
	if v.kind != w.kind {
		return cmp.Compare(v.kind, w.kind), true
	}
	switch v.kind {
	case aBoolean, aNumber:
		return cmp.Compare(v.n, w.n), true
	case aText:
		return strings.Compare(v.s, w.s), v.n == 0 && w.n == 0
	case anArray:
		for i := range min(len(v.list), len(w.list)) {
			if c, ok := v.list[i].order(&w.list[i]); c != 0 || !ok {
				return c, ok
			}
		}
		return cmp.Compare(len(v.list), len(w.list)), true
	case anObject:
		return 0, false
	default:
		return 0, true
	}
}

// valueOf converts one of OPA's values. It returns false for fractions, numbers beyond 64 bits, sets, and objects with keys that are not
// strings.
func valueOf(v ast.Value) (value, bool) {
	switch v := v.(type) {
	case ast.Null:
		return value{kind: aNull}, true
	case ast.Boolean:
		if v {
			return value{kind: aBoolean, n: 1}, true
		}
		return value{kind: aBoolean}, true
	case ast.Number:
		n, ok := v.Int64()
		return value{kind: aNumber, n: n}, ok
	case ast.String:
		return value{kind: aText, s: string(v)}, true
	case *ast.Array:
		out := value{kind: anArray, list: make([]value, 0, v.Len())}
		ok := !v.Until(func(t *ast.Term) bool {
			x, ok := valueOf(t.Value)
			out.list = append(out.list, x)
			return !ok
		})
		return out, ok
	case ast.Object:
		out := value{kind: anObject, list: make([]value, 0, 2*v.Len())}
		ok := !v.Until(func(k, t *ast.Term) bool {
			name, isText := k.Value.(ast.String)
			x, ok := valueOf(t.Value)
			out.list = append(out.list, value{kind: aText, s: string(name)}, x)
			return !ok || !isText
		})
		return out, ok
	default:
		return value{}, false
	}
}

// term returns v as OPA's value; v must not be an opaque string.
func (v *value) term() *ast.Term {
	switch v.kind {
	case aBoolean:
		return ast.InternedTerm(v.n == 1)
	case aNumber:
		return IntTerm(v.n)
	case aText:
		return ast.StringTerm(v.s)
	case anArray:
		list := make([]*ast.Term, 0, len(v.list))
		for i := range v.list {
			list = append(list, v.list[i].term())
		}
		return ast.ArrayTerm(list...)
	default:
		return ast.NullTerm()
	}
}
