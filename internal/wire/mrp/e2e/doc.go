// Package e2e encrypts messages and blobs between agents of the Machine Relay Protocol, so that the relay reads neither: HPKE in
// Auth mode (RFC 9180 5.1.3) between the Ed25519 keys that agents are. It has neither network nor state.
//
//	body, err := e2e.Seal(private, to, "application/json", []byte(`{"text":"secret"}`))
//	contentType, plaintext, err := e2e.Open(private, from, body)
//
// What opens was sealed by who has the private key of the sender or of the recipient, and is as it was. The relay still sees who
// writes to whom, when and how much, and everything in a message beside its body. It can deliver a body again, with other members
// around it: who needs that to be noticed puts a nonce into what is sealed. Auth mode has no forward secrecy: who steals the
// recipient's private key can read what was sent, and forge what others seem to have sent to that recipient. RFC 9180 9.1.
//
// The public pages of the protocol leave info, aad, the encoding and the layout of blobs open; they are constants here.
package e2e
