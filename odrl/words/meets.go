package words

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// meets returns the index of one value on each axis, so that together the values meet all conditions of a rule. It returns the index of nil
// for an axis that the rule does not name, or if maxHeld is reached first.
func (x *axes) meets(r *model.Atom) []int {
	at := make([]int, len(x.facts))
	for i := range at {
		at[i] = len(x.facts[i].values) - 1
	}
	eachConstraint(r, func(c *model.Constraint) {
		i, known := x.at[c.Operand]
		if !known {
			return
		}
		for k, v := range x.facts[i].values {
			if *x.held == 0 {
				return
			}
			*x.held--
			if plainlyMeets(c, v) {
				at[i] = k
				return
			}
		}
	})
	return at
}

// plainlyMeets reports whether a fact certainly meets a condition. It compares numbers and durations by order, and all other values by
// equality.
func plainlyMeets(c *model.Constraint, v any) bool {
	if len(c.Right) == 0 {
		return false
	}
	if m, ok := v.(map[string]any); ok {
		if unit, _ := m["unit"].(string); unit != c.Unit.IRI {
			return false
		}
		v = m["value"]
	}
	fact, ok := model.TextOf(v)
	if !ok {
		return false
	}
	order := strings.Compare(fact, c.Right[0].Text)
	if of, known := orderOf(fact, c.Right[0].Text); known {
		order = of
	} else if slices.Contains(model.Orderings, c.Operator) && order != 0 {
		return false
	}
	switch c.Operator {
	case "lt":
		return order < 0
	case "gt":
		return order > 0
	case "lteq":
		return order <= 0
	case "gteq":
		return order >= 0
	case "neq", "isNoneOf":
		return !slices.Contains(c.Texts(), fact)
	default:
		return order == 0
	}
}

// orderOf compares two numbers or two durations. It returns false if they cannot be compared.
func orderOf(a, b string) (int, bool) {
	x, ok := model.ParseDecimal(a)
	y, ok2 := model.ParseDecimal(b)
	if ok && ok2 {
		return x.Cmp(y), true
	}
	long, ok := model.ParseDuration(a)
	short, ok2 := model.ParseDuration(b)
	if ok && ok2 {
		cmp, known := compareDurations(short, long)
		return cmp, known
	}
	return 0, false
}
