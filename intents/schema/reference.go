package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/uimgate/uimgate/intents/finding"
)

// reference compiles a schema with the library that is the reference for validity: JSON Schema 2020-12 with asserted formats. The library
// also checks the schema against the meta-schema. Because the library cannot be interrupted in the middle of a value, it checks only the
// operator's schemas and defaults, and never values from agents.
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
	const name = "urn:uimgate:parameter" // relative references cannot be resolved against a URN
	if err := compiler.AddResource(name, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return compiler.Compile(name)
}

var errRemote = errors.New("referenced schemas are never loaded")

// Confirm checks a parameter of the operator's document with the library, so that both implementations agree before an agent sends values.
// It checks the schema and, if hasDefault is true, the default value. Differences are problems in list. Confirm does nothing if list.Strict
// is false, or if there is no default and the schema combines no schemas.
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
		list.Hard("default", at, "the default violates the parameter's schema according to JSON Schema 2020-12")
	}
}
