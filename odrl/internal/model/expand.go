package model

import (
	"maps"
	"slices"
	"strings"
)

// A Library holds the policies of one document, which may inherit from and replace each other.
type Library struct {
	*Names
	List   []*Document
	byUID  map[string]*Document
	shared sharedNodes
	facts  *Facts
	budget int // how many more rules expansion may copy
}

// NewLibrary returns a Library of the policies that a reader found. It reports cycles, and parents that are missing from the document.
func NewLibrary(r *reader, list []*Document) *Library {
	l := &Library{Names: r.Names, List: list, byUID: map[string]*Document{}, shared: r.shared, facts: r.Facts, budget: 10 * MaxRules}
	for _, d := range list {
		if d.uid != "" {
			l.byUID[d.uid] = d
		}
	}
	for _, relation := range []struct {
		name string
		of   map[string][]string
	}{{"partOf", r.Facts.PartOf}, {"includedIn", r.Facts.IncludedIn}, {"implies", r.Facts.Implies}} {
		if at := cycle(relation.of); at != "" {
			l.Problems.Errorf("cycle", "", "%s forms a cycle through %s", relation.name, Quote(at))
		}
	}
	l.lineage()
	return l
}

// lineage checks that policies inherit only from policies of the same document, and that no policy inherits from itself or replaces itself,
// even indirectly. See ODRL IM, section 2.8.
func (l *Library) lineage() {
	parents := map[string][]string{}
	for _, d := range l.List {
		for _, ref := range d.inherits {
			if l.byUID[ref.IRI] == nil {
				l.Problems.Errorf("inherit", ref.Pointer,
					"the parent policy %s is not in this document, and policies are never fetched: add it as a node in the @graph, "+
						"or copy its rules into this policy", Quote(ref.IRI))
				continue
			}
			Relate(parents, d.uid, ref.IRI)
		}
	}
	if at := cycle(parents); at != "" {
		l.Problems.Errorf("inherit-cycle", l.byUID[at].Pointer, "the policy %s inherits from itself", Quote(at))
	}
	replaced := map[string][]string{}
	for _, d := range l.List {
		for _, ref := range d.ReplacedBy {
			Relate(replaced, d.uid, ref.IRI)
		}
	}
	if at := cycle(replaced); at != "" && l.byUID[at] != nil {
		l.Problems.Errorf("replaced-cycle", l.byUID[at].Pointer, "the policy %s replaces itself", Quote(at))
	}
}

// Choose returns the policy of the document to use. If uid is set, this is the policy with that uid, or the policy that finally replaces
// it. Otherwise, it is the only policy that no other policy inherits from or replaces. Choose returns nil and reports an error if there
// is no such policy, or more than one. See ODRL IM 2.8 and dct:isReplacedBy of [ODRL V 2.2].
func (l *Library) Choose(uid string) *Document {
	if uid != "" {
		d := l.byUID[uid]
		if d == nil {
			l.Problems.Errorf("no-policy", "", "the document contains no policy %s", Quote(uid))
			return nil
		}
		for l.successor(d) != nil {
			d = l.successor(d)
		}
		return d
	}
	var list []*Document
	for _, d := range l.List {
		if !l.parent(d) {
			list = append(list, d)
		}
	}
	switch len(list) {
	case 0:
		l.Problems.Errorf("no-policy", "", "the document contains no policy")
		return nil
	case 1:
		return list[0]
	default:
		const most = 5
		var names []string
		for _, d := range list[:min(most, len(list))] {
			names = append(names, Quote(d.uid))
		}
		if len(list) > most {
			names = append(names, "…")
		}
		l.Problems.Errorf("graph", list[1].Pointer, "the document contains %d policies; choose one by its uid: %s",
			len(list), strings.Join(names, ", "))
		return nil
	}
}

// successor returns the policy of the document that replaces d, or nil if there is none. A chain of successors ends, because lineage
// reports cycles.
func (l *Library) successor(d *Document) *Document {
	for _, ref := range d.ReplacedBy {
		if next := l.byUID[ref.IRI]; next != nil {
			return next
		}
	}
	return nil
}

// parent reports whether another policy of the document inherits from d, or replaces d.
func (l *Library) parent(d *Document) bool {
	return slices.ContainsFunc(l.List, func(o *Document) bool {
		return o != d && slices.ContainsFunc(o.inherits, func(ref Reference) bool { return ref.IRI == d.uid })
	}) || l.successor(d) != nil
}

// Expanded performs steps 1 to 4 of normalization. It adds the links from outside the policy, the default class and everything that the
// policy inherits, and copies the shared properties into each rule. It does not change d.
func (l *Library) Expanded(d *Document) *Document {
	out := &Document{
		uid: d.uid, Pointer: d.Pointer, Types: d.Types, TypesAt: d.TypesAt, profiles: d.profiles, inherits: d.inherits,
		ReplacedBy: d.ReplacedBy, notes: d.notes, keys: d.keys, facts: l.facts,
		relations: map[string][]Reference{}, parties: map[string][]Reference{},
	}
	if len(out.Types) == 0 || slices.Equal(out.Types, []string{"Policy"}) {
		out.Types = []string{"Set"}
	}
	seen := map[string]bool{}
	for _, from := range l.ancestry(d) {
		l.inherit(out, from, from != d, seen)
	}
	for i, rule := range out.Rules {
		out.Rules[i] = out.share(rule)
	}
	return out
}

