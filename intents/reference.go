package intents

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// reference compiles a schema with the library whose verdicts are ours: JSON Schema 2020-12 with its formats asserted. It
// checks the schema against the meta-schema. The library cannot be stopped in the middle of a value, so it judges what the
// operator wrote, once, and never what agents send.
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

// confirm has the library judge a parameter of the operator's own document: the schema, where it combines others, and
// whether its default fits. Both readings of a schema must agree before agents are held to it.
func (b *builder) confirm(at string, p *Parameter, schema any) {
	if !b.Strict || p.check.plain && !p.HasDefault {
		return
	}
	compiled, err := reference(schema)
	if err != nil {
		b.Hard("schema", at, "the schema is not a valid JSON Schema 2020-12: %v", err)
		return
	}
	if p.HasDefault && compiled.Validate(p.Default) != nil {
		b.Hard("default", at, "the default breaks the parameter's own schema, as JSON Schema 2020-12 has it")
	}
}
