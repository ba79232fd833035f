package odrl

import (
	"slices"

	"github.com/uimgate/uimgate/internal/problem"
)

// natures word the policy types. ODRL IM 2.1.1, ODRL V 2.2 3.2.
var natures = map[string]string{
	"Set":       "This is a set of rules: they hold as they stand, for whom they name.",
	"Policy":    "This is a set of rules: they hold as they stand, for whom they name.",
	"Offer":     "This is an offer: it proposes these rules and grants nothing yet.",
	"Agreement": "This is an agreement: the parties it names are bound by these rules.",
	"Privacy":   "This is an agreement about personal data: the parties it names are bound by these rules.",
	"Request":   "This is a request: it asks for these rules and grants nothing.",
	"Ticket":    "This is a ticket: these rules are for whoever holds it.",
	"Assertion": "This is an assertion: it claims that these rules hold and grants nothing.",
}

// nature says what kind of policy it is, and what stands in its place or behind it.
func (r telling) nature() []Sentence {
	types := slices.Clone(r.types)
	if len(types) > 1 { // each other type is a Set as well
		types = slices.DeleteFunc(types, func(t string) bool { return t == "Set" || t == "Policy" })
	}
	if len(types) == 0 {
		types = []string{"Set"}
	}
	var texts []string
	for _, t := range types {
		words, known := natures[t]
		if !known {
			words = "This is a policy of the type " + quote(t) + "."
		}
		texts = append(texts, words)
	}
	if r.replacedBy != "" {
		texts = append(texts, "It is void: "+quote(r.replacedBy)+" replaces it.")
	}
	out := make([]Sentence, 0, len(texts))
	for _, text := range texts {
		out = append(out, Sentence{Topic: Nature, Text: text})
	}
	return out
}

// stance is how the rules of a policy that grants nothing are spoken of.
func (r telling) stance() string {
	for _, of := range []struct{ class, words string }{{"Offer", "it is offered that "}, {"Request", "it is asked that "}, {"Assertion", "it is claimed that "}} {
		if slices.Contains(r.types, of.class) {
			return of.words
		}
	}
	return ""
}

func (r telling) anybody() string {
	if slices.Contains(r.types, "Ticket") {
		return "whoever holds the ticket"
	}
	return "anyone"
}

func (r telling) nobody() string {
	if slices.Contains(r.types, "Ticket") {
		return "no holder of the ticket"
	}
	return "no one"
}

// together says how the rules work together.
func (r telling) together() []Sentence {
	has := map[ruleKind]bool{}
	duties := false
	for _, n := range r.nodes() {
		has[n.kind] = true
		duties = duties || len(n.duties) > 0
	}
	var texts []string
	if r.clashes() {
		texts = append(texts, r.settling())
	}
	if duties {
		texts = append(texts, "A permission that is subject to duties holds once they are fulfilled.")
	}
	if has[permission] && has[obligation] {
		texts = append(texts, "While something that is owed is not done, whoever owes it is permitted nothing.")
	}
	if r.grants() {
		texts = append(texts, "What no permission covers counts as not permitted.")
	}
	out := make([]Sentence, 0, len(texts))
	for _, text := range texts {
		out = append(out, Sentence{Topic: Generally, Text: text})
	}
	return out
}

// clashes reports whether some prohibition is of what some permission permits, going by the actions alone.
func (r telling) clashes() bool {
	permitted, forbidden := map[string]bool{}, map[string]bool{}
	for _, n := range r.nodes() {
		for _, a := range n.actions {
			permitted[a.name] = permitted[a.name] || n.kind == permission
			forbidden[a.name] = forbidden[a.name] || n.kind == prohibition && !slices.ContainsFunc(slices.Concat(n.constraints, a.refinements), exceeds)
		}
		if len(n.actions) == 0 { // any action
			permitted["use"] = permitted["use"] || n.kind == permission
			forbidden["use"] = forbidden["use"] || n.kind == prohibition
		}
	}
	for p := range permitted {
		for f := range forbidden {
			if permitted[p] && forbidden[f] && f != "exceedRateLimit" && (includes(p, f) || includes(f, p) || len(r.facts.includedIn)+len(r.facts.implies) > 0) {
				return true
			}
		}
	}
	return false
}

// exceeds recognises the condition of a prohibition that only bounds how often: more than so many times.
func exceeds(c *constraintNode) bool {
	return counts(c) && (c.operator == "gt" || c.operator == "gteq")
}

// settling words the conflict strategy. ODRL IM 2.10.
func (r telling) settling() string {
	strategies := slices.Clone(r.strategies)
	slices.Sort(strategies)
	switch strategies = slices.Compact(strategies); {
	case len(strategies) > 1:
		return "Where one rule permits what another forbids, the policy is void: it names several ways to settle that."
	case len(strategies) == 1 && strategies[0] == permissionWins:
		return "Where one rule permits what another forbids, it is permitted."
	case len(strategies) == 1 && strategies[0] == prohibitionWins:
		return "Where one rule permits what another forbids, it is forbidden."
	default:
		return "Where one rule permits what another forbids, the policy contradicts itself and permits nothing of it."
	}
}

// Notes are problems of a document, such as Validate finds, as sentences on it.
func Notes(warnings problem.List) []Sentence {
	out := make([]Sentence, 0, len(warnings))
	for _, p := range warnings {
		out = append(out, Sentence{Topic: Noted, Rule: p.Pointer, Text: p.Message + "."})
	}
	return out
}
