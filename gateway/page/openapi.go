package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
)

// openAPIIntents is the maximum number of intents in openapi.json. The search endpoint has all intents.
const openAPIIntents = 1000

// tree is a JSON object under construction.
type tree = map[string]any

// OpenAPI returns an OpenAPI 3.1 document that describes the endpoints of a service. It has one operation for calls to all intents, with a
// request schema for each intent; intent_uid selects the schema. It omits retired intents. It has at most openAPIIntents intents; if there
// are more, the description of the document states that.
func OpenAPI(s *service.Definition) ([]byte, error) {
	offered := s.Offered()
	described := offered[:min(len(offered), openAPIIntents)]
	schemas := tree{"Error": errorSchema()}
	calls, mapping, timeouts := []any{}, tree{}, tree{}
	answers := &answerSchemas{}
	for _, in := range described {
		key := componentKey(in.UID)
		schemas[key] = callSchema(in.Intent, key)
		schemas[key+".parameters"] = in.InputSchemaAt(component(key + ".parameters"))
		calls = append(calls, tree{"$ref": component(key)})
		mapping[in.UID.String()] = component(key)
		answers.add(in.Intent, key, schemas)
		if in.Timeout > 0 {
			timeouts[in.UID.String()] = intents.Seconds(in.Timeout)
		}
	}
	paths := endpoints(s)
	execute := tree{
		"operationId": "execute", "summary": "Execute one intent", "security": withPAT(), "tags": []any{tagIntents},
		"description": "The body contains the uid and the parameters of the intent. Calls that the agreed policy does not permit are refused.",
		"parameters":  executeHeaders(s),
		"requestBody": body(tree{"oneOf": calls, "discriminator": tree{"propertyName": "intent_uid", "mapping": mapping}}),
		"responses":   executed(s, answers.schema()),
	}
	if len(timeouts) > 0 {
		execute["x-timeouts"] = timeouts // seconds that a call may take, by uid
	}
	paths["/api/intents/execute"] = tree{"post": execute}
	return describe(s, len(described), paths, schemas)
}

// executed returns the descriptions of the responses to a call whose output has this schema.
func executed(s *service.Definition, output any) tree {
	return tree{
		"200": tree{
			"description": "The output of the intent.", "headers": resultHeaders(s.License),
			"content": tree{"application/json": tree{"schema": output}},
		},
		"default": refused(takenHeaders()),
	}
}

// describe returns the document with these paths and schemas, as JSON. described is the number of intents in the document.
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
				"description": "A Policy Adherence Token (PAT). To get one, sign the policy at " + s.At("/api/policy") +
					" and post the agreement to " + s.At("/api/pat/issue") + ".",
			}},
		},
		"externalDocs": tree{"description": "The intents in the format of UIM", "url": s.At("/agents.json")},
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

// componentKey returns the name of an intent among the components: its UID with dots in place of colons, because such names cannot contain
// colons. Different UIDs have different keys, because the name of an intent contains no dot, and its version begins with the last v that
// follows a dot.
func componentKey(uid intents.UID) string { return strings.ReplaceAll(uid.String(), ":", ".") }

func component(key string) string { return "#/components/schemas/" + key }

// callSchema returns the schema of the body of a call that names its intent.
func callSchema(in *intents.Intent, key string) tree {
	schema := bodySchema(in, key, true)
	if in.Description != "" {
		schema["description"] = in.Description
	}
	return schema
}

// bodySchema returns the schema of the body of a call. named means that the body names the intent.
func bodySchema(in *intents.Intent, key string, named bool) tree {
	properties := tree{
		"parameters": tree{"$ref": component(key + ".parameters")},
		"proof": tree{
			"type": "string",
			"description": "A uim-proof+jwt. It is required if the call costs money or the service requires signed calls. " +
				"The UIM-Proof header can be used instead.",
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

// answerSchemas collects the schemas of the possible outputs of calls.
type answerSchemas struct {
	list []any
	open bool // an intent declares no outputs, so any output is possible
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

func executeHeaders(s *service.Definition) []any {
	list := []any{
		header("Idempotency-Key", "Visible ASCII characters. With the same key, the call can be repeated safely for 24 hours.", 128),
		proofHeader(),
	}
	if s.Payments.X402 != nil {
		list = append(list, header(headerPayment, "An x402 payment: base64 of a PaymentPayload for one of the terms in the PAYMENT-REQUIRED of a "+
			"refusal with status 402. It tops up the credit of the agent before the call.", maxPayment))
	}
	return list
}

// headerPayment is the header field of an x402 payment, and maxPayment its maximum length in bytes.
const (
	headerPayment = "PAYMENT-SIGNATURE"
	maxPayment    = 8 << 10
)

func proofHeader() any {
	return header("UIM-Proof", "A uim-proof+jwt. It is required if a call costs money, if the service requires signed calls, and for a renewal.",
		16<<10)
}

func header(name, description string, maxLength int) any {
	return tree{
		"name": name, "in": "header", "required": false, "description": description,
		"schema": tree{"type": "string", "minLength": 1, "maxLength": maxLength},
	}
}
