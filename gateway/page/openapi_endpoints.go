package page

import (
	"context"

	"github.com/uimgate/uimgate/evidence"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/payments/x402"
)

// The tags of the operations.
const (
	tagDocuments = "documents"
	tagIntents   = "intents"
	tagTokens    = "tokens"
	tagUsage     = "usage"
)

// endpoints returns the paths that every service has, except those for calls to intents.
func endpoints(s *service.Definition) tree {
	return tree{
		"/agents.json": get("agentsFile", "The intents and endpoints of the service", tagDocuments, tree{"type": "object"}),
		"/api/policy": tree{"get": tree{
			"operationId": "policy", "summary": "The policy to agree to. Its ETag is its digest: SHA-256 over the RFC 8785 form. With Accept: text/plain, its sentences",
			"tags": []any{tagDocuments}, "responses": answered(tree{"type": "object"}, sunsetHeaders()), "parameters": []any{tree{
				"name": "digest", "in": "query", "schema": tree{"type": "string"},
				"description": "Selects an offered policy, such as one that takes effect later. Default: the policy in force.",
			}},
		}},
		"/.well-known/jwks.json": get("keys", "The public keys with which PATs are verified", tagDocuments, tree{"type": "object"}),
		"/api/balance": authorized(get("balance", "What the agent has paid in, used and may owe, and how it can pay in", tagUsage,
			object(tree{"agent_id": tree{"type": "string"}, "balances": tree{"type": "array", "items": tree{"type": "object"}}},
				"agent_id", "balances"))),
		"/api/credit": tagged(post("credit", "Pay in by x402. Without PAYMENT-SIGNATURE, the response is 402 with the terms in PAYMENT-REQUIRED", true,
			object(tree{"amount": tree{"type": "string"}, "currency": tree{"type": "string"}}, "amount", "currency"),
			object(tree{
				"currency": tree{"type": "string"}, "credited": tree{"type": "string"}, "balance": tree{"type": "string"},
				"reference": tree{"type": "string"}, "receipt": tree{"type": "string"},
			}, "currency", "credited", "balance", "reference"),
			header("PAYMENT-SIGNATURE", "An x402 payment: JSON in base64.", x402.MaxHeader)), tagUsage),
		"/api/intents/search": get("search", "Search the intents", tagIntents, tree{"type": "object"}, searchParameters()...),
		"/api/intents/{intent_uid}": get("intent", "One intent", tagIntents, tree{"type": "object"}, tree{
			"name": "intent_uid", "in": "path", "required": true, "schema": tree{"type": "string"},
		}),
		"/api/log/checkpoint": getText("checkpoint", "The newest signed checkpoint of the log of the ledger"),
		"/api/log/proof": getText("logProof", "The proof that an entry about a call of this agent, or of its account, is in the log",
			query("id", "The execution id of the call."), query("line", "The state of the entry. Default: the newest entry."),
			query("currency", "The currency of the account, with k."), query("k", "The number of the entry in the account, instead of id and line."),
			query("epoch", "The number of the log. Default: the present log."),
			query("size", "The size of the log. Default: its present size; the proof then ends with the checkpoint.")),
		"/api/log/consistency": getText("logConsistency", "The proof that the log has only grown since an earlier size",
			query("old", "The earlier size."), query("new", "The later size. Default: the present size."),
			query("epoch", "The number of the log. Default: the present log.")),
		"/api/pat/issue": post("issue", "Agree to the policy: exchange a signed agreement for a PAT", false, agreementBody(s), patAnswer()),
		"/api/pat/renew": post("renew", "Renew a PAT under the same agreement", true, nil, patAnswer(), proofHeader()),
		"/api/pat/revoke": post("revoke", "Revoke a PAT and all its renewals", false, object(tree{"token": tree{"type": "string"}}, "token"),
			tree{"type": "object"}),
		"/api/pat/introspect": post("introspect", "The state of the PAT in the request", true, nil,
			object(tree{"active": tree{"type": "boolean"}}, "active")),
		"/api/receipts/{execution_id}": signed("receipt", "The signed entry of the ledger about a charge of the agent",
			evidence.MediaTypeReceipt, pathParameter("execution_id"), tree{
				"name": "line", "in": "query", "description": "The state in which the entry left the charge. Default: the newest entry.",
				"schema": tree{"enum": []any{"held", "captured", "released", "unresolved"}},
			}),
		"/api/usage/entries": authorized(get("usageEntries", "The entries of the agent's account, signed, in the order of its chain", tagUsage,
			object(tree{"entries": tree{"type": "array", "items": tree{"type": "string"}}, "head": headSchema()}, "entries", "head"),
			currencyParameter(), tree{
				"name": "after", "in": "query", "description": "k of the last entry that was read; -1 for the beginning.",
				"schema": tree{"type": "integer", "minimum": -1, "default": -1},
			})),
		"/api/usage/statement": signed("usageStatement", "The signed statement of the agent's account for a month", "application/"+
			evidence.TypeStatement, currencyParameter(), tree{
			"name": "month", "in": "query", "required": true, "schema": tree{"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}$"},
		}),
	}
}

// tagged replaces the tag of the POST operation in a path item.
func tagged(path tree, tag string) tree {
	if operation, ok := path["post"].(tree); ok {
		operation["tags"] = []any{tag}
	}
	return path
}

// authorized makes the GET operation in a path item require a PAT.
func authorized(path tree) tree {
	if operation, ok := path["get"].(tree); ok {
		operation["security"] = withPAT()
	}
	return path
}

