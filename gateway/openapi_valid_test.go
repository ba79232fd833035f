package gateway_test

import (
	"strings"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// Both forms of openapi.json are valid documents of OpenAPI 3.1 for another implementation, with and without parameters and outputs.
func TestOpenAPIIsValid(t *testing.T) {
	bare := strings.Replace(gatetest.AgentsFile, `"input_parameters": [{"name": "query", "type": "string", "required": true}],`, "", 1)
	for name, agents := range map[string]string{
		"shop": repositoryFile(t, "examples/shop/agents.json"), "small": gatetest.AgentsFile, "without parameters": bare,
	} {
		policy := gatetest.PolicyFile
		if name == "shop" {
			policy = repositoryFile(t, "examples/shop/policy.json")
		}
		g := pageGate(t, agents, policy, "")
		for _, path := range []string{"/openapi.json", "/openapi.json?per-intent"} {
			body := g.Get(path).Body
			doc, err := libopenapi.NewDocument(body)
			if err != nil {
				t.Fatalf("%s %s: %v", name, path, err)
			}
			v, errs := validator.NewValidator(doc)
			if len(errs) > 0 {
				t.Fatalf("%s %s: %v", name, path, errs)
			}
			if ok, problems := v.ValidateDocument(); !ok {
				for _, p := range problems {
					t.Errorf("%s %s: %s: %s", name, path, p.Message, p.Reason)
				}
			}
			if strings.Contains(string(body), ":null") {
				t.Errorf("%s %s has a null", name, path)
			}
		}
	}
}
