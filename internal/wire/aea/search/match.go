package search

import "slices"

// Attributes are the attributes of one offer. An attribute with several values, such as tags, passes a test if at least one value passes
// it. For NotEqual and for a Set with Not, all values must pass.
type Attributes map[string][]Value

// Values implements Source.
func (a Attributes) Values(attribute string) []Value { return a[attribute] }

// A Source returns the values of an attribute, with the meaning of Attributes. It returns none if the attribute is missing.
type Source interface {
	Values(attribute string) []Value
}

// Matches reports whether all constraints of the query hold. A constraint does not hold if the attribute is missing or has values of
// another type; an enclosing Not inverts that.
func (q Query) Matches(s Source) bool { return And(q.Constraints).holds(s) }

// Tests returns the maximum number of comparisons that Matches makes if each attribute has one value. A decoded query has at most
// MaxNodes + MaxValues.
func (q Query) Tests() int { return And(q.Constraints).tests() }

func (e And) tests() (n int) {
	for _, part := range e {
		n += part.tests()
	}
	return n
}

func (e Or) tests() int  { return And(e).tests() }
func (e Not) tests() int { return e.Expr.tests() }

func (e Constraint) tests() int {
	if set, ok := e.Test.(Set); ok {
		return len(set.Values)
	}
	return 1
}

func (e And) holds(a Source) bool {
	return !slices.ContainsFunc(e, func(part Expr) bool { return !part.holds(a) })
}

func (e Or) holds(a Source) bool {
	return slices.ContainsFunc(e, func(part Expr) bool { return part.holds(a) })
}

func (e Not) holds(a Source) bool { return !e.Expr.holds(a) }

func (e Constraint) holds(a Source) bool {
	passes := func(v Value) bool { return v.Type() == e.Test.operand() && e.Test.holds(v) }
	values := a.Values(e.Attribute)
	if e.Test.negative() {
		return len(values) > 0 && !slices.ContainsFunc(values, func(v Value) bool { return !passes(v) })
	}
	return slices.ContainsFunc(values, passes)
}

func (s Relation) operand() Type { return s.Value.Type() }
func (s Range) operand() Type    { return s.First.Type() }
func (s Set) operand() Type      { return s.Values[0].Type() }
func (Distance) operand() Type   { return TypeLocation }

func (s Relation) negative() bool { return s.Operator == NotEqual }
func (Range) negative() bool      { return false }
func (s Set) negative() bool      { return s.Not }
func (Distance) negative() bool   { return false }

func (s Relation) holds(v Value) bool {
	sign, ordered := order(v, s.Value)
	switch s.Operator {
	case Equal:
		return v == s.Value
	case NotEqual:
		return v != s.Value
	case Less:
		return ordered && sign < 0
	case LessOrEqual:
		return ordered && sign <= 0
	case Greater:
		return ordered && sign > 0
	case GreaterOrEqual:
		return ordered && sign >= 0
	default:
		return false
	}
}

func (s Range) holds(v Value) bool {
	low, ordered := order(s.First, v)
	high, _ := order(v, s.Last)
	_, last := order(s.Last, s.Last)
	return ordered && last && low <= 0 && high <= 0
}

func (s Set) holds(v Value) bool { return slices.Contains(s.Values, v) != s.Not }

func (s Distance) holds(v Value) bool {
	place, ok := v.(Location)
	return ok && s.Center.To(place) <= s.Kilometres
}

// Mentions reports whether the query contains a constraint on the attribute.
func (q Query) Mentions(attribute string) bool { return And(q.Constraints).mentions(attribute) }

func (e And) mentions(attribute string) bool {
	return slices.ContainsFunc(e, func(part Expr) bool { return part.mentions(attribute) })
}

func (e Or) mentions(attribute string) bool         { return And(e).mentions(attribute) }
func (e Not) mentions(attribute string) bool        { return e.Expr.mentions(attribute) }
func (e Constraint) mentions(attribute string) bool { return e.Attribute == attribute }
