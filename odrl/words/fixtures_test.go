package words_test

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

var update = flag.Bool("update", false, "write what the tests get as what they want")

// world is a service with a few intents, of which two agents are known by name.
func world() odrl.World {
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

func homes() odrl.World {
	return odrl.World{
		Hosts: []string{"127.0.0.1:4000", "homes.example"}, AnyAssignee: true,
		Intents: []odrl.Asset{
			{UID: "homes.example:findHome:v1", Namespace: "homes.example", Name: "findHome", Title: "FindHome"},
			{UID: "homes.example:showHome:v1", Namespace: "homes.example", Name: "showHome", Title: "ShowHome"},
		},
	}
}

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	doc, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return doc
}

func publish(tb testing.TB, doc []byte, w odrl.World) *odrl.Policy {
	tb.Helper()
	p, problems := odrl.Publish(tb.Context(), doc, w)
	if p == nil {
		tb.Fatalf("refused: %v", problems)
	}
	if problems.Failed() {
		tb.Fatalf("a policy and errors: %v", problems)
	}
	return p
}

// policy is a document of these members.
func policy(parts ...string) string {
	const head = `"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p"`
	return `{` + head + `,` + strings.Join(parts, ",") + `}`
}

// leaf is a constraint.
func leaf(left, op string, right any) string {
	b, err := json.Marshal(map[string]any{"leftOperand": left, "operator": op, "rightOperand": right})
	if err != nil {
		panic(err)
	}
	return string(b)
}

type list = []any
