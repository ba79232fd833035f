package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
)

// openAPIIntents bounds the intents in openapi.json; the search has all.
const openAPIIntents = 1000

// tree is a JSON object under construction.
type tree = map[string]any

// OpenAPI describes the endpoints of a service for tools, as OpenAPI 3.1. The execute call is one operation, with one request schema per
// intent, distinguished by intent_uid. It omits retired intents, and all after the first openAPIIntents, which the description notes.
func OpenAPI(s *service.Definition) ([]byte, error) {
	offered := s.Offered()
	described := offered[:min(len(offered), openAPIIntents)]
	schemas := tree{"Error": errorSchema()}
	calls, mapping := []any{}, tree{}
	answers := &answerSchemas{}
	for _, in := range described {
		key := componentKey(in.UID)
		schemas[key] = callSchema(in.Intent, key)
		schemas[key+".parameters"] = in.InputSchemaAt(component(key + ".parameters"))
		calls = append(calls, tree{"$ref": component(key)})
		mapping[in.UID.String()] = component(key)
		answers.add(in.Intent, key, schemas)
	}
	paths := endpoints()
	paths["/api/intents/execute"] = tree{"post": tree{
		"operationId": "execute", "summary": "Execute one intent", "security": withPAT(), "tags": []any{tagIntents},
		"description": "The body names the intent and carries its parameters. What the agreed policy does not permit is refused.",
		"parameters":  executeHeaders(),
		"requestBody": body(tree{"oneOf": calls, "discriminator": tree{"propertyName": "intent_uid", "mapping": mapping}}),
		"responses":   executed(s, answers.schema()),
	}}
	return describe(s, len(described), paths, schemas)
}

// executed returns the responses to a call whose output has this schema.
func executed(s *service.Definition, output any) tree {
	return tree{
		"200": tree{
			"description": "The output of the intent.", "headers": resultHeaders(s.License),
			"content": tree{"application/json": tree{"schema": output}},
		},
		"default": refused(),
	}
}

// describe makes the document with these paths and schemas; described is the number of intents in it.
func describe(s *service.Definition, described int, paths, schemas tree) ([]byte, error) {
	doc := tree{
		"openapi": "3.1.0",
		"info":    info(s, described, len(s.Offered())),
		"servers": []any{tree{"url": strings.TrimSuffix(s.PublicURL.String(), "/")}},
		"paths":   paths,
		"components": tree{
			"schemas": schemas,
			"securitySchemes": tree{"pat": tree{
				"type": "http", "scheme": "bearer", "bearerFormat": "JWT",
				"description": "A policy agreement token (PAT): sign the policy at " + s.At("/api/policy") +
					" and post the agreement to " + s.At("/api/pat/issue") + ".",
			}},
		},
		"externalDocs": tree{"description": "What is offered, as UIM describes it", "url": s.At("/agents.json")},
	}
	return json.Marshal(doc)
}

func info(s *service.Definition, described, offered int) tree {
	about := s.Catalog.Service
	text := about.Description
	if described < offered {
		text = strings.TrimSpace(text +
			fmt.Sprintf("\n\nThe first %d of %d intents are described here; %s has all of them.", described, offered, s.At("/api/intents/search")+"?view=brief"))
	}
	info := tree{"title": s.Issuer, "version": "1"}
	for name, value := range map[string]string{
		"title": about.Name, "version": about.Version, "description": text,
		"termsOfService": about.TermsURL,
	} {
		if value != "" {
			info[name] = value
		}
	}
	if l := licenseOf(s.Catalog.License); l.Text != "" {
		license := tree{"name": l.Text}
		if l.URL != "" {
			license["url"] = l.URL
		}
		info["license"] = license
	}
	return info
}

// componentKey names an intent among the components, which allow no colon. Different UIDs have different keys: a name holds no dot, and a
// version starts with the last v that follows a dot.
func componentKey(uid intents.UID) string { return strings.ReplaceAll(uid.String(), ":", ".") }

func component(key string) string { return "#/components/schemas/" + key }

