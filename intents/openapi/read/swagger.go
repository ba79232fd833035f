package read

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/intents/openapi/media"
)

// fromSwagger converts a Swagger 2.0 document to OpenAPI 3.0. Definitions keep their place, so that references to them stay valid;
// references to parameters and responses are replaced by their targets, because their form changes. Malformed parts stay unchanged, so that
// they are reported with their operation later.
func fromSwagger(root map[string]any, more *files) map[string]any {
	s := &swagger{&Document{Root: root, Old: true, files: more}, root}
	paths := map[string]any{}
	described, err := s.Follow(root["paths"], "paths")
	if err != nil {
		described = nil
	}
	for path, item := range described {
		paths[path] = s.path(item)
	}
	out := map[string]any{
		"openapi": "3.0.3", "info": root["info"], "tags": root["tags"], "security": root["security"], "servers": s.servers(),
		"paths": paths, "definitions": root["definitions"],
	}
	schemes := map[string]any{}
	for name, scheme := range Object(root["securityDefinitions"]) {
		schemes[name] = scheme
		if Object(scheme)["type"] == "basic" {
			schemes[name] = map[string]any{"type": "http", "scheme": "basic"}
		}
	}
	out["components"] = map[string]any{"securitySchemes": schemes}
	return out
}

type swagger struct {
	*Document
	top map[string]any
}

func (s *swagger) servers() []any {
	host, base := Text(s.top["host"]), Text(s.top["basePath"])
	if host == "" {
		return []any{map[string]any{"url": base}}
	}
	scheme := "https"
	if schemes := List(s.top["schemes"]); len(schemes) > 0 && !slices.Contains(schemes, any("https")) {
		scheme = Text(schemes[0])
	}
	u := url.URL{Scheme: scheme, Host: host, Path: "/" + strings.TrimPrefix(base, "/")}
	return []any{map[string]any{"url": u.String()}}
}

func (s *swagger) path(v any) any {
	item, err := s.Whole(v, "the path")
	if err != nil {
		return v
	}
	out := maps.Clone(item)
	delete(out, "parameters")
	for method, v := range item {
		if !slices.Contains(Methods, method) {
			continue
		}
		if op, err := s.Whole(v, "the operation"); err == nil {
			out[method] = s.operation(op, List(item["parameters"]))
		}
	}
	return out
}

func (s *swagger) operation(op map[string]any, shared []any) map[string]any {
	out := maps.Clone(op)
	consumes, produces := s.media(op, "consumes"), s.media(op, "produces")
	var parameters []any
	form, required, file := map[string]any{}, []any{}, false
	all := slices.Concat(shared, List(op["parameters"]))
	for i, v := range all {
		p, err := s.Follow(v, "a parameter")
		if err != nil {
			parameters = append(parameters, v)
			continue
		}
		if s.overridden(p, all[i+1:]) {
			continue
		}
		switch p["in"] {
		case "body":
			out["requestBody"] = map[string]any{"required": p["required"], "content": content(consumes, p["schema"])}
		case "formData":
			name := Text(p["name"])
			form[name] = fileOf(inline(p))
			if Flag(p["required"]) {
				required = append(required, name)
			}
			file = file || p["type"] == "file"
		default:
			parameters = append(parameters, swaggerParameter(p))
		}
	}
	out["parameters"] = parameters
	if len(form) > 0 {
		name := media.Form
		if file || slices.Contains(consumes, media.Multipart) && !slices.Contains(consumes, media.Form) {
			name = media.Multipart
		}
		out["requestBody"] = map[string]any{"required": len(required) > 0, "content": map[string]any{
			name: map[string]any{"schema": map[string]any{"type": "object", "properties": form, "required": required}},
		}}
	}
	out["responses"] = s.responses(op["responses"], produces)
	return out
}

// overridden reports whether a later parameter has the same name and location as p, and therefore takes precedence.
func (s *swagger) overridden(p map[string]any, later []any) bool {
	for _, v := range later {
		if o, err := s.Follow(v, "a parameter"); err == nil && Text(o["name"]) == Text(p["name"]) && Text(o["in"]) == Text(p["in"]) &&
			p["in"] != "body" {
			return true
		}
	}
	return false
}

func (s *swagger) media(op map[string]any, name string) []string {
	from := op[name]
	if from == nil {
		from = s.top[name]
	}
	var out []string
	for _, v := range List(from) {
		out = append(out, Text(v))
	}
	if len(out) == 0 {
		return []string{media.JSON}
	}
	return out
}

func (s *swagger) responses(v any, produces []string) any {
	all, err := s.Follow(v, "responses")
	if err != nil {
		return v
	}
	out := map[string]any{}
	for status, answer := range all {
		a, err := s.Follow(answer, "a response")
		if err != nil {
			out[status] = answer
			continue
		}
		fresh := map[string]any{"description": a["description"]}
		if a["schema"] != nil {
			media := content(produces, fileOf(a["schema"]))
			examples, _ := a["examples"].(map[string]any)
			for name, example := range examples {
				if m, ok := media[name].(map[string]any); ok {
					m["example"] = example
				}
			}
			fresh["content"] = media
		}
		out[status] = fresh
	}
	return out
}

// fileOf converts the schema of a file to the form of OpenAPI 3.0. It returns any other schema unchanged.
func fileOf(schema any) any {
	m, ok := schema.(map[string]any)
	if !ok || m["type"] != "file" {
		return schema
	}
	out := maps.Clone(m)
	out["type"], out["format"] = "string", "binary"
	return out
}

func content(names []string, schema any) map[string]any {
	out := map[string]any{}
	for _, m := range names {
		out[m] = map[string]any{"schema": schema}
	}
	return out
}

// swaggerParameter moves the keywords of a parameter into its schema. Arrays are separated by commas unless
// collectionFormat names another separator.
func swaggerParameter(p map[string]any) map[string]any {
	out := map[string]any{"name": p["name"], "in": p["in"], "required": p["required"], "description": p["description"], "schema": inline(p)}
	if p["type"] != "array" {
		return out
	}
	out["explode"] = false
	switch format := Text(p["collectionFormat"]); format {
	case "multi":
		out["explode"] = true
	case "ssv":
		out["style"] = "spaceDelimited"
	case "pipes":
		out["style"] = "pipeDelimited"
	case "", "csv":
	default:
		out["style"] = fmt.Sprintf("collectionFormat %.20s", format)
	}
	return out
}

// inline returns the schema that a Swagger parameter contains.
func inline(p map[string]any) map[string]any {
	out := maps.Clone(p)
	for _, name := range []string{"name", "in", "required", "collectionFormat", "allowEmptyValue"} {
		delete(out, name)
	}
	return out
}
