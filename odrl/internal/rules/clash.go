package rules

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// A clash is a permission and a prohibition that one request can meet. ODRL IM 2.10.
type clash struct {
	definite    bool // wherever the permission applies, so does the prohibition
	strategy    model.Strategy
	permission  *model.Rule
	prohibition *model.Rule
	// The request that both meet; empty where any will do.
	party, action, target string
	facts                 map[string][]string
}

// tell reports a conflict, by the strategy that settles it.
func (c clash) tell(problems *model.Findings) {
	at, p, in := c.prohibition.Pointer, c.permission.Name(), c.request()
	switch {
	case c.definite && c.strategy == model.VoidOnConflict:
		problems.Errorf("conflict", at, "always prohibits what %s permits, as in %s, which voids the policy: set conflict to prohibit or perm, or name other targets", p, in)
	case c.definite && c.strategy == model.ProhibitionWins:
		problems.Warnf("conflict", at, "always prohibits what %s permits, as in %s: that permission is without effect where both meet", p, in)
	case c.definite:
		problems.Warnf("conflict", at, "is without effect where %s permits the same, as in %s", p, in)
	case c.strategy == model.VoidOnConflict:
		problems.Warnf("conflict", at, "may prohibit what %s permits, as in %s; such requests are denied as a conflict: set conflict to prohibit or perm", p, in)
	}
}

