// Package openapi converts the operations of an OpenAPI document to intents: 3.0, 3.1 (and those parts of 3.2 that 3.1 has), and Swagger
// 2.0 by conversion. It also writes the other files that a gateway needs, and updates all of them when the document changes, without
// losing the operator's edits.
//
//	curated, err := openapi.Curate(existing, false) // the present files, by name
//	if err != nil { … }
//	found, err := openapi.Convert(ctx, data, openapi.Options{Namespace: "example.com", Curation: curated})
//	if err != nil { … }
//	result, err := found.Update(existing, false)
//	for name, text := range result.Write { … }
//
// At first only operations that read are offered. The curation file (package curation) keeps people's decisions through every change of
// the document.
//
// One bad operation does not affect the others: an operation that the gateway cannot send, or that the document does not describe
// completely, is left out, with the reason. Package intents has read every returned intent, strictly.
//
// References are followed inside the document and to files of Options.Files, the only I/O of the package; nothing is fetched. Size,
// depth, files, operations and the work for each are bounded.
//
// Not supported, and reported for each operation that needs it: bodies other than JSON objects and URL-encoded forms, required cookies
// and headers of one call, responses that are not JSON, $dynamicRef, callbacks, links and webhooks.
package openapi
