// Package mrp is a client of relays of the Machine Relay Protocol, whoever runs them: agents send each other messages, find each
// other and keep files there. The usual call:
//
//	key, err := mrp.LoadKey("agent.seed")
//	c, err := mrp.New(mrp.Options{Relay: "https://relay.mrphub.io", Key: key})
//	err = c.Listen(ctx, mrp.Listening{}, func(ctx context.Context, m wire.Message) error {
//		return answer(ctx, m) // nil: the message is done with
//	})
//
// An agent is its key: there is no account, a key that is lost cannot be had again, and one that is stolen cannot be changed. The
// signature of a request does not name the relay, so a relay could send it on to another within some minutes: use one key for each.
//
// Relays are not trusted. Everything that they send is bounded, what is no message of the protocol for this agent is left out, and
// addresses are guarded by package fetch. A relay's word about who sent a message is its word alone; what Open opens was sealed by
// its sender.
//
// # Retries
//
// Requests are repeated after 429, 500, 502, 503 and 504 and where the relay was not reached, after the wait that it asks for or a
// growing one; once more where it took a signature for one that it has seen, or where the clocks differ. Each repetition is signed
// anew. Send gives every message an idempotency_key, an extension by which a relay knows a repetition; one that does not know it
// may deliver a message twice. An upload is repeated only where it was certainly not done.
package mrp
