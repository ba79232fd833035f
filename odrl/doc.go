// Package odrl reads the policy of a service, an ODRL 2.2 document in the loose style of UIM documents, and decides requests under it:
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
// Publish is for policies that the gateway enforces. It rejects everything that the gateway could not enforce: remedies and consequences,
// refinements of assets and parties, values by reference, constraints that no fact of a call can decide, and duties without a handler.
// Load, Validate and Canonical accept any ODRL 2.2 document. Evaluate decides any Question about such a document and reports on each rule;
// it implements ODRL IM 2 in full.
//
// An unknown fact never helps the caller. A constraint is true, false or unknown: a permission requires it to be true, and a prohibition or
// obligation binds unless it is false. Decide reads no counters. Before making the call, the caller must reserve all Limits and the Charge
// of one of the Candidates, trying them in order.
//
// Package internal/model reads documents, internal/rules compiles them to rules, and internal/plan turns the rules into plans. Package
// words describes policies in plain English.
package odrl
