package rules

import (
	"slices"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// publishable reports everything that ODRL permits and the gateway could not enforce. Each such problem is an error, because nothing in a
// policy may be silently dropped.
func (n *normalizer) publishable() {
	for _, t := range n.d.Types {
		if grants, ok := model.PolicyTypes[t]; ok && !grants {
			n.Problems.Errorf("type", n.d.TypesAt, "a policy of type %s grants nothing: publish a Set, an Offer or an Agreement", t)
		}
	}
	if slices.Contains(n.d.Types, "Offer") && slices.Contains(n.d.Types, "Agreement") {
		n.Problems.Errorf("type", n.d.Pointer, "a policy cannot be both an Offer and an Agreement")
	}
	for _, ref := range n.d.ReplacedBy {
		n.unsupported(ref.Pointer, "isReplacedBy", "a replaced policy is void: publish the one that replaces it")
	}
	for _, r := range n.d.Rules {
		n.enforceable(r)
	}
}

func (n *normalizer) unsupported(pointer, what, advice string) {
	n.Problems.Errorf("unsupported", pointer, "%s cannot be enforced: %s", model.Quote(what), advice)
}

func (n *normalizer) enforceable(r *model.Rule) {
	for _, x := range r.Remedies {
		n.unsupported(x.Pointer, "remedy", "the gateway prevents what is prohibited, so nothing is left to remedy")
	}
	for _, x := range r.Consequences {
		n.unsupported(x.Pointer, "consequence", "the gateway cannot carry out a consequence")
	}
	for _, key := range model.SortedKeys(r.Relations) {
		for _, ref := range r.Relations[key] {
			advice := "the gateway cannot see how a result is used"
			if key == "relation" {
				advice = "use target instead"
			}
			n.unsupported(ref.Pointer, key, advice)
		}
	}
	for _, ref := range r.References() {
		n.whole(ref)
	}
	for _, fn := range model.SortedKeys(r.Parties) {
		for _, ref := range r.Parties[fn] {
			if ref.Literal {
				n.Problems.Errorf("iri", ref.Pointer, "a party must be named by an absolute IRI, not by %s", model.Quote(ref.Name()))
			}
		}
	}
	n.values(r.Constraints)
	for _, a := range r.Actions {
		n.values(a.Refinements)
	}
	for _, d := range r.Duties {
		n.enforceable(d)
	}
}

// whole reports assets and parties with refinements.
func (n *normalizer) whole(ref model.Reference) {
	if len(ref.Refinements) > 0 {
		n.unsupported(ref.Refinements[0].Pointer, "refinement", "the gateway has no facts about the members: name the permitted members themselves")
	}
}

// values reports right operands whose values the gateway would need to fetch.
func (n *normalizer) values(list []*model.Constraint) {
	for _, c := range list {
		n.values(c.Operands)
		for _, ref := range c.RightRef {
			n.unsupported(ref.Pointer, "rightOperandReference", "write the value itself as rightOperand")
		}
	}
}
