package words

import (
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// An Effect is the effect of a change on an agent that acts under the policy.
type Effect string

// The effects. For a single change, Mixed means that the effect depends on the call or is unknown.
const (
	Same   Effect = "same"
	Better Effect = "better"
	Worse  Effect = "worse"
	Mixed  Effect = "mixed"
)

// reverse returns the effect of the opposite change.
func (e Effect) reverse() Effect {
	switch e {
	case Better:
		return Worse
	case Worse:
		return Better
	default:
		return e
	}
}

// and returns the combined effect.
func (e Effect) and(other Effect) Effect {
	switch {
	case e == other || other == Same:
		return e
	case e == Same:
		return other
	default:
		return Mixed
	}
}

// A Change is one difference between two policies, for the agents that act under them.
type Change struct {
	Effect Effect `json:"effect"`
	// Old and New are the uid or JSON pointer of the rule in each policy. One is empty if that policy does not have the rule; both are empty
	// if the change does not concern a single rule.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// About describes the rule in plain words, as it is in the new policy or, if the new policy does not have it, in the old one.
	About string `json:"about,omitempty"`
	Text  string `json:"text"`
}

// A Comparison lists the changes for agents when one policy replaces another.
type Comparison struct {
	Verdict Effect   `json:"verdict"`
	Changes []Change `json:"changes"`
	// Decided is the result of Judge, which evaluates both policies; nil if they were not evaluated.
	Decided *Decisions `json:"decided,omitempty"`
}

// Compare returns the changes for agents if one policy replaces another. It compares meanings: documents with different text and the same
// meaning have no Changes. It matches rules by action, target and assignee, and the remaining rules by uid. Compare does not consider how
// several rules work together: the Verdict combines the effects of the single changes, until Judge evaluates both policies.
func Compare(old, new *odrl.Policy) Comparison { //nolint:revive // the usual names
	from, _ := old.Model()
	to, _ := new.Model()
	c := comparer{
		old: phraser{from, ofActs}, new: phraser{to, ofActs}, of: map[Change][]*model.Atom{},
		canon: canon{map[*model.Atom]string{}, map[*model.Rule]string{}},
	}
	c.policies()
	before, after := c.remaining()
	before, after = c.pair(before, after, identity)
	before, after = c.pair(before, after, named)
	c.gone(before)
	c.come(after)
	return c.comparison()
}

// A comparer compares two policies.
type comparer struct {
	old, new phraser
	changes  []Change
	canon    canon
	of       map[Change][]*model.Atom // the rules of the new policy that a change concerns
}

// add records a change that concerns a rule of the new policy, or no rule. The parts into which one rule of the document was split often
// change in the same way, and are reported together.
func (c *comparer) add(change Change, of *model.Atom) {
	if _, stated := c.of[change]; !stated {
		c.changes = append(c.changes, change)
	}
	c.of[change] = append(c.of[change], of)
}

// comparison returns all changes that were added.
func (c *comparer) comparison() Comparison {
	out := Comparison{Verdict: Same, Changes: []Change{}}
	whole := wholeRules(c.new.NormalForm)
	for _, change := range c.changes {
		out.Verdict = out.Verdict.and(change.Effect)
		if c.of[change][0] == nil {
			out.Changes = append(out.Changes, change)
			continue
		}
		for _, g := range gather(c.of[change], whole) {
			change.About = c.new.text(g.node)
			out.Changes = append(out.Changes, change)
		}
	}
	return out
}

// policies compares the properties that concern a whole policy.
func (c *comparer) policies() {
	o, n := c.old, c.new
	if !slices.Equal(slices.Sorted(slices.Values(o.Types)), slices.Sorted(slices.Values(n.Types))) {
		effect := Mixed
		if o.Grants() != n.Grants() {
			effect = map[bool]Effect{true: Better, false: Worse}[n.Grants()]
		}
		c.add(Change{Effect: effect, Text: n.nature()[0].Text + " Before: " + o.nature()[0].Text}, nil)
	}
	if o.ReplacedBy != n.ReplacedBy {
		text := "The policy is in force again."
		effect := Better
		if n.ReplacedBy != "" {
			text, effect = "The policy is void: "+model.Quote(n.ReplacedBy)+" replaces it.", Worse
		}
		c.add(Change{Effect: effect, Text: text}, nil)
	}
	if (o.clashes() || n.clashes()) && o.settling() != n.settling() {
		c.add(Change{Effect: settled(n.Strategies).against(settled(o.Strategies)), Text: n.settling() + " Before: " + o.settling()}, nil)
	}
	if !sameFacts(o.Facts, n.Facts) {
		c.add(Change{Effect: Mixed, Text: "The document defines collections or actions differently."}, nil)
	}
}

// A settlement orders conflict strategies by how much they permit.
type settlement int

func settled(list []model.Strategy) settlement {
	switch {
	case len(list) == 1 && list[0] == model.PermissionWins:
		return 1
	default: // a request that is both permitted and forbidden is not permitted
		return 0
	}
}

func (s settlement) against(before settlement) Effect {
	switch {
	case s > before:
		return Better
	case s < before:
		return Worse
	default:
		return Same
	}
}

func sameFacts(f *model.Facts, other *model.Facts) bool {
	relation := func(a, b map[string][]string) bool {
		return maps.EqualFunc(a, b, func(x, y []string) bool {
			return slices.Equal(slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y)))
		})
	}
	return relation(f.PartOf, other.PartOf) && relation(f.IncludedIn, other.IncludedIn) &&
		relation(f.Implies, other.Implies) && relation(f.Instances, other.Instances)
}

