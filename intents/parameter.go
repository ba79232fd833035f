package intents

import (
	"slices"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/intents/finding"
	"github.com/uimgate/uimgate/intents/schema"
	"github.com/uimgate/uimgate/internal/strictjson"
)

const (
	maxParameters = 256
	maxParamName  = 128 // bytes
)

// parameterMembers are the members of a parameter that are not keywords of its schema.
var parameterMembers = []string{"name", "from", "constraints", "required"}

// parameters reads a list of parameters, or a map from names to schemas in the order of names. inputs means that they are input parameters.
func (b *builder) parameters(at string, v any, names []string, inputs bool) []Parameter {
	var out []Parameter
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		for i, item := range v {
			out = append(out, b.listItem(at+"/"+strconv.Itoa(i), item, inputs)...)
		}
	case map[string]any:
		if strictjson.Object(v).Text("type") != "" && v["properties"] != nil {
			b.Hard("parameters", at,
				"this is a JSON Schema for the whole object: write its properties here, as a list of parameters or a map from names to schemas")
			return nil
		}
		for _, name := range names {
			out = append(out, b.mapMember(at+finding.Pointer(name), name, v[name], inputs)...)
		}
	default:
		b.Hard("parameters", at, "parameters must be a list, or a map from names to schemas, not %s", finding.Article(strictjson.Kind(v)))
	}
	if len(out) > maxParameters {
		b.Hard("parameters", at, "there are more than %d parameters", maxParameters)
		return nil
	}
	seen := make(map[string]bool, len(out))
	for _, p := range out {
		if seen[p.Name] {
			b.Hard("duplicate", at, "the parameter %s occurs twice", finding.Excerpt(p.Name))
		}
		seen[p.Name] = true
	}
	return out
}

// credentials are the names, in the form that BareName returns, of parameters whose values usually come from the operator and not from
// the agents.
var credentials = func() map[string]bool {
	out := map[string]bool{}
	for name := range strings.FieldsSeq(`secret clientid clientsecret apikey apisecret apitoken accesstoken authtoken bearertoken authkey appid
		appkey appsecret privatekey subscriptionkey token authorization accountsid`) {
		out[name] = true
	}
	return out
}()

// IsCredential reports whether the value of a parameter with this name usually comes from the operator: a secret, or the account that the
// secret belongs to.
func IsCredential(name string) bool {
	bare := BareName(name)
	return credentials[bare] || credentials[strings.TrimPrefix(bare, "x")]
}

// BareName returns a name in lower case and without _, - and full stops, so that api_key, Api-Key and apiKey are equal.
func BareName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

func (b *builder) named(at, name string) bool {
	if name == "" || len(name) > maxParamName || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		b.Hard("parameters", at, "a parameter needs a name of 1 to %d bytes without control characters", maxParamName)
		return false
	}
	return true
}

// listItem reads {"name": …, "type": …, "required": …, "constraints": {…}}.
func (b *builder) listItem(at string, v any, inputs bool) []Parameter {
	m, ok := strictjson.AsObject(v)
	if !ok {
		b.Hard("parameters", at, "a parameter must be an object, not %s", finding.Article(strictjson.Kind(v)))
		return nil
	}
	name := m.Text("name")
	if !b.named(at+"/name", name) {
		return nil
	}
	p := Parameter{Name: name}
	if m.List("required") == nil { // a list is the keyword of JSON Schema, which lists required members
		p.Required, _ = b.Flag(at, m, "required")
	}
	if m["type"] == nil && !b.hasType(m) {
		b.Advise("no-type", at, "the parameter %s has no type: any value is accepted", finding.Excerpt(name))
	}
	return b.finish(at, p, m, inputs)
}

func (b *builder) hasType(m strictjson.Object) bool {
	constraints := m.Object("constraints")
	for _, keyword := range []string{"type", "enum", "const", "$ref", "anyOf", "oneOf", "allOf"} {
		if m[keyword] != nil || constraints[keyword] != nil {
			return true
		}
	}
	return false
}