// signed returns a GET operation that requires a PAT and returns a compact JWS.
func signed(id, summary, mediaType string, parameters ...any) tree {
	return authorized(tree{"get": tree{
		"operationId": id, "summary": summary, "tags": []any{tagUsage}, "parameters": parameters,
		"responses": tree{
			"200": tree{
				"description": "A compact JWS.", "content": tree{mediaType: tree{"schema": tree{"type": "string"}}},
			},
			"default": refused(nil),
		},
	}})
}

func pathParameter(name string) tree {
	return tree{"name": name, "in": "path", "required": true, "schema": tree{"type": "string"}}
}

func currencyParameter() tree {
	return tree{
		"name": "currency", "in": "query", "description": "Default: the only currency of the account.", "schema": tree{"type": "string"},
	}
}

func headSchema() tree {
	return tree{"oneOf": []any{tree{"type": "null"}, object(tree{
		"k": tree{"type": "integer"}, "hash": tree{"type": "string"},
	}, "k", "hash")}}
}

// getText returns a GET operation that requires a PAT and returns text.
func getText(id, summary string, parameters ...any) tree {
	good := tree{"description": "The request succeeded.", "content": tree{"text/plain": tree{"schema": tree{"type": "string"}}}}
	operation := tree{
		"operationId": id, "summary": summary, "tags": []any{tagUsage}, "responses": tree{"200": good, "default": refused(nil)},
	}
	if len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	return authorized(tree{"get": operation})
}

func query(name, description string) tree {
	return tree{"name": name, "in": "query", "schema": tree{"type": "string"}, "description": description}
}

func get(id, summary, tag string, answer tree, parameters ...any) tree {
	operation := tree{"operationId": id, "summary": summary, "tags": []any{tag}, "responses": answered(answer, nil)}
	if len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	return tree{"get": operation}
}

// post returns a POST operation. bearer means that the operation requires a PAT. sent is the schema of the request body; nil: there is
// none.
func post(id, summary string, bearer bool, sent, answer tree, parameters ...any) tree {
	operation := tree{"operationId": id, "summary": summary, "tags": []any{tagTokens}, "responses": answered(answer, nil)}
	if bearer {
		operation["security"] = withPAT()
	}
	if sent != nil {
		operation["requestBody"] = body(sent)
	}
	if len(parameters) > 0 {
		operation["parameters"] = parameters
	}
	return tree{"post": operation}
}

// answered describes the responses of an operation. headers describes the header fields of a success; it may be nil.
func answered(schema, headers tree) tree {
	good := tree{"description": "The request succeeded.", "content": tree{"application/json": tree{"schema": schema}}}
	if headers != nil {
		good["headers"] = headers
	}
	return tree{"200": good, "default": refused(nil)}
}

func body(schema tree) tree {
	return tree{"required": true, "content": tree{"application/json": tree{"schema": schema}}}
}

func withPAT() []any { return []any{tree{"pat": []any{}}} }

func object(properties tree, required ...any) tree {
	out := tree{"type": "object", "properties": properties}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func agreementBody(s *service.Definition) tree {
	schema := object(tree{
		"agent_id": tree{"type": "string", "minLength": 1, "maxLength": 200, "description": "A name that the agent chooses."},
		"agent_public_key": tree{
			"type": []any{"string", "object"}, "description": "PEM, a JWK, or base64 of the DER SubjectPublicKeyInfo.",
		},
		"signed_policy": tree{
			"type": "string", "description": "A uim-agreement+jwt, a compact JWS over the policy, or a detached signature over it.",
		},
		"scope": tree{"type": "array", "items": tree{"type": "string"}, "description": "Restricts the PAT to these intents."},
		"effective": tree{
			"type": "string", "enum": []any{"now", "on_date"}, "default": "now",
			"description": "For a policy that takes effect later: when the PAT becomes valid.",
		},
	}, "agent_id", "agent_public_key", "signed_policy")
	if plans := Plans(context.Background(), s); plans != nil {
		names := make([]any, 0, len(plans))
		for _, plan := range plans {
			names = append(names, plan.Name)
		}
		schema["properties"].(tree)["plan"] = tree{ //nolint:forcetypeassert // the function object makes it
			"type": "string", "enum": names, "description": "The plan of the policy that the agent chooses. The agent must sign the same plan, " +
				"as declared.plan of the agreement. " + planWords(plans),
		}
	}
	schema["additionalProperties"] = false
	return schema
}

func patAnswer() tree {
	text := tree{"type": "string"}
	return object(tree{
		"uim-pat":    tree{"type": "string", "description": "The PAT: send it as Authorization: Bearer <PAT>."},
		"expires_at": tree{"type": "string", "format": "date-time"}, "agreement_id": text,
		"scope":         tree{"type": "array", "items": text},
		"not_before":    tree{"type": "string", "format": "date-time", "description": "When the PAT becomes valid, if not at once."},
		"scope_omitted": tree{"type": "array", "items": object(tree{"entry": text, "reason": text}, "entry", "reason")},
		"status":        tree{"type": "string", "description": "pending, with HTTP status 202, while the operator has not admitted the agent."},
	})
}

func searchParameters() []any {
	var list []any
	for _, name := range []string{"query", "tags", "category", "namespace", "intent_name", "page", "page_size", "view"} {
		kind := "string"
		if name == "page" || name == "page_size" {
			kind = "integer"
		}
		schema := tree{"type": kind}
		if name == "view" {
			schema["enum"], schema["default"] = []string{"brief", "full"}, "full"
		}
		list = append(list, tree{"name": name, "in": "query", "required": false, "schema": schema})
	}
	return list
}
