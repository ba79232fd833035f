package odrl

import (
	"maps"
	"slices"
	"strings"
)

// An Effect says what a change is to an agent that acts under the policy.
type Effect string

// The effects. Of a single change Mixed means that it depends, or cannot be told.
const (
	Same   Effect = "same"
	Better Effect = "better"
	Worse  Effect = "worse"
	Mixed  Effect = "mixed"
)

// reverse is the effect of the opposite change.
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

// and is the effect of both together.
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
	// Old and New name the rule in each policy, by its uid or JSON pointer; one is empty where the rule
	// is not there, both where the change is of no rule.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
	// About is the rule in plain words, as the policy with the rule has it, the new one first.
	About string `json:"about,omitempty"`
	Text  string `json:"text"`
}

// A Comparison says what changes for agents where one policy takes the place of another.
type Comparison struct {
	Verdict Effect   `json:"verdict"`
	Changes []Change `json:"changes"`
}

// Compare says what changes for agents from one policy to another, by what they mean: documents that are
// written differently and say the same have no Changes. Rules belong together by what they are about
// (action, target and assignee), else by their uid. What several rules do together is not judged: the
// Verdict sums up the changes one by one.
func Compare(old, new *Policy) Comparison { //nolint:revive // the words for it
	from, _ := old.Model()
	to, _ := new.Model()
	c := comparer{old: telling{from, ofActs}, new: telling{to, ofActs}, of: map[Change][]*atom{}, canon: canon{map[*atom]string{}, map[*ruleNode]string{}}}
	c.policies()
	before, after := c.remaining()
	before, after = c.pair(before, after, (*atom).identity)
	before, after = c.pair(before, after, named)
	c.gone(before)
	c.come(after)
	return c.comparison()
}

// A comparer compares two policies.
type comparer struct {
	old, new telling
	changes  []Change
	canon    canon
	of       map[Change][]*atom // the rules of the new policy that a change is of
}

// say adds a change of a rule in the new policy, or of no rule. Rules that one rule as written was split
// into often change alike, and are told of together.
func (c *comparer) say(change Change, of *atom) {
	if _, said := c.of[change]; !said {
		c.changes = append(c.changes, change)
	}
	c.of[change] = append(c.of[change], of)
}

