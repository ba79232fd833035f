package odrl

import (
	"slices"
	"strings"
)

// A clash is a permission and a prohibition that one request can meet. ODRL IM 2.10.
type clash struct {
	definite    bool // wherever the permission applies, so does the prohibition
	strategy    strategy
	permission  *ruleNode
	prohibition *ruleNode
	// The request that both meet; empty where any will do.
	party, action, target string
	facts                 map[string][]string
}

// tell reports a conflict, by the strategy that settles it.
func (c clash) tell(problems *findings) {
	at, p, in := c.prohibition.pointer, c.permission.name(), c.request()
	switch {
	case c.definite && c.strategy == voidOnConflict:
		problems.Errorf("conflict", at, "always prohibits what %s permits, as in %s, which voids the policy: set conflict to prohibit or perm, or name other targets", p, in)
	case c.definite && c.strategy == prohibitionWins:
		problems.Warnf("conflict", at, "always prohibits what %s permits, as in %s: that permission is without effect where both meet", p, in)
	case c.definite:
		problems.Warnf("conflict", at, "is without effect where %s permits the same, as in %s", p, in)
	case c.strategy == voidOnConflict:
		problems.Warnf("conflict", at, "may prohibit what %s permits, as in %s; such requests are denied as a conflict: set conflict to prohibit or perm", p, in)
	}
}

// request words the request that both rules meet.
func (c *clash) request() string {
	parts := []string{"a request"}
	if c.party != "" {
		parts = append(parts, "of "+quote(c.party))
	}
	if c.action != "" {
		parts = append(parts, "to "+c.action)
	}
	if c.target != "" {
		parts = append(parts, quote(c.target))
	}
	var facts []string
	for _, name := range sortedKeys(c.facts) {
		facts = append(facts, name+" is "+quote(strings.Join(c.facts[name], ", ")))
	}
	const most = 5
	if len(facts) > most {
		facts = append(facts[:most], "…")
	}
	if facts != nil {
		parts = append(parts, "where "+strings.Join(facts, " and "))
	}
	return strings.Join(parts, " ")
}

// An analyst looks at what the rules of a policy in normal form do to one another. Names are compared as
// they stand; what the document says of collections and actions counts.
type analyst struct {
	*names
	form      *normalForm
	work      int
	related   map[string][]string
	canon     map[*constraintNode]string
	literally bool // conflicts are found by names alone
}

// maxPairs bounds the pairs of rules that are compared.
const maxPairs = 1_000_000

// analyseForm reports conflicts, duties to do what is prohibited, and rules that can never be active.
func analyseForm(l *library, f *normalForm) {
	a := &analyst{names: l.names, form: f, related: map[string][]string{}, canon: map[*constraintNode]string{}, literally: true}
	a.all()
}

// analyseDuties is analyseForm for a policy whose conflicts are found by what its names mean in the world.
func analyseDuties(l *library, f *normalForm) {
	a := &analyst{names: l.names, form: f, related: map[string][]string{}, canon: map[*constraintNode]string{}}
	a.all()
}

func (a *analyst) all() {
	f := a.form
	byTarget := map[string][]*atom{}
	for _, r := range f.rules {
		if r.kind == prohibition {
			byTarget[targetName(r)] = append(byTarget[targetName(r)], r)
		}
	}
	if len(byTarget) > 0 {
		for _, r := range f.rules {
			if !a.against(r, byTarget) {
				a.problems.Warnf("unchecked", "", "the policy has too many rules to compare each with each for conflicts")
				break
			}
		}
	}
	a.never()
}

// against compares a rule, and its duties, with the prohibitions; false where the time is up.
func (a *analyst) against(r *atom, prohibitions map[string][]*atom) bool {
	if r.kind != prohibition {
		for _, f := range a.near(targetName(r), prohibitions) {
			if a.work++; a.work > maxPairs || a.problems.full() {
				return false
			}
			switch {
			case r.kind == obligation:
				a.duty(r, r, f)
			case a.literally:
				a.conflict(r, f)
			}
		}
	}
	for _, d := range slices.Concat(r.duties, r.remedies, r.consequence) {
		for _, f := range a.near(targetName(d), prohibitions) {
			if a.work++; a.work > maxPairs {
				return false
			}
			a.duty(d, r, f)
		}
	}
	return true
}

func targetName(r *atom) string {
	if r.target == nil {
		return ""
	}
	return r.target.name()
}

// near lists the prohibitions whose target has to do with the named one.
func (a *analyst) near(name string, prohibitions map[string][]*atom) []*atom {
	if name == "" {
		var all []*atom
		for _, key := range sortedKeys(prohibitions) {
			all = append(all, prohibitions[key]...)
		}
		return all
	}
	list := slices.Clone(prohibitions[""])
	for _, other := range a.relatives(name) {
		list = append(list, prohibitions[other]...)
	}
	return list
}

// relatives are the asset or party itself, what it is part of, its parts, and what those are part of.
func (a *analyst) relatives(name string) []string {
	list, known := a.related[name]
	if known {
		return list
	}
	seen := map[string]bool{}
	put := func(names []string) {
		for _, n := range names {
			if !seen[n] {
				seen[n] = true
				list = append(list, n)
			}
		}
	}
	put(a.form.facts.collections(name))
	for _, part := range a.form.facts.members(name) {
		a.work += len(list) / 100
		put(a.form.facts.collections(part))
	}
	a.related[name] = list
	return list
}