// ancestry returns d and all policies that it inherits from, nearest first.
func (l *Library) ancestry(d *Document) []*Document {
	list := []*Document{d}
	seen := map[*Document]bool{d: true}
	for i := 0; i < len(list); i++ {
		for _, ref := range list[i].inherits {
			if p := l.byUID[ref.IRI]; p != nil && !seen[p] {
				seen[p] = true
				list = append(list, p)
			}
		}
	}
	return list
}

// inherit copies the properties and rules of the document from into the document to. If inherited is set, it leaves out the states of
// constraints, because they belong to the parent alone (ODRL IM 2.8).
func (l *Library) inherit(to, from *Document, inherited bool, seen map[string]bool) {
	outside := l.shared[from.uid]
	to.targets = union(to.targets, from.targets, outside["target"])
	to.Asset = union(to.Asset, from.Asset)
	for fn, list := range from.parties {
		to.parties[fn] = union(to.parties[fn], list)
	}
	for _, fn := range []string{"assigner", "assignee"} {
		if list := outside[fn]; len(list) > 0 {
			to.parties[fn] = union(to.parties[fn], list)
		}
	}
	for key, list := range from.relations {
		to.relations[key] = union(to.relations[key], list)
	}
	to.actions = unionActions(to.actions, from.actions)
	if inherited {
		to.profiles = union(to.profiles, from.profiles)
	}
	for _, s := range from.strategies {
		if !slices.Contains(to.strategies, s) {
			to.strategies = append(to.strategies, s)
		}
	}
	for _, rule := range from.Rules {
		if seen[rule.Pointer] {
			continue
		}
		seen[rule.Pointer] = true
		if l.budget -= rule.weight; l.budget < 0 {
			l.Problems.Errorf("too-large", from.Pointer, "the policies inherit more than %d rules in total", 10*MaxRules)
			return
		}
		if inherited {
			rule = rule.stateless()
		}
		to.Rules = append(to.Rules, rule)
	}
}

// share returns a copy of rule with the policy's shared properties added to its own. See ODRL IM, section 2.7.1.
func (d *Document) share(rule *Rule) *Rule {
	r := *rule
	r.Actions = unionActions(rule.Actions, d.actions)
	r.Targets = union(rule.Targets, d.targets)
	if len(r.Targets) == 0 {
		r.Targets = d.Asset
	}
	r.Relations, r.Parties = unionAll(rule.Relations, d.relations), unionAll(rule.Parties, d.parties)
	return &r
}

func unionAll(a, b map[string][]Reference) map[string][]Reference {
	if len(b) == 0 {
		return a
	}
	m := make(map[string][]Reference, len(a)+len(b))
	maps.Copy(m, a)
	for k, list := range b {
		m[k] = union(m[k], list)
	}
	return m
}

// union concatenates the lists. Of several references without refinements to the same thing, it keeps only the first.
func union(lists ...[]Reference) []Reference {
	var out []Reference
	seen := map[string]bool{}
	for _, list := range lists {
		for _, ref := range list {
			if len(ref.Refinements) == 0 {
				if seen[ref.Name()] {
					continue
				}
				seen[ref.Name()] = true
			}
			out = append(out, ref)
		}
	}
	return out
}

func unionActions(own, shared []Action) []Action {
	if len(shared) == 0 {
		return own
	}
	out := slices.Clone(own)
	for _, a := range shared {
		if !slices.ContainsFunc(out, func(o Action) bool { return o.Name == a.Name && len(o.Refinements)+len(a.Refinements) == 0 }) {
			out = append(out, a)
		}
	}
	return out
}

// stateless returns a copy of the rule without the states of its constraints.
func (r *Rule) stateless() *Rule {
	out := *r
	out.Constraints = stateless(r.Constraints)
	out.Actions = slices.Clone(r.Actions)
	for i := range out.Actions {
		out.Actions[i].Refinements = stateless(out.Actions[i].Refinements)
	}
	for _, list := range []*[]*Rule{&out.Duties, &out.Remedies, &out.Consequences} {
		*list = slices.Clone(*list)
		for i, child := range *list {
			(*list)[i] = child.stateless()
		}
	}
	return &out
}

func stateless(list []*Constraint) []*Constraint {
	out := slices.Clone(list)
	for i, c := range out {
		if c.Status == "" && c.Logic == "" {
			continue
		}
		plain := *c
		plain.Status, plain.state = "", Literal{}
		plain.Operands = stateless(c.Operands)
		out[i] = &plain
	}
	return out
}

// Strategy returns the conflict strategy. It returns VoidOnConflict if the policy has none or several different ones. See ODRL IM, section
// 2.10.
func (d *Document) Strategy() Strategy {
	if len(d.strategies) == 1 {
		return d.strategies[0]
	}
	return VoidOnConflict
}
