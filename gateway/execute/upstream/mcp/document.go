package mcp

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// Document returns an OpenAPI 3.1 document that describes tools, for uimgate init. Each tool is the operation POST /tools/NAME below base,
// and this URL becomes the endpoint of its intent. The extension x-read-only contains the annotation readOnlyHint of the tool.
func Document(title, base string, tools []Tool) ([]byte, error) {
	paths, schemas := map[string]any{}, map[string]any{}
	for i := range tools {
		t := &tools[i]
		input, output := "Input"+strconv.Itoa(i), "Output"+strconv.Itoa(i)
		schemas[input] = localized(map[string]any(t.Input), "#/components/schemas/"+input, true)
		schemas[output] = contentSchema()
		if t.Output != nil {
			schemas[output] = localized(map[string]any(t.Output), "#/components/schemas/"+output, true)
		}
		operation := map[string]any{
			"operationId": t.Name, "x-read-only": t.ReadOnly,
			"requestBody": map[string]any{"required": true, "content": jsonContent(input)},
			"responses":   map[string]any{"200": map[string]any{"description": "The result of the tool.", "content": jsonContent(output)}},
		}
		if t.Title != "" {
			operation["summary"] = t.Title
		}
		if t.Description != "" {
			operation["description"] = t.Description
		}
		paths["/tools/"+url.PathEscape(t.Name)] = map[string]any{"post": operation}
	}
	return strictjson.Append(nil, map[string]any{
		"openapi": "3.1.0", "info": map[string]any{"title": title, "version": "1"},
		"servers": []any{map[string]any{"url": base}}, "paths": paths, "components": map[string]any{"schemas": schemas},
	})
}

func jsonContent(schema string) map[string]any {
	return map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/" + schema}}}
}

// contentSchema is the schema of the output of a tool that states none: its content.
func contentSchema() map[string]any {
	return map[string]any{
		"type": "object",
		"properties": map[string]any{"content": map[string]any{
			"type": "array", "items": map[string]any{"type": "object"},
			"description": "Blocks of content as MCP defines them: text, images, audio or resources.",
		}},
	}
}

// localized returns a schema without the members that identify a document. References of the schema to itself then
// refer to place. top is true for the schema as a whole.
func localized(v any, place string, top bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if top && (name == "$schema" || name == "$id") {
				continue
			}
			if ref, ok := member.(string); ok && name == "$ref" {
				if rest, own := strings.CutPrefix(ref, "#"); own {
					member = place + rest
				}
			}
			out[name] = localized(member, place, false)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = localized(item, place, false)
		}
		return out
	default:
		return v
	}
}
