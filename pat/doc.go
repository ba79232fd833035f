// Package pat handles the evidence that agents agreed to policies: it verifies the signatures of agents over a policy, and issues,
// verifies, renews and revokes the resulting Policy Adherence Tokens (PATs). See UIM core, section 4.
//
// It depends neither on HTTP nor on SQL. An IssuerStore and a ViewStore keep the state that must outlive the process, and Terms describe
// the offer of a service. Package keys reads the keys of agents and manages the signing keys. These are the usual calls, once per process
// and once per service:
//
//	ring, err := keys.Open(ctx, keys.Config{Store: st, Files: files, Algorithm: keys.EdDSA, Overlap: overlap, Now: now})
//	view := pat.NewView(st, ring, now) // go view.Run(ctx, read)
//	issuer, err := pat.NewIssuer(pat.IssuerConfig{Rules: rules, Terms: terms, Store: st, Keys: ring, View: view, Now: now})
//	issued, err := issuer.Issue(ctx, pat.IssueRequest{AgentID: id, SignedPolicy: s, PublicKey: key})
//	issued, err := issuer.Issue(ctx, pat.IssueRequest{Evidence: evidence}) // in the form of another protocol
//	claims, err := issuer.Verifier().Verify(ctx, token, now())
//
// If in doubt, every function of this package denies. The errors never quote a token, a key or a signature.
package pat
