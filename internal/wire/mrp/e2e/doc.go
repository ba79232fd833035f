// Package e2e encrypts messages and blobs between agents of the Machine Relay Protocol, so that the relay cannot read them. It uses HPKE
// in Auth mode (RFC 9180 5.1.3) with the Ed25519 keys of the agents. It does no I/O and keeps no state.
//
//	body, err := e2e.Seal(private, to, "application/json", []byte(`{"text":"secret"}`))
//	contentType, plaintext, err := e2e.Open(private, from, body)
//
// If a body opens, the holder of the private key of the sender or of the recipient sealed it, and it is unchanged. The relay still sees who
// writes to whom, when and how much, and everything in a message except its body. It can also deliver the same body again in a message with
// other members; to detect this, put a nonce into the plaintext. Auth mode has no forward secrecy: an attacker with the recipient's private
// key can read past messages, and can forge messages from any sender to that recipient. See RFC 9180, section 9.1.
//
// The public pages of the protocol do not specify info, aad, the encoding and the layout of blobs. This package defines constants for
// them.
package e2e
