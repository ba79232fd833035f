package model

import (
	"maps"
	"slices"
)

// A NormalForm is a policy after all steps of normalisation, rule by rule. ODRL IM 2.7.
type NormalForm struct {
	UID        string
	Types      []string // at least one
	Strategies []Strategy
	Rules      []*Atom // permissions, prohibitions and obligations in document order
	Facts      *Facts
	ReplacedBy string // the policy that replaces this one, which is void; empty: in force
	Names      *Names
	UIM        bool // it names UIM's profile
}

// An Atom is a rule in normal form: at most one action, one target and one party of each function. The duties that it refers to are in
// normal form too; rules that a written rule was split into share them. A duty that names no parties has those of the rule that refers to
// it (ODRL IM 2.6.3).
type Atom struct {
	n           int // its number, in document order
	Kind        RuleKind
	Node        *Rule
	Action      *Action               // with its refinements; nil: any, which only lenient reading accepts
	Target      *Reference            // with its refinements; nil: any
	Parties     map[string]*Reference // by function; no assignee: everyone
	Constraints []*Constraint
	Duties      []*Atom // of a permission
	Remedies    []*Atom // of a prohibition
	Consequence []*Atom // of a duty
}

// Strategy returns the conflict strategy.
func (f *NormalForm) Strategy() Strategy { return (&Document{strategies: f.Strategies}).Strategy() }

// Grants reports whether the policy's permissions permit anything: an Offer, a Request and an Assertion do not. ODRL IM 2.1.2, ODRL V 2.2
// 3.1.
func (f *NormalForm) Grants() bool {
	return !slices.ContainsFunc(f.Types, func(t string) bool { return t == "Offer" || t == "Request" || t == "Assertion" })
}

// An atomizer carries out step 5 of normalization.
type atomizer struct {
	*Names
	numbers  int
	children map[*Rule][]*Atom
	full     bool
}

// NormalForm splits the rules of an expanded document.
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

// split makes one atom of each action, target and party of each function.
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

// perParty splits further, one atom for each party that has the function.
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

// Each lists pointers to the members, or nil alone where there are none.
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
