package examples_test

import (
	"os"
	"testing"
	"time"

	"github.com/uimgate/uimgate/intents"
	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

func catalog(t *testing.T) *intents.Catalog {
	t.Helper()
	doc, err := os.ReadFile("shop/agents.json")
	if err != nil {
		t.Fatal(err)
	}
	c, problems := intents.Parse(doc, intents.Options{Strict: true})
	quiet(t, problems)
	return c
}

func quiet(t *testing.T, problems problem.List) {
	t.Helper()
	for _, p := range problems {
		t.Errorf("%s: %s", p.Level, p)
	}
	if problems.Failed() {
		t.FailNow()
	}
}

func TestPolicyPublishes(t *testing.T) {
	doc, err := os.ReadFile("shop/policy.json")
	if err != nil {
		t.Fatal(err)
	}
	world := odrl.World{Hosts: []string{"shop.example"}}
	for _, i := range catalog(t).Intents() {
		world.Intents = append(world.Intents, odrl.Asset{UID: i.UID.String(), Namespace: i.UID.Namespace, Name: i.UID.Name, Title: i.Name})
	}
	policy, problems := odrl.Publish(t.Context(), doc, world)
	quiet(t, problems)
	for _, tt := range []struct{ intent, charge, rate string }{
		{"shop.example:search-products:v1", "0", "30/minute"},
		{"shop.example:product-details:v1", "0", "1000/hour"},
		{"shop.example:place-order:v1", "0.05 EUR", "60/hour"},
	} {
		d, err := policy.Decide(t.Context(), odrl.Request{AgentID: "agent-1", KeyID: "k", Intent: tt.intent, Now: time.Now()})
		if err != nil || !d.Permit || len(d.Candidates) != 1 {
			t.Fatalf("%s: %+v, %v", tt.intent, d, err)
		}
		if c := d.Candidates[0]; c.Charge.String() != tt.charge || len(c.Limits) != 1 || c.Limits[0].String() != tt.rate {
			t.Errorf("%s: %+v", tt.intent, c)
		}
	}
}
