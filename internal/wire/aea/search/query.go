package search

import (
	"fmt"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// A Query is a conjunction of constraints; without any it matches everything, which the framework deprecates. On the wire it is a Model.
type Query struct {
	Constraints []Expr
	Model       *DataModel // may be nil; otherwise every constraint must fit it
}

// An Expr is one of And, Or, Not and Constraint.
type Expr interface {
	append(out []byte) []byte // as a member of the oneof
	holds(a Attributes) bool
	fits(m map[string]Type) bool
	mentions(attribute string) bool
}

// And holds if all of its parts do. It has two or more.
type And []Expr

// Or holds if one of its parts does. It has two or more.
type Or []Expr

// Not holds if its part does not.
type Not struct{ Expr Expr }

// A Constraint holds for things with an attribute of this name whose value passes the test.
type Constraint struct {
	Attribute string
	Test      Test
}

// DecodeQuery decodes a query; no bytes mean an empty one. Like agents, it rejects an and or an or with less than two parts, a set
// without values, and a constraint on an attribute that the query's own model does not have or has with another type. It also rejects a
// query beyond the bounds.
func DecodeQuery(data []byte) (Query, error) {
	var q Query
	d := decoder{nodes: MaxNodes, values: MaxValues}
	r := field.Read(data)
	for r.Next() {
		switch r.Number() {
		case 1:
			e, err := d.expr(r.Each(MaxNodes, wire.MaxEnvelope), MaxDepth)
			r.Within(err)
			q.Constraints = append(q.Constraints, e)
		case 2:
			model, err := decodeModel(r.Bytes(wire.MaxEnvelope))
			r.Within(err)
			q.Model = &model
		}
	}
	if err := r.Err(); err != nil {
		return Query{}, fmt.Errorf("query: %w", err)
	}
	if q.Model != nil && !And(q.Constraints).fits(q.Model.types()) {
		return Query{}, fmt.Errorf("%w: query: a constraint that does not fit the model", wire.ErrUndecodable)
	}
	return q, nil
}

func (m DataModel) types() map[string]Type {
	types := map[string]Type{}
	for _, a := range m.Attributes {
		types[a.Name] = a.Type
	}
	return types
}

func (e And) fits(m map[string]Type) bool {
	for _, part := range e {
		if !part.fits(m) {
			return false
		}
	}
	return true
}

func (e Or) fits(m map[string]Type) bool  { return And(e).fits(m) }
func (e Not) fits(m map[string]Type) bool { return e.Expr.fits(m) }

func (e Constraint) fits(m map[string]Type) bool {
	kind, known := m[e.Attribute]
	return known && kind == e.Test.operand()
}

// A decoder counts how much of its bounds a query has used.
type decoder struct{ nodes, values int }

// expr decodes an expression with at most depth nested ones.
func (d *decoder) expr(data []byte, depth int) (e Expr, err error) {
	if d.nodes--; d.nodes < 0 {
		return nil, fmt.Errorf("%w: too many constraints", wire.ErrUndecodable)
	}
	r := field.Read(data)
	for r.Next() {
		if r.Number() > 4 {
			continue
		}
		r.Choose()
		inner := r.Bytes(wire.MaxEnvelope)
		switch r.Number() {
		case 1, 2:
			var parts []Expr
			if parts, err = d.parts(inner, depth-1); r.Number() == 1 {
				e = Or(parts)
			} else {
				e = And(parts)
			}
			if err == nil && len(parts) < 2 {
				r.Fail("less than two parts")
			}
		case 3:
			var parts []Expr
			if parts, err = d.parts(inner, depth-1); err == nil && len(parts) == 1 {
				e = Not{parts[0]}
			} else {
				r.Within(err)
				r.Fail("not one part")
			}
		case 4:
			e, err = d.constraint(inner)
		}
		r.Within(err)
	}
	r.Chosen()
	if err := r.Err(); err != nil {
		return nil, err
	}
	return e, nil
}

// parts decodes the operands of and, or and not.
func (d *decoder) parts(data []byte, depth int) (parts []Expr, err error) {
	if depth < 0 {
		return nil, fmt.Errorf("%w: too deep", wire.ErrUndecodable)
	}
	r := field.Read(data)
	for r.Next() {
		if r.Number() == 1 {
			e, err := d.expr(r.Each(MaxNodes, wire.MaxEnvelope), depth)
			r.Within(err)
			parts = append(parts, e)
		}
	}
	return parts, r.Err()
}

// Encode returns the bytes of the query. It does not check its bounds.
func (q Query) Encode() []byte {
	out := encodeAll(q.Constraints)
	if q.Model != nil {
		out = field.AppendMember(out, 2, q.Model.encode())
	}
	return out
}

func encodeAll(parts []Expr) (out []byte) {
	for _, e := range parts {
		out = field.AppendMember(out, 1, e.append(nil))
	}
	return out
}

func (e Or) append(out []byte) []byte  { return field.AppendMember(out, 1, encodeAll(e)) }
func (e And) append(out []byte) []byte { return field.AppendMember(out, 2, encodeAll(e)) }
func (e Not) append(out []byte) []byte { return field.AppendMember(out, 3, encodeAll([]Expr{e.Expr})) }

func (e Constraint) append(out []byte) []byte {
	return field.AppendMember(out, 4, e.Test.append(field.AppendText(nil, 1, e.Attribute)))
}
