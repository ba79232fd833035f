package config

import "reflect"

// schemaID names the schema; editors fetch it from there.
const schemaID = "https://raw.githubusercontent.com/uimgate/uimgate/main/config/schema.json"

// Schema returns the JSON Schema (2020-12) of the configuration. It accepts every file that Load accepts;
// what needs more than one value to judge is left to Load.
func Schema(b Blocks) ([]byte, error) {
	return b.types().Schema(&Config{}, schemaID, "uimgate configuration")
}

// Reference returns a configuration that writes every key out, with its default and what it means: for
// people to copy from.
func Reference(b Blocks) []byte { return b.types().Reference(reflect.TypeFor[Config](), schemaID) }
