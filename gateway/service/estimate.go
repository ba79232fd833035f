package service

import (
	"context"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/pat"
)

// An Estimate holds the charge and the limit for one intent, as far as the policy determines them before the agent agrees.
type Estimate struct {
	Charge money.Amount // the charge for one call; zero: free
	Rate   limit.Rate   // the rate limit of the PAT
}

// Prices returns the charges that the policy may make for one call of an intent. It assumes that the agent sends a proof of key with each
// call, and has agreed without a plan. The zero amount is free. If the policy does not permit the intent to the agent, the error is a
// *reason.Refusal.
func (s *Service) Prices(ctx context.Context, agent pat.AgentID, uid string) ([]money.Amount, error) {
	if _, err := s.Executable(uid); err != nil {
		return nil, err
	}
	request, err := s.terms.termsFor(ctx, applicant{agentID: agent}, uid)
	if err != nil {
		return nil, err
	}
	if !request.Permitted || len(request.Candidates) == 0 {
		return nil, reason.InsufficientPermissions.Refusal("The policy does not permit this agent to call this intent.")
	}
	prices := make([]money.Amount, 0, len(request.Candidates))
	for _, c := range request.Candidates {
		prices = append(prices, c.Charge)
	}
	return prices, nil
}

// Estimate returns the charge and the limit that would apply if the agent agreed to this intent only. The key of the agent is unknown, and
// the agent is assumed to send no proofs of key and to choose no plan. If the policy does not permit the intent to the agent, or every call
// to the intent needs a proof, the error is a *reason.Refusal. If only a plan permits the intent, it is a *pat.PlanError.
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
	if len(scope.Omitted) > 0 && scope.Omitted[0].Reason == reason.PlanRequired {
		return Estimate{}, &pat.PlanError{Plans: scope.Plans, Omitted: scope.Omitted}
	}
	if !request.Permitted || len(scope.Entries) == 0 {
		return Estimate{}, reason.InsufficientPermissions.Refusal("The policy does not permit this agent to call this intent.")
	}
	within, refused := in.Allowed(pat.Fresh, false, request.Candidates, nil)
	if request.NeedsProof || refused != "" || len(within) == 0 {
		return Estimate{}, reason.PolicyRequiresVerification.Refusal("Each call to this intent requires a proof of key.")
	}
	return Estimate{Charge: within[0].Charge, Rate: scope.Limit}, nil
}
