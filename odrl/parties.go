package odrl

import "slices"

// assignees resolves the assignees of a rule: IRIs that name agents, or one empty name for anyone.
func (n *normalizer) assignees(refs []reference) []string {
	var list []string
	for _, ref := range refs {
		bound, seen := n.parties[ref.iri]
		if !seen {
			_, bound = n.w.Parties[ref.iri]
			n.parties[ref.iri] = bound
			switch {
			case bound:
			case n.w.AnyAssignee:
				n.problems.Warnf("assignee", ref.pointer, "the assignee %s is no known agent and read as anyone", quote(ref.iri))
			default:
				n.problems.Errorf("assignee", ref.pointer, "the assignee %s is no known agent: map it under parties, or set assignee: anyone", quote(ref.iri))
			}
		}
		if !bound {
			return []string{""}
		}
		if !slices.Contains(list, ref.iri) {
			list = append(list, ref.iri)
		}
	}
	if len(list) == 0 {
		return []string{""}
	}
	return list
}

// partyRules checks what ODRL IM 2.1.2 and 2.1.3 ask of Offers and Agreements.
func (n *normalizer) partyRules(node *ruleNode) {
	offer, agreement := slices.Contains(n.d.types, "Offer"), slices.Contains(n.d.types, "Agreement")
	if !offer && !agreement {
		return
	}
	what := "an Offer"
	if agreement {
		what = "an Agreement"
	}
	if unique(node.parties["assigner"], n.d.parties["assigner"]) != 1 {
		n.problems.Errorf("assigner", node.pointer, "every rule of %s has exactly one assigner", what)
	}
	if agreement && unique(node.parties["assignee"], n.d.parties["assignee"]) != 1 {
		n.problems.Errorf("assignee", node.pointer, "every rule of an Agreement has exactly one assignee")
	}
}

func unique(lists ...[]reference) int {
	seen := map[string]bool{}
	for _, list := range lists {
		for _, ref := range list {
			seen[ref.iri] = true
		}
	}
	return len(seen)
}
