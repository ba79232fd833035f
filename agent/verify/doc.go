// Package verify checks whether a service conforms to UIM. It checks DNS, agents.json, the policy, search, errors, agreement, tokens and
// execution, and the other protocols that the service announces (package doors). For each point, it reports whether the service conforms,
// lacks the feature or violates the specification, and names the section. The points are listed in checks.go. This is the usual call:
//
//	report, err := verify.Run(ctx, verify.Options{Target: "shop.example", Client: agent.Options{Key: key}, Agree: true})
//	if err == nil && !report.Passed() { … }
//
// A run does not harm the service. Without Options.Agree, it signs nothing. It calls only intents that are marked safe and have no price,
// with parameters from their descriptions or from Options.Parameters. It sends PATs and signatures only to the addresses to which package
// agent would send them, and to MCP and A2A endpoints that are announced at the same site. It revokes the PAT at the end. Its duration and
// the sizes of responses are limited. A Report never contains a PAT, a signature or the body of a response.
package verify
