package model

import "slices"

// definition returns the policy inside a PolicyDefinition, the object in which dataspace connectors (Eclipse EDC) store a policy. The
// context of the definition applies to the policy. If the policy has no uid, it takes the @id of the definition. definition returns false
// for all other documents.
func (r *reader) definition(tree map[string]any) (Field, bool) {
	if !isDefinition(tree) {
		return Field{}, false
	}
	for _, raw := range SortedKeys(tree) {
		inner, isObject := tree[raw].(map[string]any)
		if !isObject || LastName(r.Expand(raw)) != "policy" {
			continue
		}
		at := "/" + escape(raw)
		r.aroundDefinition(tree, raw)
		if c, ok := inner["@context"]; ok {
			r.readContext(c, at+"/@context")
		}
		policy := make(map[string]any, len(inner)+1)
		for k, v := range inner {
			if k != "@context" {
				policy[k] = v
			}
		}
		if id, ok := tree["@id"].(string); ok && r.idOf(policy) == "" && Absolute(r.Expand(id)) {
			policy["@id"] = id
		}
		return Field{at, policy}, true
	}
	return Field{}, false
}

// isDefinition reports whether a document is a PolicyDefinition that contains a policy.
func isDefinition(tree map[string]any) bool {
	typed := slices.ContainsFunc(ListOf(Field{Value: tree["@type"]}), func(f Field) bool {
		s, ok := f.Value.(string)
		return ok && LastName(s) == "PolicyDefinition"
	})
	for raw, v := range tree {
		if _, isObject := v.(map[string]any); typed && isObject && LastName(raw) == "policy" {
			return true
		}
	}
	return false
}

// aroundDefinition reports the members next to the policy, which would otherwise be lost.
func (r *reader) aroundDefinition(tree map[string]any, policy string) {
	for _, raw := range SortedKeys(tree) {
		switch LastName(r.Expand(raw)) {
		case "@context", "@id", "@type", "createdAt":
		default:
			if raw != policy {
				r.Problems.Doubtf("unknown-key", "/"+escape(raw), "%s does not apply to the policy inside the definition", Quote(raw))
			}
		}
	}
}
