// Package mrp has the messages between an agent and a relay of the Machine Relay Protocol, version 1: keys and signatures of requests,
// profiles, messages, attachments, frames of the WebSocket, deliveries of webhooks and errors. It has neither network nor state.
//
//	k, err := wire.ParseKey("A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg")
//	auth, refused := wire.ReadAuth(r.Header)
//	refused = auth.Verify(r.Method, r.RequestURI, wire.Sum(body))
//
// The protocol is the one of https://docs.mrphub.io. Its pages leave some choices open; choices.go and docs/protocols/mrp.md list ours.
package mrp
