package skill

import (
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// attributePlan is the name with which an agent could try to choose a plan: in a query, in a counter-offer, or in an acceptance.
const attributePlan = "plan"

// choosesPlan reports whether a message tries to choose a plan. In a query, the configuration can give the name another meaning.
func (v *Variables) choosesPlan(m protocol.FIPAMessage) bool {
	switch m.Performative {
	case protocol.FIPACFP:
		return v.Attributes[attributePlan] == "" && m.Query.Mentions(attributePlan)
	case protocol.FIPAPropose:
		return m.Proposal.Value(attributePlan) != nil
	default:
		return m.Info[attributePlan] != ""
	}
}

// noPlan returns the refusal of a negotiation that tries to choose a plan. An agent must never agree to terms that it does not expect.
func noPlan(of *service.Service) *reason.Refusal {
	return reason.UnknownPlan.Refusal("A negotiation cannot choose a plan, because the text that the agent signs does not contain one.").
		With("plans", append([]string{}, of.Policy.Plans()...)).
		With("suggestion", "Negotiate without a plan, or agree over HTTP with one of details.plans as declared.plan of a fresh agreement.")
}
