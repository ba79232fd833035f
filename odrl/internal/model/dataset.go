package model

import "maps"

// hasPolicy is the property that links a description of data to the policy for that data. ODRL Vocabulary 3.2.4; DCAT 3, 7.2.
const hasPolicy = "hasPolicy"

// maxDescribed is the maximum nesting of descriptions: a catalogue contains datasets, which contain distributions, and each of them may be
// in a list.
const maxDescribed = 12

// offered returns the policies inside descriptions of data (DCAT: a catalogue, a dataset, a distribution). If neither a policy nor one of
// its rules has a target, the policy applies to the described data.
func (r *reader) offered(at Field, depth int) (policies []Field) {
	if depth > maxDescribed {
		return nil
	}
	switch v := at.Value.(type) {
	case []any:
		for _, item := range ListOf(at) {
			policies = append(policies, r.offered(item, depth+1)...)
		}
	case map[string]any:
		if r.isPolicy(v) { // a policy, not a description
			return nil
		}
		for _, raw := range SortedKeys(v) {
			member := Field{at.Pointer + "/" + escape(raw), v[raw]}
			switch {
			case raw == "@context":
			case LastName(raw) == hasPolicy:
				for _, f := range ListOf(member) {
					if policy, ok := f.Value.(map[string]any); ok && r.isPolicy(policy) {
						policies = append(policies, Field{f.Pointer, r.about(policy, r.idOf(v))})
					}
				}
			default:
				policies = append(policies, r.offered(member, depth+1)...)
			}
		}
	}
	return policies
}

// about returns a copy of policy with the given target. If the policy or one of its rules already has a target, about returns it
// unchanged.
func (r *reader) about(policy map[string]any, target string) map[string]any {
	if target == "" || r.namesTarget(policy) {
		return policy
	}
	policy = maps.Clone(policy)
	policy["http://www.w3.org/ns/odrl/2/target"] = target
	return policy
}

func (r *reader) namesTarget(node map[string]any) bool {
	for raw, v := range node {
		switch LastName(raw) {
		case "target":
			return true
		case "permission", "prohibition", "obligation":
			for _, f := range ListOf(Field{Value: v}) {
				if rule, ok := f.Value.(map[string]any); ok && r.namesTarget(rule) {
					return true
				}
			}
		}
	}
	return false
}
