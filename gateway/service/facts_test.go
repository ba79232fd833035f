package service

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/strictjson"
	"github.com/uimgate/uimgate/pat"
)

// Only the facts that a policy or rules read are collected. The agent is the recipient unless the configuration names another.
func TestFactsOfACall(t *testing.T) {
	claimed := map[string]config.FactSources{"recipient": {{Claim: "org"}}}
	sent := map[string]config.FactSources{"purpose": {{Parameter: "/why"}}}
	for name, tt := range map[string]struct {
		configured map[string]config.FactSources
		read       []string
		extra      bool
		want       map[string]any
		fromAgent  []string
	}{
		"nothing is read":             {nil, nil, false, nil, nil},
		"the version by the policy":   {nil, []string{"version"}, false, nil, nil},
		"the recipient by the policy": {nil, []string{"recipient"}, false, map[string]any{"recipient": "agent-1"}, nil},
		"all by the operator's rules": {nil, nil, true, map[string]any{"recipient": "agent-1", "version": "v2"}, nil},
		"another recipient":           {claimed, []string{"recipient"}, false, map[string]any{"recipient": "acme"}, nil},
		"a parameter":                 {sent, []string{"purpose"}, false, map[string]any{"purpose": "research"}, []string{"purpose"}},
	} {
		d := Definition{facts: newFacts(tt.configured, tt.read, tt.extra)}
		c := Circumstances{
			Claims:  &pat.Claims{Subject: "agent-1", Declared: map[string][]string{"org": {"acme"}}},
			Version: "v2", Parameters: strictjson.Object{"why": "research"},
		}
		facts, fromAgent := d.Facts(c)
		if diff := cmp.Diff(tt.want, facts) + cmp.Diff(tt.fromAgent, fromAgent); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	undeclared := Definition{facts: newFacts(claimed, nil, false)}
	if facts, _ := undeclared.Facts(Circumstances{Claims: &pat.Claims{Subject: "agent-1"}}); facts["recipient"] != "agent-1" {
		t.Errorf("without the claim: %v", facts)
	}
}
