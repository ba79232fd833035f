package openapi

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/media"
	"github.com/uimgate/uimgate/intents/openapi/read"
)

// body converts the members of the request body to parameters, and sets the media type of the body.
func (c *call) body() ([]input, error) {
	if c.op.tree["requestBody"] == nil {
		if c.withBody() {
			c.media = media.JSON
		}
		return nil, nil
	}
	b, err := c.Follow(c.op.tree["requestBody"], "the body")
	if err != nil {
		return nil, err
	}
	required := read.Flag(b["required"])
	if !c.withBody() {
		if required {
			return nil, fmt.Errorf("it requires a body, which the gateway does not send with %s", c.op.method)
		}
		c.report("its optional body is not sent")
		return nil, nil
	}
	c.media = media.JSON
	if len(read.Object(b["content"])) == 0 {
		return nil, nil
	}
	return c.members(b) // even an optional body must be convertible: without it, the call could have another meaning
}

// members chooses the media type of a body, and converts the members of its schema to parameters.
func (c *call) members(body map[string]any) ([]input, error) {
	content := read.Object(body["content"])
	chosen, kind, err := c.choose(content)
	if err != nil {
		return nil, err
	}
	if kind == "" {
		return c.wholeBody(body)
	}
	c.media = kind
	if base := media.Type(chosen); kind == media.JSON && strings.HasSuffix(base, "+json") {
		c.media = base
	}
	m := read.Object(content[chosen])
	schema, err := readSchema(c.Document, m["schema"], false, c.report)
	if err != nil {
		return nil, err
	}
	properties, needed, err := c.splitBody(schema)
	if err != nil {
		return nil, err
	}
	switch kind {
	case media.Form:
		c.encodings(read.Object(m["encoding"]), properties)
	case media.Multipart:
		c.parts(read.Object(m["encoding"]), properties)
		if len(properties) == 0 {
			return nil, errors.New("its body is multipart/form-data, but none of its parts is described")
		}
	}
	var out []input
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !nameable(name) {
			if slices.Contains(needed, any(name)) {
				return nil, fmt.Errorf("its body requires the member %s, whose name cannot be a parameter name", read.Excerpt(name))
			}
			c.report("the member " + read.Excerpt(name) + " of its body is left out: its name cannot be a parameter name")
			continue
		}
		sub := read.Object(properties[name])
		if defs, ok := schema["$defs"]; ok {
			sub = withDefs(sub, defs)
		}
		out = append(out, input{name, slices.Contains(needed, any(name)), sub})
	}
	return out, nil
}

// choose returns the media type in which the body is sent, and its kind: media.JSON, media.Form or media.Multipart. Both are empty if no
// media type of the body has members; the body must then be sent as a whole.
func (c *call) choose(content map[string]any) (chosen, kind string, err error) {
	parts := ""
	for _, name := range slices.Sorted(maps.Keys(content)) {
		base := media.Type(name)
		anything := base == "*/*" || base == "application/*"
		switch {
		case anything && c.isBytes(read.Object(content[name])["schema"]):
		case base == media.JSON, anything && kind != media.JSON: // application/json takes precedence over types that end in +json
			chosen, kind = name, media.JSON
		case strings.HasPrefix(base, "application/") && strings.HasSuffix(base, "+json") && kind == "":
			chosen, kind = name, media.JSON
		case base == media.Form && kind == "":
			chosen, kind = name, media.Form
		case base == media.Multipart || base == "multipart/*":
			parts = name
		}
	}
	if parts == "" || chosen == "" {
		if parts != "" {
			chosen, kind = parts, media.Multipart
		}
		return chosen, kind, nil
	}
	schema, err := readSchema(c.Document, read.Object(content[parts])["schema"], false, func(string) {})
	for _, v := range read.Object(schema["properties"]) { // a file is sent as a file, not inside JSON
		m := read.Object(v)
		if media.IsBytes(m, c.Old) || media.IsBytes(read.Object(m["items"]), c.Old) && m["items"] != nil {
			return parts, media.Multipart, err
		}
	}
	return chosen, kind, err
}

// isBytes reports whether a schema describes a file.
func (c *call) isBytes(schema any) bool {
	converted, err := readSchema(c.Document, schema, false, func(string) {})
	return err == nil && media.IsBytes(converted, c.Old)
}

// wholeBody converts a body that is a file or text to one parameter.
func (c *call) wholeBody(body map[string]any) ([]input, error) {
	content := read.Object(body["content"])
	names := slices.Sorted(maps.Keys(content))
	schema, err := readSchema(c.Document, read.Object(content[names[0]])["schema"], false, c.report)
	if err != nil {
		return nil, err
	}
	declared, isText, ok := media.Body(names, schema, c.Old)
	if !ok {
		return nil, fmt.Errorf("its body is %s; the gateway sends only JSON objects, files, plain text, and multipart or URL-encoded forms",
			read.Line(strings.Join(names, ", "), 150))
	}
	c.media = media.Bytes
	if !isText {
		schema = maps.Clone(schema)
		schema["type"], schema["format"] = "string", "binary"
	} else if schema["type"] == nil {
		schema["type"] = "string"
	}
	schema = media.Part(schema, declared, c.Old)
	if isText {
		schema["contentMediaType"] = declared
	}
	if d := trimmed(c.TextAt(body["description"]), maxNested); d != "" {
		schema["description"] = strings.TrimSpace(d + "\n\n" + read.Text(schema["description"]))
	}
	return []input{{"content", read.Flag(body["required"]), schema}}, nil
}

