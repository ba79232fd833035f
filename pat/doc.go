// Package pat keeps the evidence of who agreed to which policy: it reads agents' keys, verifies their signatures over a policy, and
// issues, verifies, renews and revokes the resulting Policy Adherence Tokens (PATs). UIM core 4.
//
// It depends neither on HTTP nor on SQL. State that must outlive the process goes through Store, private keys through KeyFiles, and Terms
// has what a service offers. The usual calls, once per process and per service:
//
//	keys, err := pat.OpenKeyring(ctx, pat.KeyringConfig{Store: st, Files: files, Algorithm: pat.EdDSA, Overlap: overlap, Now: now})
//	view := pat.NewView(st, keys, now)                       // go view.Run(ctx)
//	issuer, err := pat.NewIssuer(pat.IssuerConfig{Rules: rules, Terms: terms, Store: st, Keys: keys, View: view, Now: now})
//	issued, err := issuer.Issue(ctx, pat.IssueRequest{AgentID: id, SignedPolicy: s, PublicKey: key})
//	issued, err := issuer.Issue(ctx, pat.IssueRequest{Evidence: evidence}) // in a form of another protocol
//	claims, err := issuer.Verifier().Verify(ctx, token, now())
//
// Everything here denies when in doubt, and no error text quotes a token, a key or a signature.
package pat
