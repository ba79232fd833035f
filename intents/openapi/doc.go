// Package openapi converts the operations of an OpenAPI document to intents. It reads OpenAPI 3.0, 3.1 and those parts of 3.2 that 3.1
// has, and converts Swagger 2.0. It also writes the other files that a gateway needs, and updates all files when the document changes,
// without losing the operator's edits.
//
//	curated, err := openapi.Curate(existing, false) // the existing files, by name
//	if err != nil { … }
//	found, err := openapi.Convert(ctx, data, openapi.Options{Namespace: "example.com", Curation: curated})
//	if err != nil { … }
//	result, err := found.Update(existing, false)
//	for name, text := range result.Write { … }
//
// At first, only operations that read are offered. The curation file (package curation) preserves people's decisions when the document
// changes.
//
// An operation that the gateway cannot send, or that the document describes incompletely, is omitted and reported with the reason. It
// does not affect other operations. Every returned intent has passed the strict checks of package intents.
//
// The package follows references inside the document and to files in Options.Files, which is its only I/O; it never fetches anything. It
// bounds the size and depth of the document, the number of files and operations, and the work for each operation.
//
// Convert reports each operation that needs an unsupported feature:
//
//   - a body that is not a JSON object, a form, a file or plain text
//   - a required cookie
//   - a required header that depends on the call
//   - a response that is a redirect, an HTML page, an event stream or multipart
//
// It ignores $dynamicRef, callbacks, links and webhooks.
package openapi
