package odrl

import (
	"slices"
	"strconv"
)

// terms compiles conditions.
func (n *normalizer) terms(t *terms, list []*constraintNode) bool {
	ok := true
	t.conditions = list
	if n.conditioned += len(list); n.conditioned > MaxConstraints {
		n.problems.Errorf("too-large", "", "the policy expands to more than %d constraints", MaxConstraints)
		return false
	}
	for _, c := range list {
		if c.logic == "" {
			id, good := n.leaf(c)
			t.constraints = append(t.constraints, id)
			ok = ok && good
		} else {
			node, good := n.compound(c)
			t.logic = append(t.logic, node)
			ok = ok && good
		}
		t.canonical = append(t.canonical, n.canonicalOf(c))
	}
	slices.Sort(t.canonical)
	return ok
}

// canonicalOf remembers canonical forms: the parts of a split rule share their constraints.
func (n *normalizer) canonicalOf(c *constraintNode) string {
	s, ok := n.forms[c]
	if !ok {
		s = canonicalConstraint(c)
		n.forms[c] = s
	}
	return s
}

func (n *normalizer) leaf(c *constraintNode) (string, bool) {
	if id, ok := n.refs[c]; ok {
		return id, id != ""
	}
	l, ok := n.newLeaf(c)
	if !ok {
		n.refs[c] = ""
		return "", false
	}
	l.id = "c" + strconv.Itoa(len(n.leaves)+len(n.compounds))
	n.leaves = append(n.leaves, l)
	n.refs[c] = l.id
	return l.id, true
}

func (n *normalizer) compound(c *constraintNode) (*compound, bool) {
	if node, ok := n.logicOf[c]; ok {
		return node, node != nil
	}
	node := &compound{source: c, level: c.depth, operator: c.logic}
	if c.logic == "andSequence" {
		node.operator = "and" // the facts of one request have one time
	}
	ok := true
	for _, operand := range c.operands {
		var id string
		var good bool
		if operand.logic == "" {
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
