package model

import "maps"

// hasPolicy is the property of a description of data that refers to the policy of the offer. ODRL Vocabulary 3.2.4;
// DCAT 3, 7.2.
const hasPolicy = "hasPolicy"

// maxDescribed bounds the depth of descriptions: a catalogue, its datasets, their distributions, and lists of them.
const maxDescribed = 12

// offered returns the policies inside descriptions of data (DCAT: a catalogue, a dataset, a distribution). A policy without a target
// applies to the described data.
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
		if r.isPolicy(v) { // no description
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

// about returns a policy with a target, if neither it nor one of its rules has one.
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
