package rules

import (
	"slices"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// assignees resolves the assignees of a rule. It returns the IRIs that name agents, or a single "" if the rule applies to anyone.
func (n *normalizer) assignees(refs []model.Reference) []string {
	var list []string
	for _, ref := range refs {
		agents := n.agents(ref)
		if len(agents) == 0 {
			return []string{""}
		}
		for _, iri := range agents {
			if !slices.Contains(list, iri) {
				list = append(list, iri)
			}
		}
	}
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// agents returns the IRIs of the known agents that an assignee names: its own IRI, or those of its members that the document lists. If
// there are none, agents reports the assignee.
func (n *normalizer) agents(ref model.Reference) []string {
	name := ref.Name()
	list, seen := n.parties[name]
	if seen {
		return list
	}
	if model.Known(n.w.Parties, name) {
		list = []string{name}
	} else if n.w.facts != nil {
		for _, member := range n.w.facts.Members(name) {
			if model.Known(n.w.Parties, member) {
				list = append(list, member)
			}
		}
	}
	n.parties[name] = list
	switch {
	case len(list) > 0:
	case n.w.AnyAssignee:
		n.Problems.Warnf("assignee", ref.Pointer, "the assignee %s is not a known agent, so it is read as anyone", model.Quote(name))
	default:
		n.Problems.Errorf("assignee", ref.Pointer, "the assignee %s is not a known agent: map it under parties, or set assignee: anyone",
			model.Quote(name))
	}
	return list
}

// boundParties returns the IRIs of the agents that the policy names, sorted.
func (n *normalizer) boundParties() []string {
	all := map[string]bool{}
	for _, list := range n.parties {
		for _, iri := range list {
			all[iri] = true
		}
	}
	return model.SortedKeys(all)
}