// callSchema is the body of a call that names its intent.
func callSchema(in *intents.Intent, key string) tree {
	schema := bodySchema(in, key, true)
	if in.Description != "" {
		schema["description"] = in.Description
	}
	return schema
}

// bodySchema is the body of a call; named: it names the intent.
func bodySchema(in *intents.Intent, key string, named bool) tree {
	properties := tree{
		"parameters": tree{"$ref": component(key + ".parameters")},
		"proof": tree{
			"type":        "string",
			"description": "A uim-proof+jwt, where a call charges or the service asks for signed calls; the header UIM-Proof does as well.",
		},
	}
	required := []any{}
	if named {
		properties["intent_uid"] = tree{"const": in.UID.String(), "type": "string"}
		required = append(required, "intent_uid")
	}
	if slices.ContainsFunc(in.Inputs, func(p intents.Parameter) bool { return p.Required }) {
		required = append(required, "parameters")
	}
	return tree{
		"type": "object", "title": in.Name, "additionalProperties": false, "properties": properties, "required": required,
	}
}

// answerSchemas collects the possible results of calls.
type answerSchemas struct {
	list []any
	open bool // some intent declares no outputs: any result is possible
}

func (a *answerSchemas) add(in *intents.Intent, key string, schemas tree) {
	out := in.OutputSchemaAt(component(key + ".output"))
	if out == nil {
		a.open = true
		return
	}
	schemas[key+".output"] = out
	a.list = append(a.list, tree{"$ref": component(key + ".output")})
}

func (a *answerSchemas) schema() any {
	if a.open || len(a.list) == 0 {
		return tree{}
	}
	return tree{"anyOf": a.list}
}

func errorSchema() tree {
	text := tree{"type": "string"}
	return tree{
		"type": "object", "required": []any{"error"}, "description": "Every refusal and failure.",
		"properties": tree{"error": tree{
			"type": "object", "required": []any{"code", "message", "details"},
			"properties": tree{
				"code":    tree{"type": "string", "description": "Such as INVALID_PARAMETER or FORBIDDEN."},
				"message": text,
				"details": tree{
					"type": "object", "required": []any{"reason"},
					"properties": tree{
						"reason":      tree{"type": "string", "description": "The exact cause, such as PARAMETER_OUT_OF_RANGE."},
						"help_url":    tree{"type": "string", "format": "uri", "description": "The page that explains the reason."},
						"request_id":  tree{"type": "string", "description": "Finds the request in the service's log."},
						"uim_code":    text,
						"suggestion":  tree{"type": "string", "description": "What to do about it."},
						"retry_after": tree{"type": "integer", "minimum": 1, "description": "Seconds."},
						"outcome": tree{
							"type": "string", "enum": []any{"not_sent", "failed", "done", "unknown"},
							"description": "Of a call that failed: whether it may have taken effect.",
						},
						"violations": tree{"type": "array", "items": tree{"type": "object", "properties": tree{
							"pointer": tree{"type": "string", "description": "RFC 6901, into the whole body that was sent."},
							"keyword": text, "reason": text, "message": text,
						}}},
					},
				},
			},
		}},
	}
}

func executeHeaders() []any {
	return []any{
		header("Idempotency-Key", "Makes repeating the call harmless for 24 hours: visible ASCII.", 128),
		proofHeader(),
	}
}

func proofHeader() any {
	return header("UIM-Proof", "A uim-proof+jwt, where a call charges or the service asks for signed calls, and for a renewal.", 16<<10)
}

func header(name, description string, most int) any {
	return tree{
		"name": name, "in": "header", "required": false, "description": description,
		"schema": tree{"type": "string", "minLength": 1, "maxLength": most},
	}
}

func resultHeaders(license string) tree {
	field := func(description string) any {
		return tree{"description": description, "schema": tree{"type": "string"}}
	}
	out := tree{
		"UIM-Request-ID": field("Finds the call in the service's log."),
		"RateLimit":      field("How many calls are left, and until when."),
		"UIM-Charge":     field("What the call cost."),
	}
	if license != "" {
		out["UIM-License"] = field("The licence of the output: " + license)
	}
	return out
}