// request words the request that both rules meet.
func (c *clash) request() string {
	parts := []string{"a request"}
	if c.party != "" {
		parts = append(parts, "of "+model.Quote(c.party))
	}
	if c.action != "" {
		parts = append(parts, "to "+c.action)
	}
	if c.target != "" {
		parts = append(parts, model.Quote(c.target))
	}
	var facts []string
	for _, name := range model.SortedKeys(c.facts) {
		facts = append(facts, name+" is "+model.Quote(strings.Join(c.facts[name], ", ")))
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
	*model.Names
	form      *model.NormalForm
	work      int
	related   map[string][]string
	canon     map[*model.Constraint]string
	literally bool // conflicts are found by names alone
}

// maxPairs bounds the pairs of rules that are compared.
const maxPairs = 1_000_000

// Analyse reports conflicts, duties to do what is prohibited, and rules that can never be active.
func Analyse(l *model.Library, f *model.NormalForm) {
	a := &analyst{Names: l.Names, form: f, related: map[string][]string{}, canon: map[*model.Constraint]string{}, literally: true}
	a.all()
}

// analyseDuties is analyseForm for a policy whose conflicts are found by what its names mean in the world.
func analyseDuties(l *model.Library, f *model.NormalForm) {
	a := &analyst{Names: l.Names, form: f, related: map[string][]string{}, canon: map[*model.Constraint]string{}}
	a.all()
}

func (a *analyst) all() {
	f := a.form
	byTarget := map[string][]*model.Atom{}
	for _, r := range f.Rules {
		if r.Kind == model.Prohibition {
			byTarget[targetName(r)] = append(byTarget[targetName(r)], r)
		}
	}
	if len(byTarget) > 0 {
		for _, r := range f.Rules {
			if !a.against(r, byTarget) {
				a.Problems.Warnf("unchecked", "", "the policy has too many rules to compare each with each for conflicts")
				break
			}
		}
	}
	a.never()
}

// against compares a rule, and its duties, with the prohibitions; false where the time is up.
func (a *analyst) against(r *model.Atom, prohibitions map[string][]*model.Atom) bool {
	if r.Kind != model.Prohibition {
		for _, f := range a.near(targetName(r), prohibitions) {
			if a.work++; a.work > maxPairs || a.Problems.Full() {
				return false
			}
			switch {
			case r.Kind == model.Obligation:
				a.duty(r, r, f)
			case a.literally:
				a.conflict(r, f)
			}
		}
	}
	for _, d := range slices.Concat(r.Duties, r.Remedies, r.Consequence) {
		for _, f := range a.near(targetName(d), prohibitions) {
			if a.work++; a.work > maxPairs {
				return false
			}
			a.duty(d, r, f)
		}
	}
	return true
}

func targetName(r *model.Atom) string {
	if r.Target == nil {
		return ""
	}
	return r.Target.Name()
}

// near lists the prohibitions whose target has to do with the named one.
func (a *analyst) near(name string, prohibitions map[string][]*model.Atom) []*model.Atom {
	if name == "" {
		var all []*model.Atom
		for _, key := range model.SortedKeys(prohibitions) {
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
	put(a.form.Facts.Collections(name))
	for _, part := range a.form.Facts.Members(name) {
		a.work += len(list) / 100
		put(a.form.Facts.Collections(part))
	}
	a.related[name] = list
	return list
}

// meeting names what one reference and another are both about: the narrower of them, or a common part.
func (a *analyst) meeting(x, y *model.Reference) (string, bool) {
	switch {
	case x == nil && y == nil:
		return "", true
	case x == nil:
		return y.Name(), true
	case y == nil:
		return x.Name(), true
	}
	facts := a.form.Facts
	if slices.Contains(facts.Collections(x.Name()), y.Name()) {
		return x.Name(), true
	}
	if slices.Contains(facts.Collections(y.Name()), x.Name()) {
		return y.Name(), true
	}
	for _, part := range facts.Members(x.Name()) {
		if slices.Contains(facts.Collections(part), y.Name()) {
			return part, true
		}
	}
	return "", false
}

// action names an action that a prohibition forbids and the other rule is about. A permission also
// asserts that what it implies is not prohibited. ODRL IM 2.4.
func (a *analyst) action(x, f *model.Atom) (string, bool) {
	switch {
	case x.Action == nil && f.Action == nil:
		return "", true
	case x.Action == nil:
		return f.Action.Name, true
	case f.Action == nil:
		return x.Action.Name, true
	}
	facts := a.form.Facts
	switch {
	case facts.Covers(f.Action.Name, x.Action.Name):
		return x.Action.Name, true
	case x.Kind == model.Permission && facts.Covers(x.Action.Name, f.Action.Name):
		return f.Action.Name, true
	case x.Kind == model.Permission:
		for _, implied := range facts.Implied(x.Action.Name) {
			if facts.Covers(f.Action.Name, implied) {
				return implied, true
			}
		}
	}
	return "", false
}

func (a *analyst) conflict(p, f *model.Atom) {
	action, ok := a.action(p, f)
	if !ok {
		return
	}
	target, ok := a.meeting(p.Target, f.Target)
	if !ok {
		return
	}
	party, ok := a.meeting(p.Parties["assignee"], f.Parties["assignee"])
	if !ok {
		return
	}
	mine, theirs := demandsOf(p, false), demandsOf(f, true)
	example, ok := satisfiable(a.Names, slices.Concat(mine, theirs))
	if !ok {
		return
	}
	clash{
		definite: a.within(theirs, mine), strategy: a.form.Strategy(), permission: p.Node, prohibition: f.Node,
		party: party, action: action, target: target, facts: example,
	}.tell(a.Problems)
}

// within reports whether everything the first demands the second demands too.
func (a *analyst) within(few, many []demand) bool {
	have := map[string]bool{}
	for _, d := range many {
		have[d.scope+" "+a.canonical(d.c)] = true
	}
	return !slices.ContainsFunc(few, func(d demand) bool { return !have[d.scope+" "+a.canonical(d.c)] })
}

func (a *analyst) canonical(c *model.Constraint) string {
	s, ok := a.canon[c]
	if !ok {
		s = model.CanonicalConstraint(c)
		a.canon[c] = s
	}
	return s
}

// demandsOf are all conditions under which a rule is active and matches a request.
func demandsOf(r *model.Atom, loose bool) []demand {
	list := demandAll("", r.Constraints, loose)
	if r.Action != nil {
		list = append(list, demandAll("action", r.Action.Refinements, loose)...)
	}
	if r.Target != nil {
		list = append(list, demandAll("target", r.Target.Refinements, loose)...)
	}
	if who := r.Parties["assignee"]; who != nil {
		list = append(list, demandAll("party", who.Refinements, loose)...)
	}
	return list
}

// duty reports a duty to do what is prohibited. It has the parties of the rule that it belongs to.
func (a *analyst) duty(d, of, f *model.Atom) {
	action, ok := a.action(d, f)
	if !ok || d.Action == nil || d.Target == nil {
		return
	}
	who := d.Parties["assignee"]
	if who == nil {
		who = of.Parties["assignee"]
	}
	target, ok := a.meeting(d.Target, f.Target)
	if !ok {
		return
	}
	if _, ok := a.meeting(who, f.Parties["assignee"]); !ok {
		return
	}
	if _, ok := satisfiable(a.Names, slices.Concat(demandsOf(d, true), demandsOf(f, true))); !ok {
		return
	}
	a.Problems.Warnf("duty-conflict", d.Node.Pointer, "the %s to %s %s is what %s prohibits", d.Kind, action, model.Quote(target), f.Node.Name())
}

// never reports rules whose conditions cannot all be true.
func (a *analyst) never() {
	seen := map[*model.Rule]bool{}
	var look func(list []*model.Atom)
	look = func(list []*model.Atom) {
		for _, r := range list {
			if seen[r.Node] || a.Problems.Warned() {
				continue
			}
			seen[r.Node] = true
			a.neverActive(r)
			look(slices.Concat(r.Duties, r.Remedies, r.Consequence))
		}
	}
	look(a.form.Rules)
}

func (a *analyst) neverActive(r *model.Atom) {
	n := len(demandsOf(r, false))
	if a.work += n * n / 100; n == 0 || a.work > maxPairs {
		return
	}
	if _, ok := satisfiable(a.Names, demandAll("", r.Constraints, false)); !ok {
		a.Problems.Warnf("never", r.Node.Pointer, "the %s can never be active: its constraints contradict one another%s", r.Kind, binds(r.Kind))
		return
	}
	if _, ok := satisfiable(a.Names, demandsOf(r, false)); !ok {
		a.Problems.Warnf("never", r.Node.Pointer, "the %s can never apply: its refinements contradict one another or its constraints%s", r.Kind, binds(r.Kind))
	}
}

// binds says what remains of a rule that can never be active.
func binds(k model.RuleKind) string {
	if k == model.Permission {
		return ""
	}
	return "; it binds only where a fact they ask for is not known"
}
