// Package odrltest has worlds and documents for tests of policies.
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

// World returns a service with a few intents that knows two agents by name.
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

// Homes returns the service of the example in the UIM specification.
func Homes() odrl.World {
	return odrl.World{
		Hosts: []string{"127.0.0.1:4000", "homes.example"}, AnyAssignee: true,
		Intents: []odrl.Asset{
			{UID: "homes.example:findHome:v1", Namespace: "homes.example", Name: "findHome", Title: "FindHome"},
			{UID: "homes.example:showHome:v1", Namespace: "homes.example", Name: "showHome", Title: "ShowHome"},
		},
	}
}

// Head has the members of a policy except the rules and the conflict strategy.
const Head = `"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p"`

// Policy returns a document with Head and the given members.
func Policy(members ...string) string { return `{` + Head + `,` + strings.Join(members, ",") + `}` }

// Leaf returns a constraint.
func Leaf(left, operator string, right any) string {
	b, err := json.Marshal(map[string]any{"leftOperand": left, "operator": operator, "rightOperand": right})
	if err != nil {
		panic(err)
	}
	return string(b)
}

var publications sync.Map // document and world → result of Publish

// Publish publishes a document in a world. It does so once and returns the same Policy to every test, because a Policy does not change.
func Publish(tb testing.TB, doc []byte, w odrl.World) *odrl.Policy {
	tb.Helper()
	names, err := json.Marshal(w)
	if err != nil {
		tb.Fatal(err)
	}
	made, _ := publications.LoadOrStore(string(doc)+"\n"+string(names), sync.OnceValues(func() (*odrl.Policy, problem.List) {
		return odrl.Publish(context.Background(), doc, w)
	}))
	p, problems := made.(func() (*odrl.Policy, problem.List))() //nolint:forcetypeassert // the map holds only this type
	if p == nil {
		tb.Fatalf("refused: %v", problems)
	}
	if problems.Failed() {
		tb.Fatalf("got both a policy and errors: %v", problems)
	}
	return p
}
