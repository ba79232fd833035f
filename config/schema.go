package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// SchemaID names the schema; editors fetch it from there.
const SchemaID = "https://raw.githubusercontent.com/uimgate/uimgate/main/config/schema.json"

// expandable matches a value that is only known after expansion.
const expandable = `\$\{`

// Schema is the JSON Schema (2020-12) of the configuration, made from the same tags as the decoder. It
// accepts every file that Load accepts; what needs more than one value to judge is left to Load.
func Schema() ([]byte, error) {
	leafSchemas := func(t reflect.Type) *jsonschema.Schema {
		for _, t := range []reflect.Type{t, reflect.PointerTo(t)} { // the Reflector looks through pointers
			if l, ok := leafOf(t); ok {
				return leafSchema(t, l)
			}
		}
		return nil
	}
	r := &jsonschema.Reflector{FieldNameTag: "yaml", DoNotReference: true, Anonymous: true, RequiredFromJSONSchemaTags: true, Mapper: leafSchemas}
	schema := r.Reflect(&Config{})
	annotate(schema, reflect.TypeFor[Config]())
	schema.ID = SchemaID
	schema.Title = "uimgate configuration"
	out, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the schema: %w", err)
	}
	return append(out, '\n'), nil
}

// leafSchema is the schema of one scalar before its tags are known.
func leafSchema(t reflect.Type, l leaf) *jsonschema.Schema {
	switch {
	case t.Kind() == reflect.Bool:
		return anyOf(&jsonschema.Schema{Type: "boolean"}, &jsonschema.Schema{Enum: []any{"true", "false"}})
	case l.pattern == "":
		return &jsonschema.Schema{Type: "string"}
	case l.number:
		return anyOf(&jsonschema.Schema{Type: "integer", Minimum: "0"}, &jsonschema.Schema{Type: "string", Pattern: l.pattern})
	default:
		return anyOf(&jsonschema.Schema{Type: "string", Pattern: l.pattern})
	}
}

// anyOf allows, beside the forms given, a value yet to be expanded.
func anyOf(forms ...*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: append(forms, &jsonschema.Schema{Type: "string", Pattern: expandable})}
}

// annotate gives the properties of schema, which was made from t, what the tags of t say: required,
// enum, default, description. A key that may be left out may be null.
func annotate(schema *jsonschema.Schema, t reflect.Type) {
	fields := fieldsOf(t)
	for _, key := range keysOf(t) {
		f := fields[key]
		property, ok := schema.Properties.Get(key)
		if !ok {
			continue
		}
		annotateValue(property, f.Type)
		if enum := f.Tag.Get("enum"); enum != "" {
			*property = *anyOf(&jsonschema.Schema{Enum: words(enum)})
		}
		if most, err := strconv.ParseUint(f.Tag.Get("max"), 10, 64); err == nil {
			switch f.Type.Kind() {
			case reflect.Slice:
				property.MaxItems = &most
			case reflect.Map:
				property.MaxProperties = &most
			default:
				property.AnyOf[0].Maximum = json.Number(f.Tag.Get("max"))
				property.AnyOf[0].Minimum = json.Number(f.Tag.Get("min"))
			}
		}
		if f.Tag.Get("required") == "true" {
			schema.Required = append(schema.Required, key)
		} else {
			nullable(property)
		}
		property.Description = keyDescription(f.Tag)
		if fallback := f.Tag.Get("default"); fallback != "" {
			property.Default = typedDefault(f.Type, fallback)
		}
	}
}

func annotateValue(schema *jsonschema.Schema, t reflect.Type) {
	_, isLeaf := leafOf(t)
	switch {
	case isLeaf:
	case t == reflect.TypeFor[Allowed]():
		entry := *schema
		annotate(&entry, t)
		*schema = jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "string", Pattern: `^[A-Za-z0-9_-]{43}$|` + expandable}, &entry}}
	case t.Kind() == reflect.Slice:
		annotateValue(schema.Items, t.Elem())
	case t.Kind() == reflect.Map:
		annotateValue(schema.AdditionalProperties, t.Elem())
		if len(schema.AdditionalProperties.Required) == 0 {
			nullable(schema.AdditionalProperties)
		}
	default:
		annotate(schema, t)
	}
}

// nullable lets a value be null, which stands for the default.
func nullable(schema *jsonschema.Schema) {
	if len(schema.AnyOf) == 0 {
		form := *schema
		*schema = jsonschema.Schema{AnyOf: []*jsonschema.Schema{&form}}
	}
	schema.AnyOf = append(schema.AnyOf, &jsonschema.Schema{Type: "null"})
}

func words(enum string) []any {
	var out []any
	for w := range strings.SplitSeq(enum, ",") {
		out = append(out, w)
	}
	return out
}

// keyDescription is the description of a key with its bounds.
func keyDescription(tag reflect.StructTag) string {
	text := tag.Get("doc")
	if least, most := tag.Get("min"), tag.Get("max"); least != "" && most != "" {
		text += " " + least + " to " + most + "."
	}
	return text
}

func typedDefault(t reflect.Type, text string) any {
	switch t.Kind() {
	case reflect.Bool:
		return text == "true"
	case reflect.Int:
		return json.Number(text)
	default:
		return text
	}
}
