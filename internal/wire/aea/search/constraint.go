package search

import (
	"fmt"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// A Test is the condition that a Constraint sets for a value: a Relation, Range, Set or Distance. A value passes only if its type is the
// type of the operand.
type Test interface {
	operand() Type
	negative() bool           // whether all values of an attribute must pass
	holds(v Value) bool       // v has the type of the operand
	append(out []byte) []byte // as a member of the oneof
}

// An Operator compares a value with the operand of a Relation.
type Operator int

// The operators. Booleans and locations have no order, so they pass only tests with Equal or NotEqual. Text is compared byte by byte.
const (
	Equal          Operator = 0
	Less           Operator = 1
	LessOrEqual    Operator = 2
	Greater        Operator = 3
	GreaterOrEqual Operator = 4
	NotEqual       Operator = 5
)

// A Relation compares a value with its operand.
type Relation struct {
	Operator Operator
	Value    Value
}

// A Range holds for values from First to Last, both included. Both have the same type; the wire format has no ranges of booleans.
type Range struct{ First, Last Value }

// A Set holds for its values or, if Not is set, for all other values. It has at least one value, and all values have the same type.
type Set struct {
	Not    bool
	Values []Value
}

// A Distance holds for locations that are at most the given number of kilometres from the center.
type Distance struct {
	Center     Location
	Kilometres float64
}

func (d *decoder) constraint(data []byte) (Expr, error) {
	var c Constraint
	var err error
	r := field.Read(data)
	for r.Next() {
		if r.Number() == 1 {
			c.Attribute = r.Text(MaxName)
		}
		if r.Number() < 2 || r.Number() > 5 {
			continue
		}
		r.Choose()
		inner := r.Bytes(wire.MaxEnvelope)
		switch r.Number() {
		case 2:
			c.Test, err = d.set(inner)
		case 3:
			c.Test, err = decodeRange(inner)
		case 4:
			c.Test, err = decodeRelation(inner)
		case 5:
			c.Test, err = decodeDistance(inner)
		}
		r.Within(err)
	}
	r.Chosen()
	return c, r.Err()
}

func (d *decoder) set(data []byte) (Test, error) {
	var s Set
	var err error
	r := field.Read(data)
	for r.Next() {
		switch r.Number() {
		case 1:
			s.Not = r.Enum(1) == 1
		case 2:
			s.Values, err = decodeValues(r.Bytes(wire.MaxEnvelope), d.values)
			r.Within(err)
		}
	}
	if r.Err() == nil && len(s.Values) == 0 {
		return nil, fmt.Errorf("%w: a set has no values", wire.ErrUndecodable)
	}
	d.values -= len(s.Values)
	return s, r.Err()
}

func decodeRelation(data []byte) (Test, error) {
	var s Relation
	err := field.Decode(data, s.fields()...)
	if err == nil && s.Value == nil {
		err = fmt.Errorf("%w: a relation has no value", wire.ErrUndecodable)
	}
	return s, err
}

func (s *Relation) fields() []field.Field {
	return []field.Field{field.EnumOf(1, &s.Operator, NotEqual), valueOf(2, &s.Value)}
}

func decodeDistance(data []byte) (Test, error) {
	var s Distance
	err := field.Decode(data, s.fields()...)
	return s, err
}

func (s *Distance) fields() []field.Field {
	return []field.Field{field.MessageOf(1, MaxText, s.Center.fields()...), field.DoubleOf(2, &s.Kilometres)}
}

// pairs contains the types of ranges, indexed by their field numbers.
var pairs = [...]Type{1: TypeString, 2: TypeInt, 3: TypeDouble, 4: TypeLocation}

func decodeRange(data []byte) (Test, error) {
	var s Range
	r := field.Read(data)
	for r.Next() {
		if r.Number() >= len(pairs) {
			continue
		}
		r.Choose()
		kind := pairs[r.Number()]
		in := field.Read(r.Bytes(wire.MaxEnvelope))
		s = Range{First: zero(kind), Last: zero(kind)}
		for in.Next() {
			switch in.Number() {
			case 1:
				s.First = readEnd(in, kind)
			case 2:
				s.Last = readEnd(in, kind)
			}
		}
		r.Within(in.Err())
	}
	r.Chosen()
	return s, r.Err()
}

// zero returns the value that is omitted on the wire.
func zero(kind Type) Value {
	switch kind {
	case TypeString:
		return Text("")
	case TypeInt:
		return Int(0)
	case TypeDouble:
		return Double(0)
	default:
		return Location{}
	}
}

// readEnd reads one end of a range.
func readEnd(r *field.Reader, kind Type) Value {
	switch kind {
	case TypeString:
		return Text(r.Text(MaxText))
	case TypeInt:
		return Int(r.Int64())
	case TypeDouble:
		return Double(r.Double())
	default:
		place, err := decodeLocation(r.Bytes(MaxText))
		r.Within(err)
		return place
	}
}

func appendEnd(out []byte, number int, v Value) []byte {
	switch v := v.(type) {
	case Text:
		return field.AppendText(out, number, string(v))
	case Int:
		return field.AppendInt(out, number, int64(v))
	case Double:
		return field.AppendDouble(out, number, float64(v))
	case Location:
		return field.AppendMember(out, number, v.encode())
	}
	return out
}

func (s Set) append(out []byte) []byte {
	return field.AppendMember(out, 2, field.AppendMember(field.AppendInt(nil, 1, field.Int(s.Not)), 2, encodeValues(s.Values)))
}

func (s Range) append(out []byte) []byte {
	number := 0
	for n, kind := range pairs {
		if n > 0 && kind == s.First.Type() {
			number = n
		}
	}
	return field.AppendMember(out, 3, field.AppendMember(nil, number, appendEnd(appendEnd(nil, 1, s.First), 2, s.Last)))
}

func (s Relation) append(out []byte) []byte {
	return field.AppendMember(out, 4, field.Encode(s.fields()...))
}

func (s Distance) append(out []byte) []byte {
	return field.AppendMember(out, 5, field.Encode(s.fields()...))
}
