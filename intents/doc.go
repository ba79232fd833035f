// Package intents implements the catalogue of a service: it reads agents.json in every dialect found in practice, checks and compiles the
// parameters of each intent, and searches the intents.
//
// Parse creates a Catalog once, when a service is loaded. The Catalog is then read-only and safe for concurrent use:
//
//	catalog, problems := intents.Parse(data, intents.Options{Strict: true})
//	if problems.Failed() { … }
//	intent, ok := catalog.Lookup(uid)                 // a UID from ParseUID
//	filled, violations := intent.Validate(parameters) // a strictjson.Object
//	fitted, err := intent.Fit(response, false)        // the output for the agent
//
// The package does no I/O: it never loads a referenced schema from the network or from disk. See UIM core, sections 1, 2 and 5.
package intents
