package rules

import (
	"slices"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A term is the time for fulfilling a duty. When it is past, the duty is overdue: it can no longer be fulfilled, and it is not excused.
type term struct {
	deadlines conjunction // constraints that hold until their time is past, and never afterwards
	lasting   conjunction // the conditions of the duty, without its times
}

// into adds a term to v in the form that the modules read.
func (t term) into(v map[string]any) {
	if t.none() {
		return
	}
	deadlines, lasting := map[string]any{}, map[string]any{}
	t.deadlines.into(deadlines)
	t.lasting.into(lasting)
	v["deadlines"], v["lasting"] = deadlines, lasting
}

func (t term) none() bool { return len(t.deadlines.constraints) == 0 && len(t.deadlines.logic) == 0 }

// term derives the term from the conditions of a duty. All of them must compile.
func (k *compiler) term(list []*model.Constraint) term {
	var t term
	for _, c := range model.Flatten(list) {
		if c := k.derive(c, true); c.ends {
			t.deadlines.add(c)
		}
		t.lasting.add(k.derive(c, false))
	}
	return t
}

// endable reports whether the conditions of a duty determine when it is overdue. If a time is under xone, it adds an error, because it is
// not certain which of the times is the deadline.
func (k *compiler) endable(list []*model.Constraint) bool {
	for _, c := range list {
		if c.Logic == "xone" && hasTime(c) {
			k.Problems.Errorf("deadline", c.Pointer, "a time under xone cannot be the deadline of a duty: use \"or\", \"and\" or a single window from start to end")
			return false
		}
		if !k.endable(c.Operands) {
			return false
		}
	}
	return true
}

func hasTime(c *model.Constraint) bool {
	return c.Logic == "" && c.Left().Temporal || slices.ContainsFunc(c.Operands, hasTime)
}

func (x *conjunction) add(d derivedConstraint) {
	switch {
	case d.node != nil:
		x.logic = append(x.logic, d.node)
	case d.leaf != "":
		x.constraints = append(x.constraints, d.leaf)
	}
}

// A derivedConstraint is a constraint in which some leaves are replaced with true. The zero value is true itself.
type derivedConstraint struct {
	leaf string
	node *compound
	ends bool // it contains a time that ends
}

// always reports whether nothing can make the constraint false.
func (d derivedConstraint) always() bool { return d.leaf == "" && d.node == nil }

func (d derivedConstraint) id() string {
	if d.node != nil {
		return d.node.id
	}
	return d.leaf
}

// derive returns the constraint with its times replaced with true. If deadlines is set, a time that ends is instead replaced with a
// constraint that holds until its end. An xone becomes an or, which cannot become false before the xone does.
func (k *compiler) derive(c *model.Constraint, deadlines bool) derivedConstraint {
	if c.Logic == "" {
		switch l := k.leaf(c); {
		case !c.Left().Temporal:
			return derivedConstraint{leaf: l.ID}
		case !deadlines:
			return derivedConstraint{}
		default:
			id := k.end(l)
			return derivedConstraint{leaf: id, ends: id != ""}
		}
	}
	node := &compound{source: c, level: c.Depth, operator: "or"}
	every := c.Logic == "and" || c.Logic == "andSequence"
	if every {
		node.operator = "and"
	}
	out := derivedConstraint{node: node}
	for _, operand := range c.Operands {
		d := k.derive(operand, deadlines)
		switch {
		case !d.always():
			node.operands = append(node.operands, d.id())
			out.ends = out.ends || d.ends
		case !every:
			return derivedConstraint{}
		}
	}
	if len(node.operands) == 0 {
		return derivedConstraint{}
	}
	node.id = k.nextID()
	k.compounds = append(k.compounds, node)
	return out
}

// end returns the id of a constraint that holds until the time of a leaf is past. It returns "" if the time may recur or never ends.
func (k *compiler) end(l *Leaf) string {
	if id, known := k.ends[l]; known {
		return id
	}
	end := &Leaf{Source: l.Source, Slot: l.Slot, Key: l.Key, Kind: l.Kind, Operator: l.Operator, Value: l.Value, read: l.read}
	switch {
	case l.usage || l.Slot.As == "clock" || l.Kind == "none":
		end = nil
	case slices.Contains([]string{"lt", "lteq", "shorter", "shorter-or-same"}, l.Operator):
		end = l
	case l.Operator == "within":
		end.Operator, end.Value = "lt", model.Integer(l.To)
	case l.Operator == "eq" && l.Kind == "number":
		end.Operator = "lteq"
	case l.Operator == "eq" && l.Kind == "duration":
		end.Operator = "shorter-or-same"
	default:
		end = nil
	}
	id := ""
	if end != nil {
		if end != l {
			k.addLeaf(end)
		}
		id = end.ID
	}
	k.ends[l] = id
	return id
}
