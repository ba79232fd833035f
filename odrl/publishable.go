package odrl

import "slices"

// publishable reports what ODRL has and the gateway could not see to: each refuses the policy, for
// nothing in it may be dropped in silence.
func (n *normalizer) publishable() {
	for _, t := range n.d.types {
		if grants, ok := policyTypes[t]; ok && !grants {
			n.problems.Errorf("type", n.d.typesAt, "a policy of type %s grants nothing: publish a Set, an Offer or an Agreement", t)
		}
	}
	if slices.Contains(n.d.types, "Offer") && slices.Contains(n.d.types, "Agreement") {
		n.problems.Errorf("type", n.d.pointer, "a policy cannot be an Offer and an Agreement at once")
	}
	for _, ref := range n.d.replacedBy {
		n.unsupported(ref.pointer, "isReplacedBy", "a replaced policy is void: publish the one that replaces it")
	}
	for _, r := range n.d.rules {
		n.enforceable(r)
	}
}

func (n *normalizer) unsupported(pointer, what, advice string) {
	n.problems.Errorf("unsupported", pointer, "%s cannot be enforced here: %s", quote(what), advice)
}

func (n *normalizer) enforceable(r *ruleNode) {
	for _, x := range r.remedies {
		n.unsupported(x.pointer, "remedy", "the gateway prevents what is prohibited, so nothing is left to remedy")
	}
	for _, x := range r.consequences {
		n.unsupported(x.pointer, "consequence", "the gateway cannot bring it about")
	}
	for _, key := range sortedKeys(r.relations) {
		for _, ref := range r.relations[key] {
			advice := "the gateway cannot see what is made of a result"
			if key == "relation" {
				advice = "use target"
			}
			n.unsupported(ref.pointer, key, advice)
		}
	}
	for _, ref := range r.references() {
		n.whole(ref)
	}
	for _, fn := range sortedKeys(r.parties) {
		for _, ref := range r.parties[fn] {
			if ref.literal {
				n.problems.Errorf("iri", ref.pointer, "a party is named by an absolute IRI, not %s", quote(ref.name()))
			}
		}
	}
	n.values(r.constraints)
	for _, a := range r.actions {
		n.values(a.refinements)
	}
	for _, d := range r.duties {
		n.enforceable(d)
	}
}

// whole reports assets and parties that are narrowed.
func (n *normalizer) whole(ref reference) {
	if len(ref.refinements) > 0 {
		n.unsupported(ref.refinements[0].pointer, "refinement", "the gateway does not know what it asks about: name the members themselves")
	}
}

// values reports right operands that would have to be fetched.
func (n *normalizer) values(list []*constraintNode) {
	for _, c := range list {
		n.values(c.operands)
		for _, ref := range c.rightRef {
			n.unsupported(ref.pointer, "rightOperandReference", "write the value itself as rightOperand")
		}
	}
}
