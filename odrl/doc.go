// Package odrl reads a service's terms and decides by them: an ODRL 2.2 policy, written as loosely as UIM documents are, becomes a
// Policy, and a Policy and a Request become a Decision.
//
//	policy, problems := odrl.Publish(ctx, document, world)
//	if policy == nil {
//		return problems
//	}
//	decision, err := policy.Decide(ctx, odrl.Request{AgentID: "agent-1", Intent: uid, Now: now()})
//	if err != nil || !decision.Permit {
//		// denied
//	}
//
// Publish is for policies that the gateway enforces, and rejects by name what it could not enforce: remedies and consequences,
// refinements of assets and parties, values by reference, constraints that no fact of a call could decide, and duties without a handler.
// Load, Validate and Canonical take any ODRL 2.2 document, and Evaluate answers any Question about it, with a report per rule (ODRL IM 2,
// in full).
//
// An unknown fact never helps the caller: a constraint is true, false or unknown, a permission needs true, and a prohibition or
// obligation binds unless false. A Decision never reads a counter: the caller reserves the Limits and the Charge of one of its
// Candidates, all or none, in their order, and only then makes the call.
//
// Package internal/model reads documents, internal/rules compiles and internal/plan plans them; package words puts policies into words.
package odrl