// remaining returns the rules of each policy that have no equal rule in the other.
func (c *comparer) remaining() (before, after []*model.Atom) {
	count := map[string]int{}
	for _, a := range c.old.Rules {
		count[c.canon.of(a)]++
	}
	for _, a := range c.new.Rules {
		if m := c.canon.of(a); count[m] > 0 {
			count[m]--
		} else {
			after = append(after, a)
		}
	}
	for _, a := range slices.Backward(c.old.Rules) { // among equal rules, the first ones were matched
		if m := c.canon.of(a); count[m] > 0 {
			count[m]--
			before = append(before, a)
		}
	}
	slices.Reverse(before)
	return before, after
}

// named returns the kind and the uid of a rule, or "" if it has no uid.
func named(a *model.Atom) string {
	if a.Node.UID == "" {
		return ""
	}
	return a.Kind.String() + " " + a.Node.UID
}

// pair compares rules that have the same key, in document order, and returns the other rules. A rule with an empty key matches no other
// rule.
func (c *comparer) pair(before, after []*model.Atom, key func(*model.Atom) string) (left, right []*model.Atom) {
	waiting := map[string][]*model.Atom{}
	for _, a := range before {
		if k := key(a); k != "" {
			waiting[k] = append(waiting[k], a)
		}
	}
	met := map[*model.Atom]bool{}
	for _, n := range after {
		k := key(n)
		if list := waiting[k]; k != "" && len(list) > 0 {
			waiting[k] = list[1:]
			met[list[0]] = true
			c.rule(list[0], n)
			continue
		}
		right = append(right, n)
	}
	for _, a := range before {
		if !met[a] {
			left = append(left, a)
		}
	}
	return left, right
}

// effects maps each kind of rule to the effect of adding such a rule.
var effects = map[model.RuleKind]Effect{model.Permission: Better, model.Prohibition: Worse, model.Obligation: Worse}

func (c *comparer) gone(list []*model.Atom) {
	for _, g := range gather(list, wholeRules(c.old.NormalForm)) {
		c.add(Change{
			Effect: effects[g.kind].reverse(), Old: g.node.Name(), About: c.old.text(g.node),
			Text: "This " + g.kind.String() + " has been removed.",
		}, nil)
	}
}

func (c *comparer) come(list []*model.Atom) {
	for _, g := range gather(list, wholeRules(c.new.NormalForm)) {
		s := c.new.rule(g.node)
		text := strings.Join(append([]string{"This " + g.kind.String() + " is new."}, s.Terms...), " ")
		c.add(Change{Effect: effects[g.kind], New: g.node.Name(), About: s.Text, Text: text}, nil)
	}
}

// wholeRules returns the number of parts into which each rule of the document was split.
func wholeRules(f *model.NormalForm) map[*model.Rule]int {
	whole := map[*model.Rule]int{}
	for _, a := range f.Rules {
		whole[a.Node]++
	}
	return whole
}

// A ruleGroup is one or all parts of a rule of the document. node is a rule with the meaning of these parts.
type ruleGroup struct {
	kind model.RuleKind
	node *model.Rule
}

// gather groups the parts of a rule of the document if the list contains all of them. Otherwise each part remains separate. whole is the
// number of parts of each rule.
func gather(list []*model.Atom, whole map[*model.Rule]int) []ruleGroup {
	parts := map[*model.Rule]int{}
	for _, a := range list {
		parts[a.Node]++
	}
	done := map[*model.Rule]bool{}
	var out []ruleGroup
	for _, a := range list {
		switch {
		case parts[a.Node] < whole[a.Node]:
			out = append(out, ruleGroup{a.Kind, aloneOf(a)})
		case !done[a.Node]:
			done[a.Node] = true
			out = append(out, ruleGroup{a.Kind, a.Node})
		}
	}
	return out
}

// aloneOf returns one part of a rule as a complete rule.
func aloneOf(a *model.Atom) *model.Rule {
	n := *a.Node
	n.Actions, n.Targets, n.Parties = nil, nil, map[string][]model.Reference{}
	if a.Action != nil {
		n.Actions = []model.Action{*a.Action}
	}
	if a.Target != nil {
		n.Targets = []model.Reference{*a.Target}
	}
	for function, who := range a.Parties {
		n.Parties[function] = []model.Reference{*who}
	}
	return &n
}
