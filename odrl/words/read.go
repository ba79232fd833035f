package words

import (
	"slices"
	"strings"

	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// A phraser describes a policy as it is written: with all its actions, and with the names that it uses.
type phraser struct {
	*model.NormalForm
	speech
}

// sentencesOf describes the whole policy, in the order of the topics.
func sentencesOf(f *model.NormalForm) []Sentence {
	r := phraser{f, ofActs}
	out := r.nature()
	nodes := ruleNodes(f)
	for _, kind := range []model.RuleKind{model.Permission, model.Prohibition, model.Obligation} {
		for _, node := range nodes {
			if node.Kind == kind {
				out = append(out, r.rule(node))
			}
		}
	}
	return append(out, r.together()...)
}

// ruleNodes returns the rules as written, including the properties that they share through the policy, in document order.
func ruleNodes(f *model.NormalForm) []*model.Rule {
	var list []*model.Rule
	seen := map[*model.Rule]bool{}
	for _, a := range f.Rules {
		if !seen[a.Node] {
			seen[a.Node] = true
			list = append(list, a.Node)
		}
	}
	return list
}

// topics maps each kind of rule to its topic.
var topics = map[model.RuleKind]Topic{model.Permission: Permitted, model.Prohibition: Forbidden, model.Obligation: Owed}

// rule describes a permission, a prohibition or an obligation.
func (r phraser) rule(node *model.Rule) Sentence {
	s := Sentence{Topic: topics[node.Kind], Rule: node.Name(), Text: r.text(node)}
	who := r.doer(node.Parties["assignee"])
	switch node.Kind {
	case model.Permission:
		s.Terms = r.only(node)
	case model.Prohibition:
		s.Terms = r.binding(node.Constraints, "the prohibition still applies")
	default:
	}
	for _, u := range rules.UncountedOf(r.Names, node) {
		then := "the permission does not apply"
		if node.Kind == model.Prohibition {
			then = "the prohibition still applies"
		}
		s.Terms = append(s.Terms, "The limit "+u.Constraint.String()+" cannot be counted, so "+then+": "+u.Message+".")
	}
	s.Terms = append(s.Terms, r.roles(node)...)
	for _, d := range node.Duties {
		s.Terms = append(s.Terms, "Subject to this duty: "+r.owed(d, who)+"."+r.failing(d, who))
	}
	for _, d := range node.Remedies {
		s.Terms = append(s.Terms, "If it is done nevertheless, "+r.owed(d, who)+".")
	}
	if node.Kind == model.Obligation {
		if more := r.failing(node, "the party that owes it"); more != "" {
			s.Terms = append(s.Terms, more[1:])
		}
	}
	return s
}

// text returns the first sentence of a rule: who may, may not or must do what.
func (r phraser) text(node *model.Rule) string {
	who := node.Parties["assignee"]
	var text string
	switch node.Kind {
	case model.Prohibition:
		text = r.noOne() + " may "
		if len(who) > 0 {
			text = r.who(who) + " may not "
		}
		text += r.acts(node, "or") + r.ifAll(node.Constraints)
	case model.Obligation:
		text = r.owed(node, "everyone bound by the policy")
	default:
		text = r.anybody() + " may "
		if len(who) > 0 {
			text = r.who(who) + " may "
		}
		text += r.acts(node, "and")
	}
	return capital(r.stance() + text + ".")
}

// doer describes the party that owes a duty of a permission if the duty names no party.
func (r phraser) doer(who []model.Reference) string {
	if len(who) == 1 && len(who[0].Refinements) == 0 {
		return r.who(who)
	}
	return "the party that does it"
}

// failing describes the consequences if a duty is not fulfilled, as sentences that follow the duty.
func (r phraser) failing(node *model.Rule, who string) string {
	if own := node.Parties["assignee"]; len(own) > 0 {
		who = r.who(own)
	}
	var b strings.Builder
	for _, d := range node.Consequences {
		b.WriteString(" If that is not done, " + r.owed(d, who) + " as well.")
	}
	return b.String()
}

// only describes the conditions of a permission.
func (r phraser) only(node *model.Rule) []string {
	conditions := node.Constraints
	list := make([]string, 0, len(conditions)+1)
	for _, c := range conditions {
		if r.limits(c) {
			list = append(list, capital(r.times(c))+r.apart(node, c)+".")
			continue
		}
		list = append(list, "It applies only if "+r.clause(c)+".")
	}
	list = append(list, r.counted(node)...)
	return append(list, r.doubt(conditions, "the permission does not apply")...)
}

func counts(c *model.Constraint) bool {
	return c.Logic == "" && c.Left().Kind == model.Count && slices.Contains([]string{"eq", "lt", "lteq", "gt", "gteq"}, c.Operator)
}

// acts describes the actions of a rule with its assets.
func (r phraser) acts(node *model.Rule, conjunction string) string {
	what := r.assets(node, conjunction)
	list := make([]string, 0, len(node.Actions))
	for _, a := range node.Actions {
		list = append(list, r.act(node, a, what))
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

// act describes one action with its refinements.
func (r phraser) act(node *model.Rule, a model.Action, what string) string {
	s := r.verb(a.Name, what)
	if strings.Contains(what, " for which ") && slices.ContainsFunc(a.Refinements, counts) {
		s += "," // otherwise the number would seem to belong to the asset
	}
	return s + r.manner(node, a.Refinements)
}

// soThat describes refinements of an action of a duty.
func (r phraser) soThat(refinements []*model.Constraint) string { return r.manner(nil, refinements) }

// manner describes refinements of an action. node is the permission or prohibition to which limits among the refinements belong, or nil.
func (r phraser) manner(node *model.Rule, refinements []*model.Constraint) string {
	var often, list []string
	for _, c := range refinements {
		if counts(c) {
			often = append(often, " "+r.times(c)+r.apart(node, c))
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
