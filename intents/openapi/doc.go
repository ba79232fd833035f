// Package openapi makes intents of the operations that an OpenAPI document describes: 3.0, 3.1 (and what
// 3.2 has in common with it), and Swagger 2.0 by conversion. It also writes what a gateway needs beside
// them, and brings all of it up to date when the document changes, without losing what the operator edited.
//
//	found, err := openapi.Convert(ctx, data, openapi.Options{Namespace: "example.com"})
//	if err != nil { … }
//	result, err := found.Update(existing, false) // by file name: what is there now
//	for name, text := range result.Write { … }
//
// One bad operation never costs the others: what the gateway cannot send, or what the document does not
// say, leaves that operation out, with the reason. Every intent that is returned has been read back by
// package intents, strictly.
//
// The package does no I/O. References are followed inside the document and nowhere else; size, depth,
// operations and the work for each are bounded.
//
// Not supported, and listed for each operation that needs it: bodies other than JSON objects and
// URL-encoded forms, required headers and cookies, answers that are not JSON, $dynamicRef, callbacks, links
// and webhooks.
package openapi
