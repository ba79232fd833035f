package admin

import (
	"encoding"
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/invopop/jsonschema"

	"github.com/uimgate/uimgate/gateway/admin/api"
)

// schemas collects the JSON Schemas of Go types, by their names among the components of the document.
type schemas struct{ definitions jsonschema.Definitions }

func newSchemas() *schemas { return &schemas{definitions: jsonschema.Definitions{}} }

// of returns the schema of t, which refers to definitions. Requests are closed: the API rejects unknown members.
func (s *schemas) of(t reflect.Type, closed bool) any {
	if t == reflect.TypeFor[json.RawMessage]() {
		return tree{"type": "object"}
	}
	r := &jsonschema.Reflector{Anonymous: true, AllowAdditionalProperties: !closed, Namer: schemaName, Mapper: encodedSchema}
	schema := r.ReflectFromType(t)
	maps.Copy(s.definitions, schema.Definitions)
	if schema.Ref == "" {
		schema.Version, schema.Definitions = "", nil
		return schema
	}
	return tree{"$ref": schema.Ref}
}

// needed reports whether the body of a request has members that must not be missing.
func (s *schemas) needed(request any) bool {
	return len(s.definitions[schemaName(reflect.TypeOf(request).Elem())].Required) > 0
}

// qualifier matches the part of the full name of a type that schemaName removes. For this package and those below it, this is the whole
// path of the package; for other packages, it is the path without its last element.
var qualifier = regexp.MustCompile(`[\w.~/-]+/gateway/admin(/\w+)*\.|[\w.~-]+/`)

// otherRunes matches the characters that must not occur in the name of a component.
var otherRunes = regexp.MustCompile(`[^\w.-]+`)

// schemaName returns the name of a type among the components, such as Agent, Page-Agent or store.Buyer.
func schemaName(t reflect.Type) string {
	if t.Name() == "" {
		return ""
	}
	name := qualifier.ReplaceAllString(t.PkgPath()+"."+t.Name(), "")
	return strings.Trim(otherRunes.ReplaceAllString(name, "-"), "-")
}

// encodedSchema returns the schema of a type that encodes itself. It returns nil for other types.
func encodedSchema(t reflect.Type) *jsonschema.Schema {
	for _, t := range []reflect.Type{t, reflect.PointerTo(t)} {
		switch {
		case t == reflect.TypeFor[time.Time](), t == reflect.TypeFor[*time.Time]():
			return nil
		case t.Implements(reflect.TypeFor[json.Marshaler]()):
			return &jsonschema.Schema{}
		case t.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
			return &jsonschema.Schema{Type: "string"}
		}
	}
	return nil
}

// A parameterList describes the query parameters of a request.
type parameterList struct{ items []any }

func (l *parameterList) add(name, description string, schema tree) {
	item := tree{"name": name, "in": "query", "schema": schema}
	if description != "" {
		item["description"] = description
	}
	l.items = append(l.items, item)
}

func (l *parameterList) Service(*string) {
	l.add("service", "The id of the service. It may be missing if the gateway has only one.", tree{"type": "string", "maxLength": api.MaxText})
}

func (l *parameterList) Record(*string) {}

func (l *parameterList) Text(name string, _ *string) {
	l.add(name, "", tree{"type": "string", "maxLength": api.MaxText})
}

func (l *parameterList) OneOf(name string, _ *string, values ...string) {
	l.add(name, "", tree{"type": "string", "enum": values})
}

func (l *parameterList) Number(name string, _ *int64) {
	l.add(name, "", tree{"type": "integer", "format": "int64", "minimum": 0})
}

func (l *parameterList) Moment(name string, _ *time.Time) {
	l.add(name, "", tree{"type": "string", "format": "date-time"})
}

func (l *parameterList) Page(*api.PageRequest) {
	l.add(
		"limit",
		"The maximum number of records.",
		tree{"type": "integer", "minimum": 1, "maximum": api.MaxLimit, "default": api.DefaultLimit},
	)
	l.add("after", "The member next of the previous page.", tree{"type": "string", "maxLength": api.MaxText})
}
