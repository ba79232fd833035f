// Package e2e encrypts messages and blobs between agents of the Machine Relay Protocol, so that the relay can read neither: HPKE in Auth
// mode (RFC 9180 5.1.3) between the Ed25519 keys of agents. It has neither network nor state.
//
//	body, err := e2e.Seal(private, to, "application/json", []byte(`{"text":"secret"}`))
//	contentType, plaintext, err := e2e.Open(private, from, body)
//
// A body that opens was sealed by the holder of the private key of the sender or of the recipient, and is unchanged. The relay still sees
// who writes to whom, when and how much, and everything in a message except its body. It can deliver a body again, with other members
// around it: to detect that, put a nonce into the plaintext. Auth mode has no forward secrecy: an attacker with the recipient's private
// key can read past messages, and forge messages of others to that recipient. RFC 9180 9.1.
//
// The public pages of the protocol leave info, aad, the encoding and the layout of blobs open; they are constants here.
package e2e
