package model

import "slices"

// A checker checks an expanded policy for parts that the reader accepts but ODRL IM 2.2 does not permit. A violation is an error in strict
// mode. In lenient mode, it is a warning, because the policy can still be evaluated.
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
		c.Problems.Doubtf("uid", d.Pointer, "a policy needs a uid: an IRI that identifies it")
	}
	if len(d.Rules) == 0 && !d.written("permission", "prohibition", "obligation", "duty") {
		c.Problems.Doubtf("no-rule", d.Pointer, "a policy needs at least one permission, prohibition or obligation")
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
		c.Problems.Doubtf("action", r.Pointer, "this %s needs an action", r.Kind)
	}
	if r.Kind != Obligation && len(r.Targets) == 0 && !r.written("target") && !c.d.written("target") {
		c.Problems.Doubtf("target", r.Pointer, "this %s needs a target", r.Kind)
	}
	offer, agreement := slices.Contains(c.d.Types, "Offer"), slices.Contains(c.d.Types, "Agreement")
	what := "an Offer"
	if agreement {
		what = "an Agreement"
	}
	if offer || agreement {
		if n := unique(r.Parties["assigner"]); n != 1 {
			c.Problems.Doubtf("assigner", r.Pointer, "every rule of %s needs exactly one assigner, but this one has %d", what, n)
		}
	}
	if agreement {
		if n := unique(r.Parties["assignee"]); n != 1 {
			c.Problems.Doubtf("assignee", r.Pointer, "every rule of an Agreement needs exactly one assignee, but this one has %d", n)
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

// rule checks the requirements that permissions, prohibitions and duties share.
func (c *checker) rule(r *Rule) {
	if c.seen[r] {
		return
	}
	c.seen[r] = true
	if r.Kind > Obligation && len(r.Actions) == 0 && !r.written("action") {
		c.Problems.Doubtf("action", r.Pointer, "this %s needs an action", r.Kind)
	}
	for _, x := range r.Consequences { // ODRL IM 2.6.5, 2.6.7
		switch r.Kind {
		case Remedy:
			c.Problems.Doubtf("consequence", x.Pointer, "a remedy cannot have a consequence")
		case Consequence:
			c.Problems.Doubtf("consequence", x.Pointer, "a consequence cannot have a consequence")
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

// collection checks that a collection with refinements is identified by its source: a uid would identify the whole collection. See ODRL IM,
// sections 2.2.2 and 2.3.2.
func (c *checker) collection(ref Reference) {
	if len(ref.Refinements) == 0 {
		return
	}
	switch {
	case ref.Source == "":
		c.Problems.Doubtf("collection", ref.Pointer, "a collection with a refinement needs a source: the IRI of the whole collection")
	case ref.IRI != "":
		c.Problems.Doubtf("collection", ref.Pointer, "a collection with a refinement cannot have a uid next to its source")
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
			c.Problems.Doubtf("cardinality", x.Pointer, "%s takes one value, not %d: use isAnyOf, isNoneOf or isAllOf", x.Operator,
				len(x.Right)+len(x.RightRef))
		}
	}
}

// distinct warns if a logical constraint repeats an operand. ODRL IM 2.5.2 requires the operands to be different nodes.
func (c *checker) distinct(x *Constraint) {
	seen := map[string]bool{}
	for _, o := range x.Operands {
		form := c.forms.part(o)
		if seen[form] {
			c.Problems.Warnf("same-operands", o.Pointer, "%s tests the same condition twice", x.Logic)
		}
		seen[form] = true
	}
}

// written reports whether the rule has a value for one of the properties, even a value that could not be read.
func (r *Rule) written(names ...string) bool { return hasAny(r.keys, names) }

func (d *Document) written(names ...string) bool { return hasAny(d.keys, names) }

func hasAny(keys map[string]bool, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return keys[name] })
}
