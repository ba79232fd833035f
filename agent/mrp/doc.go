// Package mrp is a client of any relay of the Machine Relay Protocol: agents send each other messages, find each other and keep files
// there. The usual call:
//
//	key, err := mrp.LoadKey("agent.seed")
//	c, err := mrp.New(mrp.Options{Relay: "https://relay.mrphub.io", Key: key})
//	err = c.Listen(ctx, mrp.ListenOptions{}, func(ctx context.Context, m wire.Message) error {
//		return answer(ctx, m) // nil: the message was processed
//	})
//
// An agent is its key: there is no account, a lost key cannot be recovered, and a stolen one cannot be changed. The signature of a
// request does not name the relay, so a relay could send the request on to another within some minutes: use one key for each.
//
// Relays are not trusted. Everything that they send is bounded, anything that is not a message of the protocol for this agent is skipped,
// and package fetch guards addresses. A relay does not prove who sent a message; the sender has sealed what Open opens.
//
// # Retries
//
// The client repeats requests after 429, 500, 502, 503 and 504 and if it did not reach the relay, after the wait that the relay asks for
// or a growing one; and once more if the relay took a signature for one that it has seen, or if the clocks differ. Each repetition is
// signed again. Send gives every message an idempotency_key, an extension by which a relay recognises a repetition; a relay without it
// may deliver a message twice. An upload is repeated only if it certainly did not happen.
package mrp
