package words

import (
	"slices"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl/internal/model"
)

// natures describe the policy types. ODRL IM 2.1.1, ODRL V 2.2 3.2.
var natures = map[string]string{
	"Set":       "This is a set of rules: they apply as written to the parties that they name.",
	"Policy":    "This is a set of rules: they apply as written to the parties that they name.",
	"Offer":     "This is an offer: it proposes these rules and grants nothing yet.",
	"Agreement": "This is an agreement: the parties it names are bound by these rules.",
	"Privacy":   "This is an agreement about personal data: the parties it names are bound by these rules.",
	"Request":   "This is a request: it asks for these rules and grants nothing.",
	"Ticket":    "This is a ticket: these rules are for its holder.",
	"Assertion": "This is an assertion: it claims that these rules hold, and grants nothing.",
}

// nature describes the types of the policy, and the policy that replaces it.
func (r phraser) nature() []Sentence {
	types := slices.Clone(r.Types)
	if len(types) > 1 { // every other type is also a Set
		types = slices.DeleteFunc(types, func(t string) bool { return t == "Set" || t == "Policy" })
	}
	if len(types) == 0 {
		types = []string{"Set"}
	}
	var texts []string
	for _, t := range types {
		words, known := natures[t]
		if !known {
			words = "This is a policy of the type " + model.Quote(t) + "."
		}
		texts = append(texts, words)
	}
	if r.ReplacedBy != "" {
		texts = append(texts, "It is void: "+model.Quote(r.ReplacedBy)+" replaces it.")
	}
	out := make([]Sentence, 0, len(texts))
	for _, text := range texts {
		out = append(out, Sentence{Topic: Nature, Text: text})
	}
	return out
}

// stance introduces a rule of a policy that grants nothing.
func (r phraser) stance() string {
	for _, of := range []struct{ class, words string }{
		{"Offer", "it is offered that "},
		{"Request", "it is requested that "},
		{"Assertion", "it is claimed that "},
	} {
		if slices.Contains(r.Types, of.class) {
			return of.words
		}
	}
	return ""
}

func (r phraser) anybody() string {
	if slices.Contains(r.Types, "Ticket") {
		return "the holder of the ticket"
	}
	return "anyone"
}

func (r phraser) noOne() string {
	if slices.Contains(r.Types, "Ticket") {
		return "no holder of the ticket"
	}
	return "no one"
}

// together describes how the rules work together.
func (r phraser) together() []Sentence {
	has := map[model.RuleKind]bool{}
	duties := false
	for _, n := range ruleNodes(r.NormalForm) {
		has[n.Kind] = true
		duties = duties || len(n.Duties) > 0
	}
	var texts []string
	if r.clashes() {
		texts = append(texts, r.settling())
	}
	if duties {
		texts = append(texts, "A permission that is subject to duties applies once they are fulfilled.")
	}
	if has[model.Permission] && has[model.Obligation] {
		texts = append(texts, "Until a duty is fulfilled, the party that owes it is permitted nothing.")
	}
	if r.Grants() {
		texts = append(texts, "Anything that no permission covers is not permitted.")
	}
	out := make([]Sentence, 0, len(texts))
	for _, text := range texts {
		out = append(out, Sentence{Topic: Generally, Text: text})
	}
	return out
}

// clashes reports whether a prohibition may prohibit what a permission permits. It compares only the actions.
func (r phraser) clashes() bool {
	permitted, forbidden := map[string]bool{}, map[string]bool{}
	for _, n := range ruleNodes(r.NormalForm) {
		for _, a := range n.Actions {
			permitted[a.Name] = permitted[a.Name] || n.Kind == model.Permission
			forbidden[a.Name] = forbidden[a.Name] || n.Kind == model.Prohibition &&
				!slices.ContainsFunc(slices.Concat(n.Constraints, a.Refinements), exceeds)
		}
		if len(n.Actions) == 0 { // any action
			permitted["use"] = permitted["use"] || n.Kind == model.Permission
			forbidden["use"] = forbidden["use"] || n.Kind == model.Prohibition
		}
	}
	for p := range permitted {
		for f := range forbidden {
			if permitted[p] && forbidden[f] && f != "exceedRateLimit" &&
				(model.Includes(p, f) || model.Includes(f, p) || len(r.Facts.IncludedIn)+len(r.Facts.Implies) > 0) {
				return true
			}
		}
	}
	return false
}

// exceeds reports whether a condition of a prohibition is a limit: more than a number of times.
func exceeds(c *model.Constraint) bool {
	return counts(c) && (c.Operator == "gt" || c.Operator == "gteq")
}

// settling describes the conflict strategy. See ODRL IM, section 2.10.
func (r phraser) settling() string {
	strategies := slices.Clone(r.Strategies)
	slices.Sort(strategies)
	switch strategies = slices.Compact(strategies); {
	case len(strategies) > 1:
		return "If one rule permits what another forbids, the policy is void, because it names several conflict strategies."
	case len(strategies) == 1 && strategies[0] == model.PermissionWins:
		return "If one rule permits what another forbids, it is permitted."
	case len(strategies) == 1 && strategies[0] == model.ProhibitionWins:
		return "If one rule permits what another forbids, it is forbidden."
	default:
		return "If one rule permits what another forbids, the policy contradicts itself and permits none of it."
	}
}

// Notes describes problems of a document, such as those that Validate finds.
func Notes(warnings problem.List) []Sentence {
	out := make([]Sentence, 0, len(warnings))
	for _, p := range warnings {
		out = append(out, Sentence{Topic: Noted, Rule: p.Pointer, Text: p.Message + "."})
	}
	return out
}
