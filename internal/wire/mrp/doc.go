// Package mrp implements the wire format of the Machine Relay Protocol, version 1, between an agent and a relay: keys, request signatures,
// profiles, messages, attachments, WebSocket frames, webhook deliveries and errors. It does no I/O and keeps no state.
//
//	k, err := wire.ParseKey("A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg")
//	auth, refused := wire.ReadAuth(r.Header)
//	refused = auth.Verify(r.Method, r.RequestURI, wire.Sum(body))
//
// The protocol is documented at https://docs.mrphub.io. The documentation leaves some choices open; choices.go and docs/protocols/mrp.md
// list the choices that this implementation makes.
package mrp
