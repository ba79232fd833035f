// Package openapi makes intents of the operations that an OpenAPI document describes: 3.0, 3.1 (and what 3.2 has in
// common with it), and Swagger 2.0 by conversion. It also writes the other files a gateway needs, and updates all of
// them when the document changes, without losing the operator's edits.
//
//	curated, err := openapi.Curate(existing, false) // the present files, by name
//	if err != nil { … }
//	found, err := openapi.Convert(ctx, data, openapi.Options{Namespace: "example.com", Curation: curated})
//	if err != nil { … }
//	result, err := found.Update(existing, false)
//	for name, text := range result.Write { … }
//
// At first only operations that read are offered. What people decide stands in the curation file (package curation), and
// outlives every change of the document.
//
// One bad operation has no effect on the others: an operation that the gateway cannot send, or that the document does
// not describe completely, is left out, with the reason. Every intent that is returned has been read by package
// intents, strictly.
//
// References are followed inside the document and to files of Options.Files, the only I/O of the package; nothing is
// fetched. Size, depth, files, operations and the work for each are bounded.
//
// Not supported, and listed for each operation that needs it: bodies other than JSON objects and URL-encoded forms,
// required cookies and headers of one call, answers that are not JSON, $dynamicRef, callbacks, links and webhooks.
package openapi
