package gateway_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/gateway/service"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// loadFacts loads a service with these keys, whose policy compares the operand if it is not empty.
func loadFacts(t *testing.T, keys, operand string) *service.Definition {
	t.Helper()
	dir := t.TempDir()
	constraint := ""
	if operand != "" {
		constraint = `, "constraint": [{"leftOperand": "` + operand + `", "operator": "neq", "rightOperand": "v9"}]`
	}
	for name, text := range map[string]string{
		"agents.json": datedAgents, "rules.rego": "package uimgate.extra\n\ndeny if input.facts.version == \"v9\"\n",
		"policy.json": `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
  "profile": "http://example.com/profile/odrl-uim", "permission": [{"target": "shop.example:search:v1", "action": "execute"` + constraint + `}]}`,
		"uimgate.yaml": "services:\n- agents_file: agents.json\n  policy_file: policy.json\n  upstream: {url: http://127.0.0.1:9000}\n" + keys,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cfg, problems := config.Load(filepath.Join(dir, "uimgate.yaml"), config.Overrides{Env: func(string) (string, bool) { return "", false }})
	if cfg == nil {
		t.Fatal(problems)
	}
	loaded, problems := service.Load(t.Context(), cfg, time.Now)
	if loaded == nil {
		t.Fatal(problems)
	}
	return loaded.Definitions()[0]
}

// Only the facts that a policy or rules read are collected. The agent is the recipient unless the configuration names another.
func TestFactsOfACall(t *testing.T) {
	const claimed = "  facts: {recipient: [{claim: org}]}\n"
	for name, tt := range map[string]struct {
		keys, operand string
		want          map[string]any
		fromAgent     []string
	}{
		"nothing is read":             {"", "", nil, nil},
		"the version by the policy":   {"", "version", nil, nil},
		"the recipient by the policy": {"", "recipient", map[string]any{"recipient": "agent-1"}, nil},
		"all by the operator's rules": {"  policy_rego: rules.rego\n", "", map[string]any{"recipient": "agent-1", "version": "v2"}, nil},
		"another recipient":           {claimed, "recipient", map[string]any{"recipient": "acme"}, nil},
		"a parameter": {
			"  facts: {purpose: [{parameter: /why}]}\n", "purpose", map[string]any{"purpose": "research"}, []string{"purpose"},
		},
	} {
		d := loadFacts(t, tt.keys, tt.operand)
		c := service.Circumstances{
			Claims:  &pat.Claims{Subject: "agent-1", Declared: map[string][]string{"org": {"acme"}}},
			Version: "v2", Parameters: strictjson.Object{"why": "research"},
		}
		facts, fromAgent := d.Facts(c)
		if diff := cmp.Diff(tt.want, facts) + cmp.Diff(tt.fromAgent, fromAgent); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	undeclared := loadFacts(t, claimed, "")
	facts, _ := undeclared.Facts(service.Circumstances{Claims: &pat.Claims{Subject: "agent-1"}})
	if facts["recipient"] != "agent-1" {
		t.Errorf("without the claim: %v", facts)
	}
}
