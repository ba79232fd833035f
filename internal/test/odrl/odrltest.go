// Package odrltest has worlds and documents that the tests of policies share.
package odrltest

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

// World is a service with a few intents, of which two agents are known by name.
func World() odrl.World {
	return odrl.World{
		Hosts: []string{"example.com"},
		Intents: []odrl.Asset{
			{UID: "example.com:search-products:v1", Namespace: "example.com", Name: "search-products", Title: "Search products"},
			{UID: "example.com:search-products:v2", Namespace: "example.com", Name: "search-products", Title: "Search products 2"},
			{UID: "example.com:buy:v1", Namespace: "example.com", Name: "buy", Title: "Buy"},
			{UID: "other.org:buy:v1", Namespace: "other.org", Name: "buy", Title: "Buy elsewhere"},
		},
		Parties: map[string]odrl.Party{
			"http://example.com/ai-agent/1": {AgentID: "agent-1"},
			"http://example.com/ai-agent/2": {AgentID: "agent-2", KeyID: "jkt-2"},
		},
	}
}

// Homes is the service of UIM's own example.
func Homes() odrl.World {
	return odrl.World{
		Hosts: []string{"127.0.0.1:4000", "homes.example"}, AnyAssignee: true,
		Intents: []odrl.Asset{
			{UID: "homes.example:findHome:v1", Namespace: "homes.example", Name: "findHome", Title: "FindHome"},
			{UID: "homes.example:showHome:v1", Namespace: "homes.example", Name: "showHome", Title: "ShowHome"},
		},
	}
}

// Head are the members of a policy that are neither rules nor its strategy.
const Head = `"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p"`

// Policy is a document of these members.
func Policy(members ...string) string { return `{` + Head + `,` + strings.Join(members, ",") + `}` }

// Leaf is a constraint.
func Leaf(left, operator string, right any) string {
	b, err := json.Marshal(map[string]any{"leftOperand": left, "operator": operator, "rightOperand": right})
	if err != nil {
		panic(err)
	}
	return string(b)
}

var publications sync.Map // document and world → what publishing returned

// Publish publishes a document in a world once: a Policy does not change, and every test that asks again gets the same.
func Publish(tb testing.TB, doc []byte, w odrl.World) *odrl.Policy {
	tb.Helper()
	names, err := json.Marshal(w)
	if err != nil {
		tb.Fatal(err)
	}
	made, _ := publications.LoadOrStore(string(doc)+"\n"+string(names), sync.OnceValues(func() (*odrl.Policy, problem.List) {
		return odrl.Publish(context.Background(), doc, w)
	}))
	p, problems := made.(func() (*odrl.Policy, problem.List))() //nolint:forcetypeassert // holds nothing else
	if p == nil {
		tb.Fatalf("refused: %v", problems)
	}
	if problems.Failed() {
		tb.Fatalf("a policy and errors: %v", problems)
	}
	return p
}
