package odrl

import "slices"

// A checker holds a policy against ODRL IM 2.2, after expansion: what the reader took and the model
// does not allow. Reading strictly, all of it is an error; leniently, what can be evaluated all the same
// is a warning.
type checker struct {
	*names
	d     *document
	facts *facts
	seen  map[*ruleNode]bool
}

// check reports everything that makes the policy invalid.
func (l *library) check(d *document) {
	c := &checker{names: l.names, d: d, facts: l.facts, seen: map[*ruleNode]bool{}}
	if d.uid == "" && !d.written("@id") {
		c.problems.Doubtf("uid", d.pointer, "a policy needs a uid: an IRI that names it")
	}
	if len(d.rules) == 0 && !d.written("permission", "prohibition", "obligation", "duty") {
		c.problems.Doubtf("no-rule", d.pointer, "a policy has at least one permission, prohibition or obligation")
	}
	for _, r := range d.rules {
		if c.problems.full() {
			return
		}
		c.topRule(r)
		c.rule(r)
	}
}

// topRule checks a permission, prohibition or obligation of the policy itself.
func (c *checker) topRule(r *ruleNode) {
	if len(r.actions) == 0 && !r.written("action") && !c.d.written("action") {
		c.problems.Doubtf("action", r.pointer, "a %s needs an action", r.kind)
	}
	if r.kind != obligation && len(r.targets) == 0 && !r.written("target") && !c.d.written("target") {
		c.problems.Doubtf("target", r.pointer, "a %s needs a target", r.kind)
	}
	offer, agreement := slices.Contains(c.d.types, "Offer"), slices.Contains(c.d.types, "Agreement")
	what := "an Offer"
	if agreement {
		what = "an Agreement"
	}
	if offer || agreement {
		if n := unique(r.parties["assigner"]); n != 1 {
			c.problems.Doubtf("assigner", r.pointer, "every rule of %s has exactly one assigner, this one has %d", what, n)
		}
	}
	if agreement {
		if n := unique(r.parties["assignee"]); n != 1 {
			c.problems.Doubtf("assignee", r.pointer, "every rule of an Agreement has exactly one assignee, this one has %d", n)
		}
	}
}

func unique(list []reference) int {
	seen := map[string]bool{}
	for _, ref := range list {
		seen[ref.name()] = true
	}
	return len(seen)
}

// rule checks what holds for rules and duties alike.
func (c *checker) rule(r *ruleNode) {
	if c.seen[r] {
		return
	}
	c.seen[r] = true
	if r.kind > obligation && len(r.actions) == 0 && !r.written("action") {
		c.problems.Doubtf("action", r.pointer, "a %s needs an action", r.kind)
	}
	for _, x := range r.consequences { // ODRL IM 2.6.5, 2.6.7
		switch r.kind {
		case remedy:
			c.problems.Doubtf("consequence", x.pointer, "a remedy has no consequence")
		case consequence:
			c.problems.Doubtf("consequence", x.pointer, "a consequence has no consequence of its own")
		default:
		}
	}
	for _, ref := range r.references() {
		c.collection(ref)
		c.constraints(ref.refinements)
	}
	c.constraints(r.constraints)
	for _, a := range r.actions {
		c.constraints(a.refinements)
	}
	for _, child := range r.children() {
		c.rule(child)
	}
}

// references are all assets and parties that the rule names.
func (r *ruleNode) references() []reference {
	list := slices.Clone(r.targets)
	for _, key := range sortedKeys(r.relations) {
		list = append(list, r.relations[key]...)
	}
	for _, fn := range sortedKeys(r.parties) {
		list = append(list, r.parties[fn]...)
	}
	return list
}

// collection checks a narrowed collection, which is known by its source: its own uid would name the
// whole. ODRL IM 2.2.2, 2.3.2.
func (c *checker) collection(ref reference) {
	if len(ref.refinements) == 0 {
		return
	}
	switch {
	case ref.source == "":
		c.problems.Doubtf("collection", ref.pointer, "a collection with a refinement names its members by source")
	case ref.iri != "":
		c.problems.Doubtf("collection", ref.pointer, "a collection with a refinement has a source and no uid")
	}
}

func (c *checker) constraints(list []*constraintNode) {
	for _, x := range list {
		if c.problems.full() {
			return
		}
		c.constraints(x.operands)
		if x.logic != "" {
			c.distinct(x)
			continue
		}
		if len(x.right)+len(x.rightRef) > 1 && !slices.Contains(setOperators, x.operator) && slices.Contains(operators, x.operator) {
			c.problems.Doubtf("cardinality", x.pointer, "%s compares with one value, not %d: use isAnyOf, isNoneOf or isAllOf", x.operator, len(x.right)+len(x.rightRef))
		}
	}
}

// distinct warns where a logical constraint says one thing twice. ODRL IM 2.5.2 wants different nodes.
func (c *checker) distinct(x *constraintNode) {
	seen := map[string]bool{}
	for _, o := range x.operands {
		form := canonicalConstraint(o)
		if seen[form] {
			c.problems.Warnf("same-operands", o.pointer, "%s compares the same thing twice", x.logic)
		}
		seen[form] = true
	}
}

// written reports whether the node has one of the properties, readable or not.
func (r *ruleNode) written(names ...string) bool { return hasAny(r.keys, names) }

func (d *document) written(names ...string) bool { return hasAny(d.keys, names) }

func hasAny(keys map[string]bool, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return keys[name] })
}
