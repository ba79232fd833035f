// Package client is a client for relays of the Machine Relay Protocol, through which agents send each other messages, find each other and
// store files. These are the usual calls:
//
//	key, err := client.LoadKey("agent.seed")
//	c, err := client.New(client.Options{Relay: "https://relay.mrphub.io", Key: key})
//	err = c.Listen(ctx, client.ListenOptions{}, func(ctx context.Context, m wire.Message) error {
//		return answer(ctx, m) // nil means that the message was processed
//	})
//
// An agent is its key: there are no accounts, a lost key cannot be recovered, and a stolen one cannot be replaced. The signature of a
// request does not name the relay, so for some minutes a relay could forward the request to another relay. Use one key for each relay.
//
// Relays are not trusted. The client limits the size of everything that they send, skips anything that is not a message of the
// protocol for this agent, and connects only through package fetch, which refuses private addresses. A relay does not prove who
// sent a message; a message that Open decrypts was sealed by its sender.
//
// # Retries
//
// The client retries a request after status 429, 500, 502, 503 or 504, and if the exchange fails, for example because the
// connection is lost. It waits as long as the relay requests, or with an increasing delay. It retries once more if the relay
// mistook a signature for a replay, or if the clocks differ. Each retry has a new signature. Send gives every message an
// idempotency_key, an extension with which a relay recognizes a retry; a relay that does not support the extension may deliver a
// message twice. An upload is retried only if the relay certainly did not store the blob.
package client
