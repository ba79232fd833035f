// Package verify checks whether a service conforms to UIM: it goes through DNS, agents.json, the policy, search, errors,
// agreement, tokens and execution, and what the service announces of other protocols (package doors), and reports for each
// point whether it holds, is missing or is wrong, with the section it comes from. The list of points is checks.go. The usual
// call:
//
//	report, err := verify.Run(ctx, verify.Options{Target: "shop.example", Client: agent.Options{Key: key}, Agree: true})
//	if err == nil && !report.Passed() { … }
//
// It does the service no harm: without Options.Agree nothing is signed; only intents that are marked safe and have no
// price are called, with parameters that their descriptions give; PATs and signatures are sent where package agent would
// send them, to the MCP and A2A endpoints that are announced at the same site, and nowhere else, and the PAT is revoked in the
// end. Time and sizes are bounded. No text of a Report holds a PAT, a signature or the body of an answer.
package verify
