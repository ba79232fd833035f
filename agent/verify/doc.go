// Package verify checks whether a service conforms to UIM. It checks DNS, agents.json, the policy, search, errors, agreement, tokens and
// execution, and the other protocols that the service announces (package doors), and reports for each point whether the service conforms,
// lacks it or violates it, with the section of the specification. The list of points is checks.go. The usual call:
//
//	report, err := verify.Run(ctx, verify.Options{Target: "shop.example", Client: agent.Options{Key: key}, Agree: true})
//	if err == nil && !report.Passed() { … }
//
// It does not harm the service. Without Options.Agree it signs nothing. It calls only intents that are marked safe and have no price,
// with parameters from their descriptions. PATs and signatures are sent only where package agent would send them, and to MCP and A2A
// endpoints that are announced at the same site. The PAT is revoked at the end. Time and sizes are bounded. A Report never holds a PAT, a
// signature or the body of a response.
package verify
