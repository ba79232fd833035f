package odrl

import (
	"maps"
	"slices"
)

// A library is the policies of one document, which may inherit from and replace one another.
type library struct {
	*names
	list   []*document
	byUID  map[string]*document
	shared sharing
	facts  *facts
	budget int // rules that expanding may still copy
}

func newLibrary(r *reader, list []*document) *library {
	l := &library{names: r.names, list: list, byUID: map[string]*document{}, shared: r.shared, facts: r.facts, budget: 10 * MaxRules}
	for _, d := range list {
		if d.uid != "" {
			l.byUID[d.uid] = d
		}
	}
	for _, relation := range []struct {
		name string
		of   map[string][]string
	}{{"partOf", r.facts.partOf}, {"includedIn", r.facts.includedIn}, {"implies", r.facts.implies}} {
		if at := cycle(relation.of); at != "" {
			l.problems.Errorf("cycle", "", "%s goes round in a circle through %s", relation.name, quote(at))
		}
	}
	l.lineage()
	return l
}

// lineage checks that what policies inherit from is in the document, and that no one inherits from
// itself. ODRL IM 2.8.
func (l *library) lineage() {
	parents := map[string][]string{}
	for _, d := range l.list {
		for _, ref := range d.inherits {
			if l.byUID[ref.iri] == nil {
				l.problems.Errorf("inherit", ref.pointer, "the parent %s is not in this document and never fetched: add it as a node of the @graph, or write the inherited rules into this policy", quote(ref.iri))
				continue
			}
			add(parents, d.uid, ref.iri)
		}
	}
	if at := cycle(parents); at != "" {
		l.problems.Errorf("inherit-cycle", l.byUID[at].pointer, "the policy %s inherits from itself", quote(at))
	}
	replaced := map[string][]string{}
	for _, d := range l.list {
		for _, ref := range d.replacedBy {
			add(replaced, d.uid, ref.iri)
		}
	}
	if at := cycle(replaced); at != "" && l.byUID[at] != nil {
		l.problems.Errorf("replaced-cycle", l.byUID[at].pointer, "the policy %s replaces itself", quote(at))
	}
}

// choose finds the policy that a document is about: the one that is asked for, else the only one that
// no other inherits from or replaces. ODRL IM 2.8 and dct:isReplacedBy of [ODRL V 2.2].
func (l *library) choose(uid string) *document {
	if uid != "" {
		d := l.byUID[uid]
		if d == nil {
			l.problems.Errorf("no-policy", "", "the document holds no policy %s", quote(uid))
			return nil
		}
		for l.successor(d) != nil {
			d = l.successor(d)
		}
		return d
	}
	var list []*document
	for _, d := range l.list {
		if !l.parent(d) {
			list = append(list, d)
		}
	}
	switch len(list) {
	case 0:
		l.problems.Errorf("no-policy", "", "the document holds no policy")
		return nil
	case 1:
		return list[0]
	default:
		l.problems.Errorf("graph", list[1].pointer, "the document holds %d policies: say by its uid which one is meant", len(list))
		return nil
	}
}

// successor is the policy of the document that stands in the place of d; nil where there is none. They
// do not go round in a circle.
func (l *library) successor(d *document) *document {
	for _, ref := range d.replacedBy {
		if next := l.byUID[ref.iri]; next != nil {
			return next
		}
	}
	return nil
}

// parent reports whether another policy of the document inherits from d, or stands in the place of d.
func (l *library) parent(d *document) bool {
	return slices.ContainsFunc(l.list, func(o *document) bool {
		return o != d && slices.ContainsFunc(o.inherits, func(ref reference) bool { return ref.iri == d.uid })
	}) || l.successor(d) != nil
}

// expanded brings a policy through steps 1 to 4 of normalisation: what others say about it, its class,
// what it inherits, and what it shares copied into each rule.
func (l *library) expanded(d *document) *document {
	out := &document{
		uid: d.uid, pointer: d.pointer, types: d.types, typesAt: d.typesAt, profiles: d.profiles, inherits: d.inherits, replacedBy: d.replacedBy, notes: d.notes, keys: d.keys, facts: l.facts,
		relations: map[string][]reference{}, parties: map[string][]reference{},
	}
	if len(out.types) == 0 || slices.Equal(out.types, []string{"Policy"}) {
		out.types = []string{"Set"}
	}
	seen := map[string]bool{}
	for _, from := range l.ancestry(d) {
		l.inherit(out, from, from != d, seen)
	}
	for i, rule := range out.rules {
		out.rules[i] = out.share(rule)
	}
	return out
}

