package config

import "reflect"

// schemaID is the id of the schema. Editors fetch the schema at this URL.
const schemaID = "https://raw.githubusercontent.com/uimgate/uimgate/main/config/schema.json"

// Schema returns the JSON Schema (2020-12) of the configuration. It accepts every file that Load accepts; only Load checks conditions on
// several values.
func Schema(b Blocks) ([]byte, error) {
	return b.types().Schema(&Config{}, schemaID, "uimgate configuration")
}

// Reference returns a configuration with every key, its default and its description, for people to copy from.
func Reference(b Blocks) []byte { return b.types().Reference(reflect.TypeFor[Config](), schemaID) }
