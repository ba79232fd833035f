package rules

import (
	"cmp"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// An analyst reports how the rules of a policy affect each other.
type analyst struct {
	*compiler
	form    *model.NormalForm
	work    int
	related map[string][]string
	claims  map[*model.Atom]claim
}

func newAnalyst(k *compiler, f *model.NormalForm) *analyst {
	return &analyst{compiler: k, form: f, related: map[string][]string{}, claims: map[*model.Atom]claim{}}
}

// maxPairs is the maximum number of pairs of rules whose names are compared.
const maxPairs = 1_000_000

// Analyse reports conflicts, duties to perform prohibited actions, rules that can never be active, and limits that cannot be enforced by
// counting. It compares names as written, using the statements of the document about collections and actions.
func Analyse(l *model.Library, f *model.NormalForm) {
	a := newAnalyst(newCompiler(l.Names, literal), f)
	a.uncounted()
	a.all(true)
}

// uncounted reports limits that cannot be enforced by counting.
func (a *analyst) uncounted() {
	for _, r := range a.form.Rules {
		if a.Problems.Warned() {
			return
		}
		for _, u := range UncountedOf(a.Names, r.Node) {
			a.Problems.Warnf(u.Code, u.Pointer, "%s", u.Message)
		}
	}
}

// A ruleMatch is a request that two rules match. An empty field means any value.
type ruleMatch struct{ party, action, target string }

// A claim holds the conditions for a rule to apply.
type claim struct {
	demands []demand
	names   map[string]bool // the scopes and canonical texts of the demands
}

func (a *analyst) claimOf(demands []demand) claim {
	c := claim{demands, make(map[string]bool, len(demands))}
	for _, d := range demands {
		c.names[d.scope+" "+a.canonicalOf(d.c)] = true
	}
	return c
}

// conflict reports a permission and a prohibition that can both apply to one request. The message depends on the strategy of the policy
// (ODRL IM 2.10) and names such a request; at returns the request without facts. conflict returns false if no searches for facts are left.
func (a *analyst) conflict(permission, prohibition *model.Rule, mine, theirs claim, at func() ruleMatch) bool {
	definite := model.Within(theirs.names, mine.names) // wherever the permission applies, so does the prohibition
	strategy := a.form.Strategy()
	switch voids := strategy == model.VoidOnConflict; {
	case definite && voids: // reported as an error
	case !definite && !voids, a.Problems.Warned():
		return true // nothing to report
	}
	facts, possible := satisfiable(a.Names, slices.Concat(mine.demands, theirs.demands))
	switch {
	case a.Searched > maxSearches: // the search was interrupted
		return false
	case !possible:
		return true
	}
	pointer, p, in := prohibition.Pointer, permission.Name(), at().request(facts)
	switch {
	case definite && strategy == model.VoidOnConflict:
		a.Problems.Errorf("conflict", pointer,
			"this rule always prohibits what %s permits, as in %s, which voids the policy: set conflict to prohibit or perm, or name other targets", p, in)
	case definite && strategy == model.ProhibitionWins:
		a.Problems.Warnf("conflict", pointer, "this rule always prohibits what %s permits, as in %s: that permission has no effect where both apply",
			p, in)
	case definite:
		a.Problems.Warnf("conflict", pointer, "this prohibition has no effect where %s permits the same, as in %s", p, in)
	default:
		a.Problems.Warnf("conflict", pointer,
			"this rule may prohibit what %s permits, as in %s; such requests are denied as a conflict: set conflict to prohibit or perm", p, in)
	}
	return true
}

// request describes the request and the given facts for a message.
func (m ruleMatch) request(values map[string][]string) string {
	parts := []string{"a request"}
	if m.party != "" {
		parts = append(parts, "by "+model.Quote(m.party))
	}
	if m.action != "" {
		parts = append(parts, "to "+m.action)
	}
	if m.target != "" {
		parts = append(parts, model.Quote(m.target))
	}
	var facts []string
	for _, name := range model.SortedKeys(values) {
		facts = append(facts, name+" is "+model.Quote(strings.Join(values[name], ", ")))
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

// all reports duties to perform prohibited actions, rules that are never active and, if conflicts is set, conflicts between rules by their
// names.
func (a *analyst) all(conflicts bool) {
	byTarget := map[string][]*model.Atom{}
	for _, r := range a.form.Rules {
		if r.Kind == model.Prohibition {
			byTarget[targetName(r)] = append(byTarget[targetName(r)], r)
		}
	}
	for _, r := range a.form.Rules {
		if len(byTarget) > 0 && !a.against(r, byTarget, conflicts) {
			a.Problems.Warnf("unchecked", "", "the policy has too many rules to check every pair for conflicts")
			break
		}
	}
	a.never()
}

// against compares a rule and its duties with the prohibitions. It returns false if the permitted work is used up.
func (a *analyst) against(r *model.Atom, prohibitions map[string][]*model.Atom, conflicts bool) bool {
	if r.Kind != model.Prohibition {
		for _, f := range a.near(targetName(r), prohibitions) {
			if a.work++; a.work > maxPairs || a.Problems.Full() {
				return false
			}
			if r.Kind == model.Obligation {
				a.duty(r, r, f)
			} else if conflicts && !a.permitted(r, f) {
				return false
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

// permitted reports a conflict between a permission and a prohibition, by their names. It returns false if the permitted work is used up.
func (a *analyst) permitted(p, f *model.Atom) bool {
	at, ok := a.meet(p, f, p.Parties["assignee"])
	return !ok || a.conflict(p.Node, f.Node, a.claim(p, false), a.claim(f, true), func() ruleMatch { return at })
}

// claim returns the requirements of a permission or prohibition. It caches the result.
func (a *analyst) claim(r *model.Atom, loose bool) claim {
	c, known := a.claims[r]
	if !known {
		c = a.claimOf(demandsOf(r, loose))
		a.claims[r] = c
	}
	return c
}

func targetName(r *model.Atom) string {
	if r.Target == nil {
		return ""
	}
	return r.Target.Name()
}

// near returns the prohibitions whose target is related to the named asset. An empty name is related to all targets.
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

// relatives returns the asset or party itself, everything that it is part of, its parts, and everything that its parts are part of.
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

// meet returns a request whose names match both a rule for the given party and a prohibition.
func (a *analyst) meet(x, f *model.Atom, party *model.Reference) (at ruleMatch, ok bool) {
	if at.action, ok = a.action(x, f); !ok {
		return at, false
	}
	if at.target, ok = a.common(x.Target, f.Target); !ok {
		return at, false
	}
	at.party, ok = a.common(party, f.Parties["assignee"])
	return at, ok
}

// common returns the name of the part that two references share: the narrower of the two, or a common part.
func (a *analyst) common(x, y *model.Reference) (string, bool) {
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

// action returns an action that a prohibition forbids and the other rule concerns. A permission also asserts that the actions that it
// implies are not prohibited. See ODRL IM, section 2.4.
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

// demandsOf returns all conditions that must hold for a rule to be active and to match a request.
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

// duty reports a duty d to perform an action that f prohibits. If d has no assignee, it has that of the rule to which it belongs.
func (a *analyst) duty(d, of, f *model.Atom) {
	if d.Action == nil || d.Target == nil {
		return
	}
	at, ok := a.meet(d, f, cmp.Or(d.Parties["assignee"], of.Parties["assignee"]))
	if !ok {
		return
	}
	if _, ok := satisfiable(a.Names, slices.Concat(demandsOf(d, true), demandsOf(f, true))); ok {
		a.Problems.Warnf("duty-conflict", d.Node.Pointer, "the %s to %s %s requires what %s prohibits", d.Kind, at.action, model.Quote(at.target),
			f.Node.Name())
	}
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
		a.Problems.Warnf("never", r.Node.Pointer, "the %s can never apply: its refinements contradict its constraints or one another%s",
			r.Kind, binds(r.Kind))
	}
}

// binds returns the end of a message about a rule that can never be active: in which cases it still binds.
func binds(k model.RuleKind) string {
	if k == model.Permission {
		return ""
	}
	return "; it binds only if a fact that they need is unknown"
}
