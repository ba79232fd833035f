package rules

import (
	"slices"
	"strconv"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A mode is the purpose for which constraints are compiled.
type mode int

const (
	enforcing  mode = iota // Decide: a constraint that the gateway cannot decide is reported and not compiled
	evaluating             // Evaluate, for a policy that the gateway enforces: values have the gateway's form
	literal                // Evaluate, for a policy whose IRIs are compared as written
)

// A compiler compiles the constraints of one policy, each once.
type compiler struct {
	*model.Names
	mode      mode
	Leaves    []*Leaf
	compounds []*compound
	leafOf    map[*model.Constraint]*Leaf     // nil if the constraint was reported
	logicOf   map[*model.Constraint]*compound // nil if the constraint was reported
	canonical map[*model.Constraint]string
	ends      map[*Leaf]string // leaf → the id of the constraint that holds until the leaf's time is past
	// conditioned is the number of conditions of rules so far.
	conditioned int
}

func newCompiler(names *model.Names, m mode) *compiler {
	return &compiler{
		Names: names, mode: m, leafOf: map[*model.Constraint]*Leaf{}, logicOf: map[*model.Constraint]*compound{},
		canonical: map[*model.Constraint]string{}, ends: map[*Leaf]string{},
	}
}

// A compound is a logical constraint in normal form.
type compound struct {
	id       string
	source   *model.Constraint
	level    int
	operator string
	operands []string
}

// A conjunction is a list of constraints in normal form.
type conjunction struct {
	constraints []string // ids of leaves
	logic       []*compound
}

// conjunction compiles a list of constraints. It returns false if it reported one of them.
func (k *compiler) conjunction(list []*model.Constraint) (out conjunction, ok bool) {
	ok = true
	for _, c := range model.Flatten(list) {
		if c.Logic == "" {
			l := k.leaf(c)
			if ok = ok && l != nil; ok {
				out.constraints = append(out.constraints, l.ID)
			}
			continue
		}
		node := k.compound(c)
		if ok = ok && node != nil; ok {
			out.logic = append(out.logic, node)
		}
	}
	return out, ok
}

// into adds a conjunction to v in the form that the modules read.
func (x conjunction) into(v map[string]any) {
	if len(x.constraints) > 0 {
		v["constraints"] = model.Anys(x.constraints)
	}
	var list []any
	for _, c := range x.logic {
		list = append(list, map[string]any{"level": model.Integer(int64(c.level)), "id": c.id})
	}
	put(v, "logic", list)
}

// terms compiles the conditions of a rule or duty. It returns false if it reported one of them.
func (k *compiler) terms(t *terms, list []*model.Constraint) bool {
	t.Conditions = list
	if k.conditioned += len(list); k.conditioned > model.MaxConstraints {
		k.Problems.Errorf("too-large", "", "the policy expands to more than %d constraints", model.MaxConstraints)
		return false
	}
	for _, c := range list {
		t.Canonical = append(t.Canonical, k.canonicalOf(c))
	}
	slices.Sort(t.Canonical)
	var ok bool
	t.conjunction, ok = k.conjunction(list)
	return ok
}

// canonicalOf returns the canonical form of a constraint. It caches the form, because the parts of a split rule share their constraints.
func (k *compiler) canonicalOf(c *model.Constraint) string {
	s, ok := k.canonical[c]
	if !ok {
		s = model.CanonicalConstraint(c)
		k.canonical[c] = s
	}
	return s
}

// leaf returns the compiled form of a constraint. If the gateway cannot decide the constraint, leaf reports that and returns nil.
func (k *compiler) leaf(c *model.Constraint) *Leaf {
	l, ok := k.leafOf[c]
	if !ok {
		if l = k.compileLeaf(c); l != nil {
			k.addLeaf(l)
		}
		k.leafOf[c] = l
	}
	return l
}

func (k *compiler) addLeaf(l *Leaf) {
	l.ID = k.nextID()
	k.Leaves = append(k.Leaves, l)
}

func (k *compiler) nextID() string { return "c" + strconv.Itoa(len(k.Leaves)+len(k.compounds)) }

// compound returns the compiled form of a logical constraint, or nil if one of its operands was reported.
func (k *compiler) compound(c *model.Constraint) *compound {
	if node, ok := k.logicOf[c]; ok {
		return node
	}
	node := &compound{source: c, level: c.Depth, operator: c.Logic}
	if c.Logic == "andSequence" {
		node.operator = "and" // a request is about one moment, so the order is irrelevant
	}
	ok := true
	for _, operand := range c.Operands {
		if id, compiled := k.id(operand); compiled {
			node.operands = append(node.operands, id)
		} else {
			ok = false
		}
	}
	if !ok {
		k.logicOf[c] = nil
		return nil
	}
	node.id = k.nextID()
	k.compounds = append(k.compounds, node)
	k.logicOf[c] = node
	return node
}

// id compiles a constraint of either kind and returns its id. It returns false if the constraint was reported.
func (k *compiler) id(c *model.Constraint) (string, bool) {
	if c.Logic == "" {
		if l := k.leaf(c); l != nil {
			return l.ID, true
		}
		return "", false
	}
	if node := k.compound(c); node != nil {
		return node.id, true
	}
	return "", false
}

// data returns everything that was compiled in the form that the modules read.
func (k *compiler) data() (leaves, logic map[string]any) {
	leaves, logic = map[string]any{}, map[string]any{}
	for _, l := range k.Leaves {
		leaves[l.ID] = l.data()
	}
	for _, c := range k.compounds {
		logic[c.id] = map[string]any{"level": model.Integer(int64(c.level)), "operator": c.operator, "operands": model.Anys(c.operands)}
	}
	return leaves, logic
}
