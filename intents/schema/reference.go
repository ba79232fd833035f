package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/uimgate/uimgate/intents/finding"
)

// reference compiles a schema with the library whose verdicts are authoritative: JSON Schema 2020-12 with its formats asserted. It checks
// the schema against the meta-schema. The library cannot be interrupted in the middle of a value, so it judges the operator's schemas,
// once, and never values of agents.
func reference(schema any) (*jsonschema.Schema, error) {
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft2020
	compiler.AssertFormat = true
	compiler.Formats = formats
	compiler.LoadURL = func(string) (io.ReadCloser, error) { return nil, errRemote }
	const name = "urn:uimgate:parameter" // nothing is ever resolved against a urn
	if err := compiler.AddResource(name, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

var errRemote = errors.New("schemas are never loaded from elsewhere")

// Confirm checks a parameter of the operator's own document with the library: the schema, if it combines others, and whether the default
// is valid. Both implementations must agree before values of agents are checked.
func (s *Schema) Confirm(list *finding.List, at string, value any, hasDefault bool) {
	if !list.Strict || s.check.plain && !hasDefault {
		return
	}
	theirs, err := reference(s.source)
	if err != nil {
		list.Hard("schema", at, "the schema is not a valid JSON Schema 2020-12: %v", err)
		return
	}
	if hasDefault && theirs.Validate(value) != nil {
		list.Hard("default", at, "the default breaks the parameter's own schema, as JSON Schema 2020-12 has it")
	}
}
