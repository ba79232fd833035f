// Package schema checks values against JSON Schema 2020-12: the schemas of an operator's parameters, and the values of agents and of web
// services. Read normalizes a schema, bounds the work that it can cause, and compiles it. A Schema counts its steps, because no library
// can be interrupted in the middle of a value; what santhosh-tekuri/jsonschema accepts is valid, and tests compare the two. A Transcriber
// checks and copies a value in one pass over its bytes.
package schema
