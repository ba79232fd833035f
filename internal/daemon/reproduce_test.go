package daemon_test

import (
	"encoding/json"
	"testing"

	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

// decideAgain decides an audited call with the served policy, without the gateway.
func decideAgain(t *testing.T, document []byte, record map[string]any) odrl.Evaluation {
	t.Helper()
	requests, ok := record["asked"].(map[string]any)
	if !ok {
		t.Fatalf("the record lacks the input of the decision: %v", record)
	}
	policy, problems := odrl.Load(t.Context(), document, odrl.LoadOptions{})
	if policy == nil {
		t.Fatal(problems)
	}
	question, err := odrl.ParseQuestion(mustJSON(t, requests["request"]), false)
	if err != nil {
		t.Fatal(err)
	}
	world, err := odrl.ParseWorldState(mustJSON(t, requests["world"]))
	if err != nil {
		t.Fatal(err)
	}
	mode, _ := requests["dutyMode"].(string)
	e, err := policy.Evaluate(t.Context(), question, world, odrl.EvaluateOptions{DutyMode: odrl.DutyMode(mode)})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestAuditedDecisionsAreReproducedOffline(t *testing.T) {
	t.Parallel()
	g := factsGate(t, "audit: {parameters: true}\n")
	served := g.do("GET", "/api/policy", nil, nil).body
	a := g.newAgent("agent-1").agree()
	a.execute(search, map[string]any{"query": "lamp", "category": "research"}, header{"X-Country": "DE"})
	a.execute(search, map[string]any{"query": "lamp", "category": "home"}, header{"X-Country": "DE"})
	a.execute(details, map[string]any{"id": "p1"}, nil)
	a.execute(order, map[string]any{"product_id": "p1"}, nil)
	a.execute(order, map[string]any{"product_id": "weapon"}, nil)
	records := g.audited()
	if len(records) != 5 {
		t.Fatalf("%d records", len(records))
	}
	for _, record := range records {
		again := decideAgain(t, served, record)
		decision := "deny"
		if again.Permit {
			decision = "permit"
		}
		reason, _ := record["reason"].(string)
		rule, _ := record["rule"].(string)
		if decision != record["decision"] || string(again.Reason) != reason || again.Rule != rule {
			text, _ := json.Marshal(record)
			t.Errorf("%s\ndecided again: %s %s %s", text, decision, again.Reason, again.Rule)
		}
	}
}

func TestCorePolicyIsReproducedOffline(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{policy: corePolicy, config: testConfigUSD + "  assignee: anyone\n"})
	served := g.do("GET", "/api/policy", nil, nil).body
	a := g.newAgent("agent-1").agree()
	parameters := map[string]any{"query": "lamp"}
	a.execute(search, parameters, nil)
	a.execute(search, parameters, header{"UIM-Proof": a.proof(search, parameters)})
	records := g.audited()
	unproved, proved := decideAgain(t, served, records[0]), decideAgain(t, served, records[1])
	if unproved.Permit || unproved.Reason != reason.PolicyRequiresVerification {
		t.Errorf("without a proof: %+v", unproved)
	}
	if !proved.Permit || len(proved.Charges) != 1 || proved.Charges[0].Amount != "0.01" || len(proved.Limits) != 1 ||
		proved.Limits[0].Max != 1000 {
		t.Errorf("with a proof: %+v", proved)
	}
}
