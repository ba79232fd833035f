// Package agent is a client for AI agents that works with any UIM service: it discovers what the service offers, fetches its policy, agrees
// to it by signature, and executes intents. It renews its Policy Adherence Token (PAT) when needed. It implements sections 2 to 5 of the
// UIM core specification. These are the usual calls:
//
//	client, err := agent.New(agent.Options{Key: key, AgentID: "my-agent"})
//	service, err := client.Discover(ctx, "shop.example")
//	policy, err := service.Policy(ctx) // read it, then accept it by its digest
//	agreement, err := service.Agree(ctx, agent.Acceptance{Digest: policy.Digest})
//	result, err := service.Execute(ctx, "shop.example:search:v1", map[string]any{"query": "tea"}, agent.ExecuteOptions{})
//
// Services are not trusted. Package fetch limits the size of documents, and does not connect to private networks. The client sends PATs and
// signatures only to the origins in the agents.json that the agreement was made under, and never through a redirect. Each origin must be
// https or the loopback address that the caller named. Only a policy whose digest the caller named is signed; if the policy changes, the
// error is a *PolicyChangedError. The errors and String methods of this package never reveal a PAT, a key or a signature.
//
// With ExecuteOptions.Via, the client sends a call to the service's MCP endpoint or as an A2A message instead. Package via encodes
// the call, and converts the response to one of the execute endpoint, so that everything else stays the same. Via does not affect
// agreements and renewals.
//
// # Retries
//
// Execute retries a call only if the retry cannot carry out or charge the call twice:
//
//   - after 429, unless the quota is exhausted
//   - after 503, unless details.outcome is done or unknown
//   - after an error whose details.outcome is not_sent
//   - after a failure to connect
//   - after it has renewed an expired PAT, or added a proof or a payment that the service asked for
//   - under an Idempotency-Key, after another 5xx response without details.outcome, and after a failure once the call was sent
//
// After not_sent or failed, it does not retry under a key that the caller gave: the service would repeat its response. The client generates
// a key for every intent that has a price or is not marked safe. It relies on a generated key only with services that accepted an agreement
// in a fresh form (see Form.Fresh), because others may ignore keys. The client always relies on a key that the caller gives. While an
// earlier call under the same key is still running, Execute waits for its response. Options.MaxWait limits the total wait.
package agent
