// Package intents is the catalogue of a service: it reads agents.json in every dialect found in practice, checks and compiles the
// parameters of each intent, and searches them.
//
// A Catalog is made once, at load, and is then read-only and safe for concurrent use:
//
//	catalog, problems := intents.Parse(data, intents.Options{Strict: true})
//	if problems.Failed() { … }
//	intent, ok := catalog.Lookup(uid)                 // a UID made by ParseUID
//	filled, violations := intent.Validate(parameters) // a strictjson.Object
//	fitted, err := intent.Fit(answer, false)          // for the agent
//
// The package does no I/O: it never reads a schema reference from the network or a disk. UIM core 1, 2 and 5.
package intents