// comparison is all that was said.
func (c *comparer) comparison() Comparison {
	out := Comparison{Verdict: Same, Changes: []Change{}}
	whole := c.new.wholes()
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

// policies compares what is said of the whole policy.
func (c *comparer) policies() {
	o, n := c.old, c.new
	if !slices.Equal(slices.Sorted(slices.Values(o.types)), slices.Sorted(slices.Values(n.types))) {
		effect := Mixed
		if o.grants() != n.grants() {
			effect = map[bool]Effect{true: Better, false: Worse}[n.grants()]
		}
		c.say(Change{Effect: effect, Text: n.nature()[0].Text + " Before: " + o.nature()[0].Text}, nil)
	}
	if o.replacedBy != n.replacedBy {
		text := "The policy is in force again."
		effect := Better
		if n.replacedBy != "" {
			text, effect = "The policy is void: "+quote(n.replacedBy)+" replaces it.", Worse
		}
		c.say(Change{Effect: effect, Text: text}, nil)
	}
	if (o.clashes() || n.clashes()) && o.settling() != n.settling() {
		c.say(Change{Effect: settled(n.strategies).against(settled(o.strategies)), Text: n.settling() + " Before: " + o.settling()}, nil)
	}
	if !o.facts.same(n.facts) {
		c.say(Change{Effect: Mixed, Text: "What the document says of the members of collections, or of actions, is different."}, nil)
	}
}

// A settlement orders conflict strategies by what they leave to agents.
type settlement int

func settled(list []strategy) settlement {
	switch {
	case len(list) == 1 && list[0] == permissionWins:
		return 1
	default: // nothing that is both permitted and forbidden
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

func (f *facts) same(other *facts) bool {
	relation := func(a, b map[string][]string) bool {
		return maps.EqualFunc(a, b, func(x, y []string) bool {
			return slices.Equal(slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y)))
		})
	}
	return relation(f.partOf, other.partOf) && relation(f.includedIn, other.includedIn) && relation(f.implies, other.implies) && relation(f.instances, other.instances)
}

// remaining are the rules of each policy that the other does not have as they are.
func (c *comparer) remaining() (before, after []*atom) {
	count := map[string]int{}
	for _, a := range c.old.rules {
		count[c.canon.of(a)]++
	}
	for _, a := range c.new.rules {
		if m := c.canon.of(a); count[m] > 0 {
			count[m]--
		} else {
			after = append(after, a)
		}
	}
	for _, a := range slices.Backward(c.old.rules) { // of equal rules the first have met theirs
		if m := c.canon.of(a); count[m] > 0 {
			count[m]--
			before = append(before, a)
		}
	}
	slices.Reverse(before)
	return before, after
}

// named is what a rule is called, with its kind; empty where it has no uid.
func named(a *atom) string {
	if a.node.uid == "" {
		return ""
	}
	return a.kind.String() + " " + a.node.uid
}

// pair compares the rules of one key with each other, in document order, and returns what is left over.
// An empty key fits none.
func (c *comparer) pair(before, after []*atom, key func(*atom) string) (left, right []*atom) {
	waiting := map[string][]*atom{}
	for _, a := range before {
		if k := key(a); k != "" {
			waiting[k] = append(waiting[k], a)
		}
	}
	met := map[*atom]bool{}
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

// effects say what it is to agents that a rule of each kind is there.
var effects = map[ruleKind]Effect{permission: Better, prohibition: Worse, obligation: Worse}

func (c *comparer) gone(list []*atom) {
	for _, g := range gather(list, c.old.wholes()) {
		c.say(Change{
			Effect: effects[g.kind].reverse(), Old: g.node.name(), About: c.old.text(g.node), Text: "This " + g.kind.String() + " is no longer there.",
		}, nil)
	}
}

func (c *comparer) come(list []*atom) {
	for _, g := range gather(list, c.new.wholes()) {
		s := c.new.rule(g.node)
		text := strings.Join(append([]string{"This " + g.kind.String() + " is new."}, s.Terms...), " ")
		c.say(Change{Effect: effects[g.kind], New: g.node.name(), About: s.Text, Text: text}, nil)
	}
}

// wholes counts the rules that each rule as written was split into.
func (f *normalForm) wholes() map[*ruleNode]int {
	whole := map[*ruleNode]int{}
	for _, a := range f.rules {
		whole[a.node]++
	}
	return whole
}

// A gathered is some of the rules that one rule as written was split into, as a rule that says as much.
type gathered struct {
	kind ruleKind
	node *ruleNode
}

// gather puts together rules that are split from one, where all of it is in the list; the others stand
// for themselves. whole is how many rules each was split into.
func gather(list []*atom, whole map[*ruleNode]int) []gathered {
	parts := map[*ruleNode]int{}
	for _, a := range list {
		parts[a.node]++
	}
	done := map[*ruleNode]bool{}
	var out []gathered
	for _, a := range list {
		switch {
		case parts[a.node] < whole[a.node]:
			out = append(out, gathered{a.kind, a.alone()})
		case !done[a.node]:
			done[a.node] = true
			out = append(out, gathered{a.kind, a.node})
		}
	}
	return out
}

// alone is the rule as it would be written by itself.
func (a *atom) alone() *ruleNode {
	n := *a.node
	n.actions, n.targets, n.parties = nil, nil, map[string][]reference{}
	if a.action != nil {
		n.actions = []actionNode{*a.action}
	}
	if a.target != nil {
		n.targets = []reference{*a.target}
	}
	for function, who := range a.parties {
		n.parties[function] = []reference{*who}
	}
	return &n
}
