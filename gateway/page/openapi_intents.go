package page

import (
	"strings"

	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/intents"
)

// OpenAPIPerIntent returns the document of OpenAPI with a separate operation for each intent, at /api/intents/execute/{intent_uid}, for
// tools that convert each operation into a function.
func OpenAPIPerIntent(s *service.Definition) ([]byte, error) {
	offered := s.Offered()
	described := offered[:min(len(offered), openAPIIntents)]
	schemas, paths, ids := tree{"Error": errorSchema()}, endpoints(s), map[string]bool{}
	for _, in := range described {
		key := componentKey(in.UID)
		schemas[key+".parameters"] = in.InputSchemaAt(component(key + ".parameters"))
		answers := &answerSchemas{}
		answers.add(in.Intent, key, schemas)
		id := operationID(in.UID)
		if ids[id] { // an intent of another namespace has this id
			id = strings.NewReplacer(".", "_", "-", "_").Replace(in.UID.Namespace) + "_" + id
		}
		ids[id] = true
		operation := tree{
			"operationId": id, "summary": in.Name, "tags": []any{tagIntents}, "security": withPAT(), "parameters": executeHeaders(s),
			"requestBody": body(bodySchema(in.Intent, key, false)), "responses": executed(s, answers.schema()),
		}
		if in.Description != "" {
			operation["description"] = in.Description
		}
		if in.Timeout > 0 {
			operation["x-timeout"] = intents.Seconds(in.Timeout) // as in agents.json
		}
		paths["/api/intents/execute/"+in.UID.String()] = tree{"post": operation}
	}
	return describe(s, len(described), paths, schemas)
}

// operationID returns a name for an intent, such as search_products_v1, that is a valid function name in most languages.
func operationID(uid intents.UID) string {
	_, after, _ := strings.Cut(uid.String(), ":")
	return strings.NewReplacer(":", "_", "-", "_", ".", "_").Replace(after)
}
