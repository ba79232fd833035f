package admin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/uimgate/uimgate/gateway/admin/api"
)

// tree is a JSON object under construction.
type tree = map[string]any

// OpenAPI returns an OpenAPI 3.1 document that describes the operations of the admin API.
func (o *Operator) OpenAPI(context.Context) (json.RawMessage, error) {
	paths, schemas := tree{}, newSchemas()
	for _, op := range endpoints(o) { //nolint:contextcheck // it calls no operation
		item, ok := paths[Path+op.Path].(tree)
		if !ok {
			item = tree{}
			paths[Path+op.Path] = item
		}
		item[strings.ToLower(op.Method)] = describe(op, schemas)
	}
	components := tree{"Error": errorSchema()}
	for name, schema := range schemas.definitions {
		components[name] = schema
	}
	doc, err := json.Marshal(tree{
		"openapi": "3.1.0",
		"info": tree{
			"title": "uimgate admin API", "version": cmp.Or(o.version, "devel"),
			"description": "The operations of the operator of a gateway. " +
				"Later releases may add members to responses: ignore those that you do not know.",
		},
		"paths":    paths,
		"security": []any{tree{"admin": []any{}}},
		"components": tree{
			"schemas": components,
			"securitySchemes": tree{"admin": tree{
				"type": "http", "scheme": "bearer", "description": "The token in admin.token. The socket admin.sock needs none.",
			}},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the OpenAPI document: %w", err)
	}
	return bytes.ReplaceAll(doc, []byte(`"#/$defs/`), []byte(`"#/components/schemas/`)), nil
}

// describe returns the description of an operation, and adds the schemas of its types to schemas.
func describe(op endpoint, schemas *schemas) tree {
	words := strings.FieldsFunc(op.Path, func(r rune) bool { return strings.ContainsRune("/{}-.", r) })
	list := &parameterList{items: []any{tree{
		"name": HeaderRequestID, "in": "header", "schema": tree{"type": "string"},
		"description": "Identifies the request in the log. If it is missing or invalid, the gateway chooses an id.",
	}}}
	if strings.Contains(op.Path, "{id}") {
		list.items = append(list.items, tree{
			"name": "id", "in": "path", "required": true, "schema": tree{"type": "string", "maxLength": api.MaxText},
			"description": "Identifies the record.",
		})
	}
	out := tree{
		"operationId": strings.ToLower(op.Method) + "_" + strings.Join(words, "_"), "summary": op.Summary, "tags": []any{words[0]},
		"responses": tree{
			"200":     tree{"description": "The result.", "headers": responseHeaders(), "content": jsonContent(schemas.of(op.response, false))},
			"default": refused(),
		},
	}
	api.Query(op.request, list)
	out["parameters"] = list.items
	if op.Method != http.MethodGet && api.HasMembers(op.request) {
		body := schemas.of(reflect.TypeOf(op.request).Elem(), true)
		out["requestBody"] = tree{"required": schemas.needed(op.request), "content": jsonContent(body)}
	}
	return out
}

func jsonContent(schema any) tree { return tree{"application/json": tree{"schema": schema}} }

func responseHeaders() tree {
	return tree{HeaderRequestID: tree{"description": "Identifies the request in the log.", "schema": tree{"type": "string"}}}
}

// refused describes the response to a request that is refused or fails.
func refused() tree {
	headers := responseHeaders()
	headers["Retry-After"] = tree{"description": "Seconds to wait before repeating the request.", "schema": tree{"type": "integer"}}
	return tree{
		"description": "An error: what is wrong, where, and what to do.", "headers": headers,
		"content": jsonContent(tree{"$ref": "#/components/schemas/Error"}),
	}
}

func errorSchema() tree {
	text := func(description string) tree { return tree{"type": "string", "description": description} }
	return tree{
		"type": "object", "required": []any{"error"},
		"properties": tree{"error": tree{
			"type": "object", "required": []any{"code", "message", "details"},
			"properties": tree{
				"code":    text("The class of the error, such as INVALID_PARAMETER."),
				"message": text("What is wrong."),
				"details": tree{
					"type": "object", "required": []any{"reason"},
					"properties": tree{
						"reason":      text("The exact cause, such as MALFORMED_REQUEST."),
						"request_id":  text("Identifies the request in the log."),
						"suggestion":  text("Advice on how to proceed."),
						"parameter":   text("The wrong query parameter."),
						"pointer":     text("A JSON pointer to the wrong member of the body."),
						"retry_after": tree{"type": "integer", "description": "Seconds to wait before repeating the request."},
						"known":       tree{"type": "array", "items": tree{"type": "string"}, "description": "The known parameters or members."},
						"services":    tree{"type": "array", "items": tree{"type": "string"}, "description": "The ids of the services."},
					},
				},
			},
		}},
	}
}
