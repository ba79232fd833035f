// Package schema validates values from agents and web services against JSON Schema 2020-12. Read normalizes the schema of a parameter,
// bounds the work that the schema can cause, and compiles it. A Schema counts the steps of validation and stops when they are used up,
// because no library can be interrupted in the middle of a value. The library santhosh-tekuri/jsonschema is the reference for validity, and
// tests compare both implementations. A Transcriber validates and copies a value in one pass over its bytes.
package schema