// meeting names what one reference and another are both about: the narrower of them, or a common part.
func (a *analyst) meeting(x, y *reference) (string, bool) {
	switch {
	case x == nil && y == nil:
		return "", true
	case x == nil:
		return y.name(), true
	case y == nil:
		return x.name(), true
	}
	facts := a.form.facts
	if slices.Contains(facts.collections(x.name()), y.name()) {
		return x.name(), true
	}
	if slices.Contains(facts.collections(y.name()), x.name()) {
		return y.name(), true
	}
	for _, part := range facts.members(x.name()) {
		if slices.Contains(facts.collections(part), y.name()) {
			return part, true
		}
	}
	return "", false
}

// action names an action that a prohibition forbids and the other rule is about. A permission also
// asserts that what it implies is not prohibited. ODRL IM 2.4.
func (a *analyst) action(x, f *atom) (string, bool) {
	switch {
	case x.action == nil && f.action == nil:
		return "", true
	case x.action == nil:
		return f.action.name, true
	case f.action == nil:
		return x.action.name, true
	}
	facts := a.form.facts
	switch {
	case facts.covers(f.action.name, x.action.name):
		return x.action.name, true
	case x.kind == permission && facts.covers(x.action.name, f.action.name):
		return f.action.name, true
	case x.kind == permission:
		for _, implied := range facts.implied(x.action.name) {
			if facts.covers(f.action.name, implied) {
				return implied, true
			}
		}
	}
	return "", false
}

func (a *analyst) conflict(p, f *atom) {
	action, ok := a.action(p, f)
	if !ok {
		return
	}
	target, ok := a.meeting(p.target, f.target)
	if !ok {
		return
	}
	party, ok := a.meeting(p.parties["assignee"], f.parties["assignee"])
	if !ok {
		return
	}
	mine, theirs := demandsOf(p, false), demandsOf(f, true)
	example, ok := satisfiable(a.names, slices.Concat(mine, theirs))
	if !ok {
		return
	}
	clash{
		definite: a.within(theirs, mine), strategy: a.form.strategy(), permission: p.node, prohibition: f.node,
		party: party, action: action, target: target, facts: example,
	}.tell(a.problems)
}

// within reports whether everything the first demands the second demands too.
func (a *analyst) within(few, many []demand) bool {
	have := map[string]bool{}
	for _, d := range many {
		have[d.scope+" "+a.canonical(d.c)] = true
	}
	return !slices.ContainsFunc(few, func(d demand) bool { return !have[d.scope+" "+a.canonical(d.c)] })
}

func (a *analyst) canonical(c *constraintNode) string {
	s, ok := a.canon[c]
	if !ok {
		s = canonicalConstraint(c)
		a.canon[c] = s
	}
	return s
}

// demandsOf are all conditions under which a rule is active and matches a request.
func demandsOf(r *atom, loose bool) []demand {
	list := conjunction("", r.constraints, loose)
	if r.action != nil {
		list = append(list, conjunction("action", r.action.refinements, loose)...)
	}
	if r.target != nil {
		list = append(list, conjunction("target", r.target.refinements, loose)...)
	}
	if who := r.parties["assignee"]; who != nil {
		list = append(list, conjunction("party", who.refinements, loose)...)
	}
	return list
}

// duty reports a duty to do what is prohibited. It has the parties of the rule that it belongs to.
func (a *analyst) duty(d, of, f *atom) {
	action, ok := a.action(d, f)
	if !ok || d.action == nil || d.target == nil {
		return
	}
	who := d.parties["assignee"]
	if who == nil {
		who = of.parties["assignee"]
	}
	target, ok := a.meeting(d.target, f.target)
	if !ok {
		return
	}
	if _, ok := a.meeting(who, f.parties["assignee"]); !ok {
		return
	}
	if _, ok := satisfiable(a.names, slices.Concat(demandsOf(d, true), demandsOf(f, true))); !ok {
		return
	}
	a.problems.Warnf("duty-conflict", d.node.pointer, "the %s to %s %s is what %s prohibits", d.kind, action, quote(target), f.node.name())
}

// never reports rules whose conditions cannot all be true.
func (a *analyst) never() {
	seen := map[*ruleNode]bool{}
	var look func(list []*atom)
	look = func(list []*atom) {
		for _, r := range list {
			if seen[r.node] || a.problems.warned() {
				continue
			}
			seen[r.node] = true
			a.neverActive(r)
			look(slices.Concat(r.duties, r.remedies, r.consequence))
		}
	}
	look(a.form.rules)
}

func (a *analyst) neverActive(r *atom) {
	n := len(demandsOf(r, false))
	if a.work += n * n / 100; n == 0 || a.work > maxPairs {
		return
	}
	if _, ok := satisfiable(a.names, conjunction("", r.constraints, false)); !ok {
		a.problems.Warnf("never", r.node.pointer, "the %s can never be active: its constraints contradict one another%s", r.kind, binds(r.kind))
		return
	}
	if _, ok := satisfiable(a.names, demandsOf(r, false)); !ok {
		a.problems.Warnf("never", r.node.pointer, "the %s can never apply: its refinements contradict one another or its constraints%s", r.kind, binds(r.kind))
	}
}

// binds says what remains of a rule that can never be active.
func binds(k ruleKind) string {
	if k == permission {
		return ""
	}
	return "; it binds only where a fact they ask for is not known"
}
