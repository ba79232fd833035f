package agent

import (
	"context"

	"github.com/uimgate/uimgate/evidence"
)

// maxPrices is the maximum number of prices that a Service remembers.
const maxPrices = 1000

// A statedPrice is an amount that a policy states at a rule.
type statedPrice struct{ policy, rule, amount string }

// checkPrice compares the amount of a receipt with the policy that it names, which must be the agreed one or successor. It reports no
// problem if the client does not have the policy, or cannot find the rule in it.
func (s *Service) checkPrice(ctx context.Context, session Session, e *evidence.Entry, successor string) []evidence.Problem {
	price := statedPrice{e.Policy, e.Rule, e.Amount.String()}
	s.mu.Lock()
	known := s.prices[price]
	s.mu.Unlock()
	if known || e.Rule == "" || e.Policy == "" {
		return nil
	}
	document := session.Document
	if e.Policy != session.PolicyDigest {
		policy, found := Policy{}, false
		if e.Policy == successor {
			policy, found = s.policyWith(ctx, e.Policy)
		}
		if !found {
			return nil
		}
		document = policy.Raw
	}
	states, found := evidence.StatesPrice(document, e.Rule, e.Amount)
	if !found {
		return nil
	}
	if !states {
		return []evidence.Problem{{
			Name: evidence.ProblemAmount, Where: e.ID, Detail: "the charge is not the price that the policy states at the rule",
		}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prices == nil || len(s.prices) == maxPrices {
		s.prices = map[statedPrice]bool{}
	}
	s.prices[price] = true
	return nil
}
