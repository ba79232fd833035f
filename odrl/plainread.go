package odrl

import (
	"slices"
	"strings"
)

// A telling words a policy as it stands: of any action, with the names that it uses.
type telling struct {
	*normalForm
	speech
}

// sentences words the whole policy, in the order of the topics.
func (f *normalForm) sentences() []Sentence {
	r := telling{f, ofActs}
	out := r.nature()
	nodes := f.nodes()
	for _, kind := range []ruleKind{permission, prohibition, obligation} {
		for _, node := range nodes {
			if node.kind == kind {
				out = append(out, r.rule(node))
			}
		}
	}
	return append(out, r.together()...)
}

// nodes are the rules as they are written, with what the policy shares, in document order.
func (f *normalForm) nodes() []*ruleNode {
	var list []*ruleNode
	seen := map[*ruleNode]bool{}
	for _, a := range f.rules {
		if !seen[a.node] {
			seen[a.node] = true
			list = append(list, a.node)
		}
	}
	return list
}

// topics are those of the kinds of rules.
var topics = map[ruleKind]Topic{permission: Permitted, prohibition: Forbidden, obligation: Owed}

// rule words a permission, a prohibition or an obligation.
func (r telling) rule(node *ruleNode) Sentence {
	s := Sentence{Topic: topics[node.kind], Rule: node.name(), Text: r.text(node)}
	who := r.doer(node.parties["assignee"])
	switch node.kind {
	case permission:
		s.Terms = r.only(node.constraints)
	case prohibition:
		s.Terms = r.doubt(node.constraints, "the prohibition holds all the same")
	default:
	}
	s.Terms = append(s.Terms, r.roles(node)...)
	for _, d := range node.duties {
		s.Terms = append(s.Terms, "Subject to this duty: "+r.owed(d, who)+"."+r.failing(d, who))
	}
	for _, d := range node.remedies {
		s.Terms = append(s.Terms, "If it is done all the same, "+r.owed(d, who)+".")
	}
	if node.kind == obligation {
		if more := r.failing(node, "whoever owes it"); more != "" {
			s.Terms = append(s.Terms, more[1:])
		}
	}
	return s
}

// text is the first sentence of a rule: who may, may not or must do what.
func (r telling) text(node *ruleNode) string {
	who := node.parties["assignee"]
	var text string
	switch node.kind {
	case prohibition:
		text = r.nobody() + " may "
		if len(who) > 0 {
			text = r.who(who) + " may not "
		}
		text += r.acts(node, "or") + r.ifAll(node.constraints)
	case obligation:
		text = r.owed(node, "everyone whom the policy binds")
	default:
		text = r.anybody() + " may "
		if len(who) > 0 {
			text = r.who(who) + " may "
		}
		text += r.acts(node, "and")
	}
	return capital(r.stance() + text + ".")
}

// doer is who owes a duty that names nobody.
func (r telling) doer(who []reference) string {
	if len(who) == 1 && len(who[0].refinements) == 0 {
		return r.who(who)
	}
	return "whoever does it"
}

// failing says what follows where a duty is not met, as a sentence behind it.
func (r telling) failing(node *ruleNode, who string) string {
	if own := node.parties["assignee"]; len(own) > 0 {
		who = r.who(own)
	}
	var b strings.Builder
	for _, d := range node.consequences {
		b.WriteString(" If that is not done, " + r.owed(d, who) + " as well.")
	}
	return b.String()
}

// only words the conditions of a permission.
func (r telling) only(conditions []*constraintNode) []string {
	list := make([]string, 0, len(conditions)+1)
	for _, c := range conditions {
		if counts(c) && len(c.right) == 1 {
			list = append(list, capital(r.times(c))+".")
			continue
		}
		list = append(list, "Only if "+r.clause(c)+".")
	}
	return append(list, r.doubt(conditions, "the permission does not apply")...)
}

func counts(c *constraintNode) bool {
	return c.logic == "" && (c.operand == "count" || c.operand == "rateLimit") && slices.Contains([]string{"eq", "lt", "lteq", "gt", "gteq"}, c.operator)
}

// acts words the actions of a rule with its assets.
func (r telling) acts(node *ruleNode, conjunction string) string {
	what := r.assets(node, conjunction)
	list := make([]string, 0, len(node.actions))
	for _, a := range node.actions {
		list = append(list, r.act(a, what))
	}
	switch {
	case len(list) == 0:
		return verb("use", what)
	case len(list) == 1:
		return list[0]
	default:
		return "do " + map[string]string{"and": "each", "or": "any"}[conjunction] + " of these: " + strings.Join(list, "; ")
	}
}

// act words one action with its refinements.
func (r telling) act(a actionNode, what string) string {
	s := verb(a.name, what)
	if strings.Contains(what, " for which ") && slices.ContainsFunc(a.refinements, counts) {
		s += "," // or the number would seem to belong to the asset
	}
	return s + r.soThat(a.refinements)
}

// soThat words refinements of an action.
func (r telling) soThat(refinements []*constraintNode) string {
	var often, list []string
	for _, c := range refinements {
		if counts(c) {
			often = append(often, " "+r.times(c))
			continue
		}
		list = append(list, r.clause(c))
	}
	s := strings.Join(often, " and")
	if len(list) > 0 {
		s += ", in such a way that " + strings.Join(list, ", and ")
	}
	return s
}
