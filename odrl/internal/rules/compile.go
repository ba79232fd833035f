package rules

import (
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// terms compiles conditions.
func (n *normalizer) terms(t *terms, list []*model.Constraint) bool {
	ok := true
	t.Conditions = list
	if n.conditioned += len(list); n.conditioned > model.MaxConstraints {
		n.Problems.Errorf("too-large", "", "the policy expands to more than %d constraints", model.MaxConstraints)
		return false
	}
	for _, c := range list {
		if c.Logic == "" {
			id, good := n.leaf(c)
			t.constraints = append(t.constraints, id)
			ok = ok && good
		} else {
			node, good := n.compound(c)
			t.logic = append(t.logic, node)
			ok = ok && good
		}
		t.Canonical = append(t.Canonical, n.canonicalOf(c))
	}
	slices.Sort(t.Canonical)
	return ok
}

// canonicalOf remembers canonical forms: the parts of a split rule share their constraints.
func (n *normalizer) canonicalOf(c *model.Constraint) string {
	s, ok := n.forms[c]
	if !ok {
		s = model.CanonicalConstraint(c)
		n.forms[c] = s
	}
	return s
}

func (n *normalizer) leaf(c *model.Constraint) (string, bool) {
	if id, ok := n.refs[c]; ok {
		return id, id != ""
	}
	l, ok := n.newLeaf(c)
	if !ok {
		n.refs[c] = ""
		return "", false
	}
	l.ID = "c" + strconv.Itoa(len(n.leaves)+len(n.compounds))
	n.leaves = append(n.leaves, l)
	n.refs[c] = l.ID
	return l.ID, true
}

func (n *normalizer) compound(c *model.Constraint) (*compound, bool) {
	if node, ok := n.logicOf[c]; ok {
		return node, node != nil
	}
	node := &compound{source: c, level: c.Depth, operator: c.Logic}
	if c.Logic == "andSequence" {
		node.operator = "and" // the facts of one request have one time
	}
	ok := true
	for _, operand := range c.Operands {
		var id string
		var good bool
		if operand.Logic == "" {
			id, good = n.leaf(operand)
		} else if inner, fine := n.compound(operand); fine {
			id, good = inner.id, true
		}
		node.operands = append(node.operands, id)
		ok = ok && good
	}
	if !ok {
		n.logicOf[c] = nil
		return nil, false
	}
	node.id = "c" + strconv.Itoa(len(n.leaves)+len(n.compounds))
	n.compounds = append(n.compounds, node)
	n.logicOf[c] = node
	return node, true
}
