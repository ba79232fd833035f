package search

import (
	"fmt"
	"slices"

	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/internal/field"
)

// A Query is a conjunction of constraints. A query without constraints matches everything; the framework deprecates such queries. On the
// wire it is called a Model.
type Query struct {
	Constraints []Expr
	Model       *DataModel // may be nil; otherwise every constraint must match it
}

// An Expr is one of And, Or, Not and Constraint.
type Expr interface {
	append(out []byte) []byte // as a member of the oneof
	holds(a Source) bool
	tests() int
	fits(m map[string]Type) bool
	mentions(attribute string) bool
}

// And holds if all of its parts hold. It has at least two parts.
type And []Expr

// Or holds if at least one of its parts holds. It has at least two parts.
type Or []Expr

// Not holds if its part does not hold.
type Not struct{ Expr Expr }

// A Constraint holds for a thing whose attribute of this name has a value that passes the test.
type Constraint struct {
	Attribute string
	Test      Test
}

// DecodeQuery decodes a query. Empty data means an empty query. Like agents, it rejects an And or an Or with fewer than two parts, and a
// set without values. It rejects a constraint on an attribute that is missing from the query's model or has a different type there. It also
// rejects a query that exceeds a limit. The error wraps wire.ErrUndecodable.
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
		return Query{}, fmt.Errorf("%w: query: a constraint does not match the model", wire.ErrUndecodable)
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
	return !slices.ContainsFunc(e, func(part Expr) bool { return !part.fits(m) })
}

func (e Or) fits(m map[string]Type) bool  { return And(e).fits(m) }
func (e Not) fits(m map[string]Type) bool { return e.Expr.fits(m) }

func (e Constraint) fits(m map[string]Type) bool {
	kind, known := m[e.Attribute]
	return known && kind == e.Test.operand()
}

// A decoder counts how many more nodes and values a query may have.
type decoder struct{ nodes, values int }

// expr decodes an expression in which expressions are nested at most depth levels deep.
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
				r.Fail("fewer than two parts")
			}
		case 3:
			var parts []Expr
			if parts, err = d.parts(inner, depth-1); err == nil && len(parts) == 1 {
				e = Not{parts[0]}
			} else {
				r.Within(err)
				r.Fail("want exactly one part")
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
		return nil, fmt.Errorf("%w: nested too deeply", wire.ErrUndecodable)
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

// Encode returns the bytes of the query. It does not check any limits.
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