// ancestry is the policy and everything it inherits from, nearest first.
func (l *library) ancestry(d *document) []*document {
	list := []*document{d}
	seen := map[*document]bool{d: true}
	for i := 0; i < len(list); i++ {
		for _, ref := range list[i].inherits {
			if p := l.byUID[ref.iri]; p != nil && !seen[p] {
				seen[p] = true
				list = append(list, p)
			}
		}
	}
	return list
}

// inherit adds what a policy says to its heir. ODRL IM 2.8: states are the parent's own and not passed on.
func (l *library) inherit(to, from *document, inherited bool, seen map[string]bool) {
	outside := l.shared[from.uid]
	to.targets = union(to.targets, from.targets, outside["target"])
	to.asset = union(to.asset, from.asset)
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
	for _, rule := range from.rules {
		if seen[rule.pointer] {
			continue
		}
		seen[rule.pointer] = true
		if l.budget -= rule.weight; l.budget < 0 {
			l.problems.Errorf("too-large", from.pointer, "the policies inherit more than %d rules in all", 10*MaxRules)
			return
		}
		if inherited {
			rule = rule.stateless()
		}
		to.rules = append(to.rules, rule)
	}
}

// share copies what the policy says for all its rules into one. ODRL IM 2.7.1: it adds to what the rule
// says itself.
func (d *document) share(rule *ruleNode) *ruleNode {
	r := *rule
	r.actions = unionActions(rule.actions, d.actions)
	r.targets = union(rule.targets, d.targets)
	if len(r.targets) == 0 {
		r.targets = d.asset
	}
	r.relations, r.parties = unionAll(rule.relations, d.relations), unionAll(rule.parties, d.parties)
	return &r
}

func unionAll(a, b map[string][]reference) map[string][]reference {
	if len(b) == 0 {
		return a
	}
	m := make(map[string][]reference, len(a)+len(b))
	maps.Copy(m, a)
	for k, list := range b {
		m[k] = union(m[k], list)
	}
	return m
}

// union is the references of all lists, plain ones once.
func union(lists ...[]reference) []reference {
	var out []reference
	seen := map[string]bool{}
	for _, list := range lists {
		for _, ref := range list {
			if len(ref.refinements) == 0 {
				if seen[ref.name()] {
					continue
				}
				seen[ref.name()] = true
			}
			out = append(out, ref)
		}
	}
	return out
}

func unionActions(own, shared []actionNode) []actionNode {
	if len(shared) == 0 {
		return own
	}
	out := slices.Clone(own)
	for _, a := range shared {
		if !slices.ContainsFunc(out, func(o actionNode) bool { return o.name == a.name && len(o.refinements)+len(a.refinements) == 0 }) {
			out = append(out, a)
		}
	}
	return out
}

// stateless is the rule without states of its constraints.
func (r *ruleNode) stateless() *ruleNode {
	out := *r
	out.constraints = stateless(r.constraints)
	out.actions = slices.Clone(r.actions)
	for i := range out.actions {
		out.actions[i].refinements = stateless(out.actions[i].refinements)
	}
	for _, list := range []*[]*ruleNode{&out.duties, &out.remedies, &out.consequences} {
		*list = slices.Clone(*list)
		for i, child := range *list {
			(*list)[i] = child.stateless()
		}
	}
	return &out
}

func stateless(list []*constraintNode) []*constraintNode {
	out := slices.Clone(list)
	for i, c := range out {
		if c.status == "" && c.logic == "" {
			continue
		}
		plain := *c
		plain.status, plain.state = "", literal{}
		plain.operands = stateless(c.operands)
		out[i] = &plain
	}
	return out
}

// strategy is the one that settles conflicts: several that disagree are as good as invalid. ODRL IM 2.10.
func (d *document) strategy() strategy {
	if len(d.strategies) == 1 {
		return d.strategies[0]
	}
	return voidOnConflict
}
