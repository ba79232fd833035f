// Package agent is the client an AI agent uses with any UIM service: it discovers what the service
// offers, reads its policy, agrees to it by signature, and executes intents, renewing its Policy
// Adherence Token (PAT) on the way. UIM core 2 to 5. The usual call:
//
//	client, err := agent.New(agent.Options{Key: key, AgentID: "my-agent"})
//	service, err := client.Discover(ctx, "shop.example")
//	policy, err := service.Policy(ctx) // read it, then say which one you accept
//	agreement, err := service.Agree(ctx, agent.PolicySeen{Digest: policy.Digest})
//	result, err := service.Execute(ctx, "shop.example:search:v1", map[string]any{"query": "tea"}, agent.ExecuteOptions{})
//
// What a service says is a stranger's word. Documents are bounded and fetched by package fetch, which
// keeps out of private networks. PATs and signatures go only to https origins (or the loopback address
// the caller named) that stand in the agents.json agreed under, and never through a redirect. Only a
// policy whose digest the caller named is ever signed; when it changes, a *PolicyChangedError says so.
// No error and no String method of this package holds a PAT, a key or a signature.
//
// # What is repeated
//
// Execute repeats a call only where that cannot do or cost a thing twice: after 429 and 503, after a
// failure to connect, after an error whose details.outcome is not_sent, and otherwise only under an
// Idempotency-Key. It makes a key itself for every intent that is not marked safe or has a price, but
// relies on it only with services that took a fresh agreement: others may ignore such keys, unless the
// caller knows better and gives one. Waiting is bounded by Options.MaxWait.
package agent
