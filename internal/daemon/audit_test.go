package daemon_test

import (
	"crypto/sha256"
	"encoding/hex"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/strictjson"
)

// audited returns the audit records of a gateway, after it has stopped.
func (g *gate) audited() []map[string]any {
	g.t.Helper()
	g.stop()
	text, err := os.ReadFile(filepath.Join(g.dir, "data", "audit.jsonl"))
	if err != nil {
		g.t.Fatal(err)
	}
	var records []map[string]any
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		tree, err := strictjson.DecodeObject([]byte(line))
		if err != nil {
			g.t.Fatalf("%q: %v", line, err)
		}
		records = append(records, tree)
	}
	return records
}

func TestEveryDecisionIsAuditedWithoutParameterValues(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	a := g.newAgent("agent-1").agree()
	a.execute(order, map[string]any{"product_id": "canary-value"}, header{"UIM-Request-ID": "r-1"})
	a.execute(search, map[string]any{"query": "x"}, nil)
	records := g.audited()
	if len(records) != 2 {
		t.Fatalf("got %d records, want 2", len(records))
	}
	sum := sha256.Sum256([]byte(`{"product_id":"canary-value"}`))
	for name, want := range map[string]any{
		"agent": "agent-1", "intent": order, "decision": "permit", "rule": "https://shop.example/policy/1#order", "request_id": "r-1",
		"outcome": "done", "charge": "0.25 EUR", "charge_state": "captured", "parameters_sha256": hex.EncodeToString(sum[:]),
	} {
		if records[0][name] != want {
			t.Errorf("%s = %v, want %v", name, records[0][name], want)
		}
	}
	if records[1]["decision"] != "deny" || records[1]["reason"] != "PARAMETER_TOO_SHORT" {
		t.Errorf("got %v", records[1])
	}
	for _, text := range []string{g.log.String(), g.file("data/audit.jsonl")} {
		if strings.Contains(text, "canary-value") || strings.Contains(text, a.token) {
			t.Error("the audit stream contains a parameter value or a token")
		}
	}
}

func TestParametersAreAuditedIfConfigured(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{config: testConfig + "audit: {parameters: true}\n"})
	a := g.newAgent("agent-1").agree()
	a.execute(details, map[string]any{"id": "p1"}, nil)
	record := g.audited()[0]
	parameters, _ := record["parameters"].(map[string]any)
	if parameters["id"] != "p1" || record["parameters_sha256"] != nil {
		t.Errorf("got %v", record)
	}
}

func TestAttributionIsReturnedAndLoggedUseAudited(t *testing.T) {
	t.Parallel()
	policy := strings.Replace(testPolicy, `{"target": "shop.example:product-details:v1", "action": "execute"}`,
		`{"target": "shop.example:product-details:v1", "action": "execute", "duty": [
		   {"action": "attribute", "description": "Käse by shop.example"}, {"action": "logUsage"}]}`, 1)
	g := startGate(t, setup{policy: policy})
	a := g.newAgent("agent-1").agree()
	got := a.execute(details, map[string]any{"id": "p1"}, nil)
	_, notice, err := mime.ParseMediaType(got.header.Get("UIM-Attribution"))
	if got.status != http.StatusOK || err != nil || notice["notice"] != "Käse by shop.example" {
		t.Errorf("got status %d, UIM-Attribution %q, %v; want 200 and the notice", got.status, got.header.Get("UIM-Attribution"), err)
	}
	duties, _ := g.audited()[0]["duties"].([]any)
	if len(duties) != 2 {
		t.Errorf("duties: %v, want length 2", duties)
	}
}

func TestPolicyThatNeedsAnUnknownFactIsRefused(t *testing.T) {
	t.Parallel()
	policy := strings.Replace(testPolicy, `"action": "execute",
     "constraint": [`, `"action": "execute",
     "constraint": [{"leftOperand": "purpose", "operator": "eq", "rightOperand": "research"}, `, 1)
	if got := refusal(t, setup{policy: policy}); !strings.Contains(got, "purpose") {
		t.Errorf("got %s, want a text that contains %q", got, "purpose")
	}
}

func (g *gate) file(name string) string {
	g.t.Helper()
	text, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		g.t.Fatal(err)
	}
	return string(text)
}
