package model

import "slices"

// A checker checks a policy against ODRL IM 2.2, after expansion: what the reader accepted and the model does not permit. Strictly, all
// of it is an error; leniently, what can still be evaluated is a warning.
type checker struct {
	*Names
	d     *Document
	facts *Facts
	seen  map[*Rule]bool
	forms forms
}

// Check reports everything that makes the policy invalid.
func (l *Library) Check(d *Document) {
	c := &checker{Names: l.Names, d: d, facts: l.facts, seen: map[*Rule]bool{}, forms: forms{}}
	if d.uid == "" && !d.written("@id") {
		c.Problems.Doubtf("uid", d.Pointer, "a policy needs a uid: an IRI that names it")
	}
	if len(d.Rules) == 0 && !d.written("permission", "prohibition", "obligation", "duty") {
		c.Problems.Doubtf("no-rule", d.Pointer, "a policy has at least one permission, prohibition or obligation")
	}
	for _, r := range d.Rules {
		if c.Problems.Full() {
			return
		}
		c.topRule(r)
		c.rule(r)
	}
}

// topRule checks a permission, prohibition or obligation of the policy itself.
func (c *checker) topRule(r *Rule) {
	if len(r.Actions) == 0 && !r.written("action") && !c.d.written("action") {
		c.Problems.Doubtf("action", r.Pointer, "a %s needs an action", r.Kind)
	}
	if r.Kind != Obligation && len(r.Targets) == 0 && !r.written("target") && !c.d.written("target") {
		c.Problems.Doubtf("target", r.Pointer, "a %s needs a target", r.Kind)
	}
	offer, agreement := slices.Contains(c.d.Types, "Offer"), slices.Contains(c.d.Types, "Agreement")
	what := "an Offer"
	if agreement {
		what = "an Agreement"
	}
	if offer || agreement {
		if n := unique(r.Parties["assigner"]); n != 1 {
			c.Problems.Doubtf("assigner", r.Pointer, "every rule of %s has exactly one assigner, this one has %d", what, n)
		}
	}
	if agreement {
		if n := unique(r.Parties["assignee"]); n != 1 {
			c.Problems.Doubtf("assignee", r.Pointer, "every rule of an Agreement has exactly one assignee, this one has %d", n)
		}
	}
}

func unique(list []Reference) int {
	seen := map[string]bool{}
	for _, ref := range list {
		seen[ref.Name()] = true
	}
	return len(seen)
}

// rule checks the common rules for rules and duties.
func (c *checker) rule(r *Rule) {
	if c.seen[r] {
		return
	}
	c.seen[r] = true
	if r.Kind > Obligation && len(r.Actions) == 0 && !r.written("action") {
		c.Problems.Doubtf("action", r.Pointer, "a %s needs an action", r.Kind)
	}
	for _, x := range r.Consequences { // ODRL IM 2.6.5, 2.6.7
		switch r.Kind {
		case Remedy:
			c.Problems.Doubtf("consequence", x.Pointer, "a remedy has no consequence")
		case Consequence:
			c.Problems.Doubtf("consequence", x.Pointer, "a consequence has no consequence of its own")
		default:
		}
	}
	for _, ref := range r.References() {
		c.collection(ref)
		c.constraints(ref.Refinements)
	}
	c.constraints(r.Constraints)
	for _, a := range r.Actions {
		c.constraints(a.Refinements)
	}
	for _, child := range r.children() {
		c.rule(child)
	}
}

// References returns all assets and parties that the rule names.
func (r *Rule) References() []Reference {
	list := slices.Clone(r.Targets)
	for _, key := range SortedKeys(r.Relations) {
		list = append(list, r.Relations[key]...)
	}
	for _, fn := range SortedKeys(r.Parties) {
		list = append(list, r.Parties[fn]...)
	}
	return list
}

// collection checks a refined collection, which is identified by its source: its own uid would name the whole. ODRL IM 2.2.2, 2.3.2.
func (c *checker) collection(ref Reference) {
	if len(ref.Refinements) == 0 {
		return
	}
	switch {
	case ref.Source == "":
		c.Problems.Doubtf("collection", ref.Pointer, "a collection with a refinement names its members by source")
	case ref.IRI != "":
		c.Problems.Doubtf("collection", ref.Pointer, "a collection with a refinement has a source and no uid")
	}
}

func (c *checker) constraints(list []*Constraint) {
	for _, x := range list {
		if c.Problems.Full() {
			return
		}
		c.constraints(x.Operands)
		if x.Logic != "" {
			c.distinct(x)
			continue
		}
		if len(x.Right)+len(x.RightRef) > 1 && !slices.Contains(SetOperators, x.Operator) && slices.Contains(operators, x.Operator) {
			c.Problems.Doubtf("cardinality", x.Pointer, "%s compares with one value, not %d: use isAnyOf, isNoneOf or isAllOf", x.Operator,
				len(x.Right)+len(x.RightRef))
		}
	}
}

// distinct warns if a logical constraint repeats an operand. ODRL IM 2.5.2 requires different nodes.
func (c *checker) distinct(x *Constraint) {
	seen := map[string]bool{}
	for _, o := range x.Operands {
		form := c.forms.part(o)
		if seen[form] {
			c.Problems.Warnf("same-operands", o.Pointer, "%s compares the same thing twice", x.Logic)
		}
		seen[form] = true
	}
}

// written reports whether the node has one of the properties, readable or not.
func (r *Rule) written(names ...string) bool { return hasAny(r.keys, names) }

func (d *Document) written(names ...string) bool { return hasAny(d.keys, names) }

func hasAny(keys map[string]bool, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return keys[name] })
}
