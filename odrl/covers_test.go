package odrl_test

import (
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

func TestPolicyCoversIntents(t *testing.T) {
	const (
		start    = `{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p","profile":"http://example.com/profile/odrl-uim",`
		other    = `"permission":[{"target":"example.com:b:v1","action":"execute"}]`
		intent   = `"target":"example.com:a:v1"`
		everyOne = `"target":"https://example.com/api/intents"`
	)
	w := odrl.World{
		Hosts: []string{"example.com"}, Parties: map[string]odrl.Party{"http://example.com/partner": {AgentID: "partner", KeyID: "k"}},
		Intents: []odrl.Asset{
			{UID: "example.com:a:v1", Namespace: "example.com", Name: "a", Title: "a"}, {UID: "example.com:b:v1", Namespace: "example.com", Name: "b", Title: "b"},
		},
	}
	for name, tt := range map[string]struct {
		rules string
		want  bool
	}{
		"no rule":                    {other, false},
		"a permission":               {`"permission":[{` + intent + `,"action":"execute"}]`, true},
		"a permission for a partner": {`"permission":[{` + everyOne + `,"action":"execute","assignee":"http://example.com/partner"}]`, true},
		"a prohibition":              {other + `,"prohibition":[{` + intent + `,"action":"use"}]`, true},
		"a prohibition for a partner": {
			`"conflict":"prohibit",` + other + `,"prohibition":[{` + everyOne + `,"action":"execute","assignee":"http://example.com/partner"}]`, false,
		},
		"a prohibition of many calls": {
			other + `,"prohibition":[{` + intent + `,"action":"execute","constraint":{"leftOperand":"rateLimit","operator":"gt","rightOperand":5,"unit":"hour"}}]`, false,
		},
		"a prohibition to exceed": {other + `,"prohibition":[{` + intent + `,"action":"exceedRateLimit"}]`, false},
		"an obligation":           {other + `,"obligation":[{` + intent + `,"action":"logUsage"}]`, false},
	} {
		p, problems := odrl.Publish(t.Context(), []byte(start+tt.rules+"}"), w)
		if p == nil {
			t.Errorf("%s: %v", name, problems)
			continue
		}
		if got := p.Covers("example.com:a:v1"); got != tt.want {
			t.Errorf("%s: covers the intent: %t, want %t", name, got, tt.want)
		}
		if p.Covers("example.com:none:v1") {
			t.Errorf("%s: covers an intent that does not exist", name)
		}
	}
}