// parts converts the schemas of the members of a multipart body. Some of the members may be files.
func (c *call) parts(encoding, properties map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		e := read.Object(encoding[name])
		if len(read.Object(e["headers"])) > 0 {
			c.report("the headers of the part " + read.Excerpt(name) + " are not sent")
		}
		properties[name] = media.Part(read.Object(properties[name]), read.Line(read.Text(e["contentType"]), 200), c.Old)
	}
}

// withDefs adds those definitions of the whole schema to the schema of a member to which that member refers directly or indirectly.
func withDefs(schema map[string]any, defs any) map[string]any {
	wanted := map[string]any{}
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				look(item)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				name := strings.TrimPrefix(ref, "#/$defs/")
				if def, found := read.Object(defs)[name]; found && wanted[name] == nil {
					wanted[name] = def
					look(def)
				}
			}
			for _, member := range v {
				look(member)
			}
		}
	}
	look(schema)
	if len(wanted) == 0 {
		return schema
	}
	out := maps.Clone(schema)
	out["$defs"] = wanted
	return out
}

// splitBody splits the schema of a body into members. Parameters cannot express alternatives, so these become one list of members: a
// member may match its schema in any alternative, and it is required only if all alternatives require it.
func (c *call) splitBody(schema map[string]any) (properties map[string]any, required []any, err error) {
	properties, required = map[string]any{}, read.List(schema["required"])
	if schema["type"] != nil && !isType(schema, "object") {
		return nil, nil, fmt.Errorf("its body has the type %s; the gateway sends only objects", describe(schema))
	}
	maps.Copy(properties, read.Object(schema["properties"]))
	for _, name := range []string{"oneOf", "anyOf"} {
		all := read.List(schema[name])
		if len(all) == 0 {
			continue
		}
		var common []any
		for i, v := range all {
			alternative := read.Object(v)
			if alternative["type"] == "null" {
				continue
			}
			inner, needed, err := c.splitBody(alternative)
			if err != nil {
				c.report("an alternative of its body is left out: " + strings.TrimPrefix(err.Error(), "its "))
				continue
			}
			for _, member := range slices.Sorted(maps.Keys(inner)) {
				properties[member] = unionSchema(properties[member], inner[member])
			}
			if i == 0 {
				common = needed
			}
			common = slices.DeleteFunc(slices.Clone(common), func(v any) bool { return !slices.Contains(needed, v) })
		}
		required = union(required, common)
		if len(properties) > 0 && len(all) > 1 {
			c.report("the alternatives of its body are offered as one list of parameters")
		}
	}
	if len(properties) == 0 {
		_, isMap := schema["additionalProperties"].(map[string]any)
		if schema["type"] == nil || isMap || schema["patternProperties"] != nil || schema["$ref"] != nil {
			return nil, nil, errors.New("its body is not an object with named members")
		}
	}
	return properties, required, nil
}

const maxAlternatives = 20

// unionSchema returns a schema that accepts every value that a or b accepts. It may accept more.
func unionSchema(a, b any) any {
	if a == nil || same(a, b) {
		return b
	}
	x, y := maps.Clone(read.Object(a)), maps.Clone(read.Object(b))
	if xs, ys := read.List(x["enum"]), read.List(y["enum"]); len(xs) > 0 && len(ys) > 0 && same(x["type"], y["type"]) {
		all := slices.Clone(xs)
		for _, v := range ys {
			if !slices.ContainsFunc(all, func(have any) bool { return same(have, v) }) {
				all = append(all, v)
			}
		}
		x["enum"] = all
		return x
	}
	alternatives, grown := x["anyOf"].([]any)
	if !grown || len(x) != 1 {
		alternatives = []any{x}
	}
	if len(alternatives) >= maxAlternatives {
		return map[string]any{}
	}
	return map[string]any{"anyOf": append(slices.Clone(alternatives), y)}
}

// encodings applies the encodings of individual members of a form to the schemas in properties.
func (c *call) encodings(encoding, properties map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(encoding)) {
		e, schema := read.Object(encoding[name]), read.Object(properties[name])
		explode, stated := e["explode"].(bool)
		style := read.Text(e["style"])
		switch {
		case style == "deepObject" && isType(schema, "object") && len(read.Object(schema["properties"])) > 0:
			delete(properties, name)
			for member, sub := range read.Object(schema["properties"]) {
				properties[name+"["+member+"]"] = sub
			}
		case isType(schema, "array") && stated && !explode:
			properties[name] = joined(schema, ",")
		}
	}
}
