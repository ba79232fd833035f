// Package schema checks values against JSON Schema 2020-12: the schemas of an operator's parameters, and the values of agents and of web
// services. Read brings a schema into a normal form, bounds the work that it can ask for, and compiles it. A Schema counts its steps,
// because no library can be stopped in the middle of a value; what is valid is what santhosh-tekuri/jsonschema accepts, and tests compare
// the two. A Transcriber checks and copies a value in one pass over its bytes.
package schema
