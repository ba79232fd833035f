package model

import (
	"maps"
	"slices"
)

// A NormalForm is a policy after normalization, split into single rules. See ODRL IM, section 2.7.
type NormalForm struct {
	UID        string
	Types      []string // at least one
	Strategies []Strategy
	Rules      []*Atom // permissions, prohibitions and obligations in document order
	Facts      *Facts
	ReplacedBy string // the policy that replaces this one and makes it void; if empty, the policy is in force
	Names      *Names
	UIM        bool // the policy declares UIM's profile
}

// An Atom is a rule in normal form: it has at most one action, one target and one party for each function. Its duties are in normal form
// too; atoms of the same written rule share them. A duty that names no parties has the parties of the rule that refers to it (ODRL IM
// 2.6.3).
type Atom struct {
	n           int // the number of the atom, in document order
	Kind        RuleKind
	Node        *Rule
	Action      *Action               // with its refinements; nil means any action, which only lenient mode accepts
	Target      *Reference            // with its refinements; nil means any target
	Parties     map[string]*Reference // by function; without an assignee, the rule applies to everyone
	Constraints []*Constraint
	Duties      []*Atom // for a permission
	Remedies    []*Atom // for a prohibition
	Consequence []*Atom // for a duty
}

// Strategy returns the conflict strategy.
func (f *NormalForm) Strategy() Strategy { return (&Document{strategies: f.Strategies}).Strategy() }

// Grants reports whether the policy's permissions take effect: those of an Offer, a Request or an Assertion do not. ODRL IM 2.1.2, ODRL V
// 2.2 3.1.
func (f *NormalForm) Grants() bool {
	return !slices.ContainsFunc(f.Types, func(t string) bool { return t == "Offer" || t == "Request" || t == "Assertion" })
}

// An atomizer performs step 5 of normalization: it splits rules into atoms.
type atomizer struct {
	*Names
	numbers  int
	children map[*Rule][]*Atom
	full     bool
}

// NormalForm splits the rules of an expanded document into atoms. It reports an error if there would be more than MaxRules.
func (l *Library) NormalForm(d *Document) *NormalForm {
	f := &NormalForm{UID: d.uid, Types: d.Types, Strategies: d.strategies, Facts: d.facts, Names: l.Names, UIM: d.uim()}
	for _, ref := range d.ReplacedBy {
		f.ReplacedBy = ref.IRI
	}
	a := &atomizer{Names: l.Names, children: map[*Rule][]*Atom{}}
	for _, node := range d.Rules {
		f.Rules = append(f.Rules, a.split(node)...)
		if a.full {
			break
		}
	}
	return f
}

// split returns one atom for each combination of an action, a target and a party for each function. It returns nil if there are too many
// atoms.
func (a *atomizer) split(node *Rule) []*Atom {
	if known, ok := a.children[node]; ok {
		return known
	}
	var list []*Atom
	first := a.numbers + 1
	for _, action := range Each(node.Actions) {
		for _, target := range Each(node.Targets) {
			if !a.room(node) {
				return nil
			}
			list = append(list, &Atom{
				Kind: node.Kind, Node: node, Action: action, Target: target, Parties: map[string]*Reference{},
				Constraints: node.Constraints,
			})
		}
	}
	for _, fn := range SortedKeys(node.Parties) {
		if list = a.perParty(list, node, fn); list == nil {
			return nil
		}
	}
	for i, x := range list {
		x.n = first + i
	}
	for _, link := range []struct {
		from []*Rule
		into func(*Atom) *[]*Atom
	}{
		{node.Duties, func(x *Atom) *[]*Atom { return &x.Duties }},
		{node.Remedies, func(x *Atom) *[]*Atom { return &x.Remedies }},
		{node.Consequences, func(x *Atom) *[]*Atom { return &x.Consequence }},
	} {
		var children []*Atom
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

// perParty splits each atom further, into one atom for each party that has the function fn. It returns nil if there are too many atoms.
func (a *atomizer) perParty(list []*Atom, node *Rule, fn string) []*Atom {
	var out []*Atom
	for _, x := range list {
		for i := range node.Parties[fn] {
			y := *x
			if i > 0 && !a.room(node) {
				return nil
			}
			y.Parties = make(map[string]*Reference, len(x.Parties)+1)
			maps.Copy(y.Parties, x.Parties)
			y.Parties[fn] = &node.Parties[fn][i]
			out = append(out, &y)
		}
	}
	return out
}

func (a *atomizer) room(node *Rule) bool {
	if a.numbers++; a.numbers > MaxRules {
		if !a.full {
			a.Problems.Errorf("too-large", node.Pointer, "the policy expands to more than %d rules", MaxRules)
		}
		a.full = true
	}
	return !a.full
}

// Each returns pointers to the elements of list, or a single nil pointer if list is empty.
func Each[T any](list []T) []*T {
	if len(list) == 0 {
		return []*T{nil}
	}
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}
