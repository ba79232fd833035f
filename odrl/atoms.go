package odrl

import (
	"maps"
	"slices"
)

// A normalForm is a policy after all steps of normalisation: what it says, rule by rule. ODRL IM 2.7.
type normalForm struct {
	uid        string
	types      []string // at least one
	strategies []strategy
	rules      []*atom // permissions, prohibitions and obligations in document order
	facts      *facts
	replacedBy string // the policy that stands in the place of this one, which is void; empty: in force
	names      *names
}

// An atom is a rule in normal form: at most one action, one target and one party of each function. The
// duties that it points at are in normal form too; rules that a rule as written was split into share
// them. A duty that names no parties has those of the rule that points at it (ODRL IM 2.6.3).
type atom struct {
	n           int // its number, in document order
	kind        ruleKind
	node        *ruleNode
	action      *actionNode           // with its refinements; nil: any, which only lenient reading takes
	target      *reference            // with its refinements; nil: any
	parties     map[string]*reference // by function; no assignee: everyone
	constraints []*constraintNode
	duties      []*atom // of a permission
	remedies    []*atom // of a prohibition
	consequence []*atom // of a duty
}

// strategy is the one that settles conflicts.
func (f *normalForm) strategy() strategy { return (&document{strategies: f.strategies}).strategy() }

// grants reports whether the policy's permissions permit anything: an Offer, a Request and an Assertion
// only speak of it. ODRL IM 2.1.2, ODRL V 2.2 3.1.
func (f *normalForm) grants() bool {
	return !slices.ContainsFunc(f.types, func(t string) bool { return t == "Offer" || t == "Request" || t == "Assertion" })
}

// An atomizer is step 5 of normalisation.
type atomizer struct {
	*names
	numbers  int
	children map[*ruleNode][]*atom
	full     bool
}

// normalForm splits the rules of an expanded document.
func (l *library) normalForm(d *document) *normalForm {
	f := &normalForm{uid: d.uid, types: d.types, strategies: d.strategies, facts: d.facts, names: l.names}
	for _, ref := range d.replacedBy {
		f.replacedBy = ref.iri
	}
	a := &atomizer{names: l.names, children: map[*ruleNode][]*atom{}}
	for _, node := range d.rules {
		f.rules = append(f.rules, a.split(node)...)
		if a.full {
			break
		}
	}
	return f
}

// split makes one atom of each action, target and party of each function.
func (a *atomizer) split(node *ruleNode) []*atom {
	if known, ok := a.children[node]; ok {
		return known
	}
	var list []*atom
	first := a.numbers + 1
	for _, action := range each(node.actions) {
		for _, target := range each(node.targets) {
			if !a.room(node) {
				return nil
			}
			list = append(list, &atom{kind: node.kind, node: node, action: action, target: target, parties: map[string]*reference{}, constraints: node.constraints})
		}
	}
	for _, fn := range sortedKeys(node.parties) {
		if list = a.perParty(list, node, fn); list == nil {
			return nil
		}
	}
	for i, x := range list {
		x.n = first + i
	}
	for _, link := range []struct {
		from []*ruleNode
		into func(*atom) *[]*atom
	}{
		{node.duties, func(x *atom) *[]*atom { return &x.duties }},
		{node.remedies, func(x *atom) *[]*atom { return &x.remedies }},
		{node.consequences, func(x *atom) *[]*atom { return &x.consequence }},
	} {
		var children []*atom
		for _, child := range link.from {
			children = append(children, a.split(child)...)
		}
		for _, x := range list {
			*link.into(x) = children
		}
	}
	a.children[node] = list
	return list
}

// perParty splits further, one atom for each party that has the function.
func (a *atomizer) perParty(list []*atom, node *ruleNode, fn string) []*atom {
	var out []*atom
	for _, x := range list {
		for i := range node.parties[fn] {
			y := *x
			if i > 0 && !a.room(node) {
				return nil
			}
			y.parties = make(map[string]*reference, len(x.parties)+1)
			maps.Copy(y.parties, x.parties)
			y.parties[fn] = &node.parties[fn][i]
			out = append(out, &y)
		}
	}
	return out
}

func (a *atomizer) room(node *ruleNode) bool {
	if a.numbers++; a.numbers > MaxRules {
		if !a.full {
			a.problems.Errorf("too-large", node.pointer, "the policy expands to more than %d rules", MaxRules)
		}
		a.full = true
	}
	return !a.full
}

// each lists pointers to the members, or nil alone where there are none.
func each[T any](list []T) []*T {
	if len(list) == 0 {
		return []*T{nil}
	}
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}
