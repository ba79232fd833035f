package yamlconf

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// expandable matches a value that is known only after expansion.
const expandable = `\$\{`

// Schema returns the JSON Schema (2020-12) of the documents that Decode accepts for the struct to which root points. It is derived from the
// tags that Decode reads. The schema may accept documents that Decode, or a later check of several values, rejects.
func (ts Types) Schema(root any, id, title string) ([]byte, error) {
	r := &jsonschema.Reflector{FieldNameTag: "yaml", DoNotReference: true, Anonymous: true, RequiredFromJSONSchemaTags: true}
	reflected := func(t reflect.Type) *jsonschema.Schema {
		schema := r.ReflectFromType(t)
		schema.Version = ""
		return schema
	}
	r.Mapper = func(t reflect.Type) *jsonschema.Schema {
		if held, ok := ts.Structs[t]; ok {
			return reflected(held)
		}
		for _, t := range []reflect.Type{t, reflect.PointerTo(t)} { // the Reflector follows pointers
			if scalar, ok := ts.lookup(t); ok {
				return scalarSchema(t, scalar)
			}
			if t.Implements(reflect.TypeFor[TreeSetter]()) {
				return &jsonschema.Schema{}
			}
		}
		return nil
	}
	schema := r.Reflect(root)
	for key, f := range ts.fields(reflect.TypeOf(root).Elem()) {
		if _, ok := schema.Properties.Get(key); !ok { // a key of an inline field
			schema.Properties.Set(key, reflected(f.Type))
		}
	}
	ts.annotate(schema, reflect.TypeOf(root).Elem())
	schema.ID = jsonschema.ID(id)
	schema.Title = title
	out, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encoding the schema: %w", err)
	}
	return append(out, '\n'), nil
}

// scalarSchema returns the schema of a scalar, without the keywords that the tags of its field add.
func scalarSchema(t reflect.Type, scalar Scalar) *jsonschema.Schema {
	switch {
	case t.Kind() == reflect.Bool:
		return anyOf(&jsonschema.Schema{Type: "boolean"}, &jsonschema.Schema{Enum: []any{"true", "false"}})
	case scalar.Pattern == "":
		return &jsonschema.Schema{Type: "string"}
	case scalar.Number:
		return anyOf(&jsonschema.Schema{Type: "integer", Minimum: "0"}, &jsonschema.Schema{Type: "string", Pattern: scalar.Pattern})
	default:
		return anyOf(&jsonschema.Schema{Type: "string", Pattern: scalar.Pattern})
	}
}

// anyOf returns a schema that accepts the given forms, and any value that contains ${.
func anyOf(forms ...*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: append(forms, &jsonschema.Schema{Type: "string", Pattern: expandable})}
}

// annotate adds the declarations in the tags of t to the properties of schema, the schema of t: required, enum, bounds, default and
// description. It also makes optional keys nullable.
func (ts Types) annotate(schema *jsonschema.Schema, t reflect.Type) {
	for key, f := range ts.fields(t) {
		property, ok := schema.Properties.Get(key)
		if !ok {
			continue
		}
		ts.annotateValue(property, f.Type)
		if enum := f.Tag.Get("enum"); enum != "" {
			*property = *anyOf(&jsonschema.Schema{Enum: words(enum)})
		}
		bound(property, f)
		switch other := f.Tag.Get("unless"); {
		case f.Tag.Get("required") != "true":
			nullable(property)
		case other != "":
			schema.AnyOf = append(schema.AnyOf, &jsonschema.Schema{Required: []string{key}}, &jsonschema.Schema{Required: []string{other}})
		default:
			schema.Required = append(schema.Required, key)
		}
		property.Description = keyDescription(f.Tag)
		if fallback := f.Tag.Get("default"); fallback != "" {
			property.Default = typedDefault(f.Type, fallback)
		}
	}
}

// bound adds the bounds of a field that JSON Schema can express: those on the number of entries and on integers.
func bound(property *jsonschema.Schema, f reflect.StructField) {
	most, err := strconv.ParseUint(f.Tag.Get("max"), 10, 64)
	if err != nil {
		return
	}
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

func (ts Types) annotateValue(schema *jsonschema.Schema, t reflect.Type) {
	if _, isScalar := ts.lookup(t); isScalar {
		return
	}
	t = ts.structOf(t)
	if short, ok := shortField(t); ok {
		entry := *schema
		ts.annotate(&entry, t)
		text := &jsonschema.Schema{Type: "string", Pattern: short.Tag.Get("pattern") + `|` + expandable}
		if short.Type.Kind() == reflect.Bool {
			text = scalarSchema(short.Type, Scalar{})
		}
		*schema = jsonschema.Schema{AnyOf: []*jsonschema.Schema{text, &entry}}
		return
	}
	switch t.Kind() {
	case reflect.Slice:
		ts.annotateValue(schema.Items, t.Elem())
	case reflect.Map:
		ts.annotateValue(schema.AdditionalProperties, t.Elem())
		if len(schema.AdditionalProperties.Required) == 0 {
			nullable(schema.AdditionalProperties)
		}
	default:
		ts.annotate(schema, t)
	}
}

// nullable makes a schema accept null, which means the default.
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

// typedDefault returns a default as a value of its JSON type.
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
