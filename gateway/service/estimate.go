package service

import (
	"context"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// An Estimate is the price and the limit of one intent under the policy, as far as they are known before the agent agrees.
type Estimate struct {
	Charge money.Amount // of one call; zero: free
	Rate   limit.Rate   // of the PAT
}

// Estimate returns the charge and the limit that an agreement to one intent alone would have for an agent whose key is unknown, and which
// cannot prove a call. If the agent has no right to the intent, or every call of it needs a proof, the error is a *reason.Refusal.
func (s *Service) Estimate(ctx context.Context, agent pat.AgentID, uid string) (Estimate, error) {
	in, err := s.Executable(uid)
	if err != nil {
		return Estimate{}, err
	}
	scope, err := s.terms.Scope(ctx, pat.ScopeRequest{AgentID: agent, Assurance: pat.Fresh, Requested: []string{entry(uid)}})
	if err != nil {
		return Estimate{}, err
	}
	request, err := s.terms.termsFor(ctx, applicant{agentID: agent}, uid)
	if err != nil {
		return Estimate{}, err
	}
	if !request.Permitted || len(scope.Entries) == 0 {
		return Estimate{}, reason.InsufficientPermissions.Refusal("The policy does not permit this intent to the agent.")
	}
	within, refused := in.Allowed(pat.Fresh, false, request.Candidates)
	if request.NeedsProof || refused != "" || len(within) == 0 {
		return Estimate{}, reason.PolicyRequiresVerification.Refusal("Calls of this intent need a proof with the agent's key.")
	}
	return Estimate{Charge: within[0].Charge, Rate: scope.Limit}, nil
}