// mapMember reads "name": {schema}. An input without a default is required, unless the schema has the member required with true or false,
// which takes precedence.
func (b *builder) mapMember(at, name string, v any, inputs bool) []Parameter {
	if !b.named(at, name) {
		return nil
	}
	p := Parameter{Name: name, Required: inputs}
	var m strictjson.Object
	switch v := v.(type) {
	case map[string]any:
		m = v
		if m.Has("default") {
			p.Required = false
		}
		if m.List("required") == nil {
			if required, set := b.Flag(at, m, "required"); set {
				p.Required = required
			}
		}
	case bool:
		if !v {
			b.Hard("schema", at, "the schema false accepts no value: remove the parameter")
			return nil
		}
	case string:
		b.Soft("wrong-type", at, "a parameter must be a schema such as {\"type\": \"string\"}, not a string")
		m = map[string]any{"type": v}
	default:
		b.Hard("schema", at, "a schema must be an object, not %s", finding.Article(strictjson.Kind(v)))
		return nil
	}
	return b.finish(at, p, m, inputs)
}

// finish reads the members that both forms have, and compiles the schema.
func (b *builder) finish(at string, p Parameter, m strictjson.Object, inputs bool) []Parameter {
	p.Description = b.Text(at, m, "description", maxDescription)
	if from, ok := m["from"]; ok {
		s, isText := from.(string)
		switch {
		case inputs:
			b.Soft("unknown-member", at+"/from", "from is allowed only in output parameters")
		case !isText || !schema.IsPointer(s) || len(s) > strictjson.MaxPath:
			b.Hard("from", at+"/from", "from must be a JSON pointer into the upstream's response, such as /data/items")
		default:
			p.From, p.HasFrom = s, true
		}
	}
	p.Schema, p.compiled = schema.Read(&b.List, m, at, parameterMembers)
	if p.Type = typeName(p.Schema); p.compiled == nil {
		return []Parameter{p}
	}
	b.readDefault(at, &p, m)
	if inputs && !p.Required && !p.absent {
		p.absent = p.compiled.First(nil, schema.NewMeter(schema.CallSteps)) != nil
	}
	p.compiled.Confirm(&b.List, at, p.Default, p.HasDefault)
	return []Parameter{p}
}

// readDefault reads the default of a parameter. A default of null means that null counts as absent, unless the schema accepts null.
func (b *builder) readDefault(at string, p *Parameter, m strictjson.Object) {
	value, has := m["default"]
	where := at + "/default"
	if !has {
		if value, has = m.Object("constraints")["default"]; !has {
			return
		}
		where = at + "/constraints/default"
		if p.Required && m["required"] == nil {
			p.Required = false
		}
	}
	steps := schema.NewMeter(schema.CallSteps)
	first := p.compiled.First(value, steps)
	switch {
	case steps.Exhausted():
		b.Hard("default", where, "the default takes too much work to validate")
	case first != nil && value == nil:
		p.absent = true
	case first != nil:
		b.Soft("default", where, "the default violates the parameter's schema%s: %s", within(first.Pointer), first.Message)
	case p.Required:
		b.Soft("default", where, "a required parameter must not have a default, but %s has one", finding.Excerpt(p.Name))
	default:
		p.Default, p.HasDefault = value, true
	}
}

func within(pointer string) string {
	if pointer == "" {
		return ""
	}
	return " at " + pointer
}

// typeName returns the UIM type of a schema: its only type other than null, or any.
func typeName(root map[string]any) string {
	if inner, _, ok := schema.Nullable(root); ok {
		if m, ok := inner.(map[string]any); ok {
			return typeName(m)
		}
	}
	switch t := root["type"].(type) {
	case string:
		return t
	case []any:
		beside := slices.DeleteFunc(slices.Clone(t), func(v any) bool { return v == "null" })
		if len(beside) == 1 {
			if s, ok := beside[0].(string); ok {
				return s
			}
		}
	}
	return "any"
}
