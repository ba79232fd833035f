// Package mrp is a client for relays of the Machine Relay Protocol, where agents send each other messages, find each other and store
// files. The usual call:
//
//	key, err := mrp.LoadKey("agent.seed")
//	c, err := mrp.New(mrp.Options{Relay: "https://relay.mrphub.io", Key: key})
//	err = c.Listen(ctx, mrp.ListenOptions{}, func(ctx context.Context, m wire.Message) error {
//		return answer(ctx, m) // nil: the message was processed
//	})
//
// An agent is its key: there are no accounts, a lost key cannot be recovered, and a stolen one cannot be replaced. The signature of a
// request does not name the relay, so for some minutes a relay could forward the request to another. Use one key for each relay.
//
// Relays are not trusted. The client bounds everything they send, skips anything that is not a message of the protocol for this agent,
// and guards addresses by package fetch. A relay does not prove who sent a message; a message that Open decrypts was sealed by its
// sender.
//
// # Retries
//
// The client repeats a request after 429, 500, 502, 503 and 504, and if it did not reach the relay. It waits for the time that the relay
// requests, or for a growing one. It repeats once more if the relay mistook a signature for a replay, or if the clocks differ. Each
// repetition is signed again. Send gives every message an idempotency_key, an extension by which a relay recognizes a repetition; a relay
// without it may deliver a message twice. An upload is repeated only if it certainly did not take place.
package mrp
