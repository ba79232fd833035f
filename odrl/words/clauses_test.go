package words_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
)

const clausesPolicy = `{"@context": "http://www.w3.org/ns/odrl.jsonld", "type": "Set", "uid": "https://shop.example/policy/1",
 "profile": "http://example.com/profile/odrl-uim",
 "permission": [
  {"target": "shop.example:a:v1", "action": "execute", "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 5, "unit": "hour"}]},
  {"target": ["shop.example:b:v1", "shop.example:c:v1"], "action": "execute"}]}`

func TestClauses(t *testing.T) {
	t.Parallel()
	asset := func(name string) odrl.Asset {
		return odrl.Asset{UID: "shop.example:" + name + ":v1", Namespace: "shop.example", Name: name, Title: name}
	}
	world := odrl.World{
		Hosts: []string{"shop.example"}, Intents: []odrl.Asset{asset("a"), asset("b"), asset("c")}, Retired: []odrl.Asset{asset("old")},
	}
	clauses := func(doc string) map[string]words.Clause {
		t.Helper()
		p, problems := odrl.Publish(t.Context(), []byte(doc), world)
		if p == nil {
			t.Fatal(problems)
		}
		return words.Clauses(p)
	}
	before := clauses(clausesPolicy)
	if len(before) != 3 || before["shop.example:a:v1"] == before["shop.example:b:v1"] {
		t.Fatalf("%x", before)
	}
	for name, test := range map[string]struct{ from, to, changed string }{
		"other text":             {`"type"`, `"dct:description": "New.", "type"`, ""},
		"a rule gets a name":     {`{"target": "shop.example:a`, `{"uid": "https://shop.example/rule", "target": "shop.example:a`, ""},
		"another spelling":       {`"operator": "lteq", "rightOperand": 5`, `"operator": "lt", "rightOperand": 6`, ""},
		"another limit":          {`"rightOperand": 5`, `"rightOperand": 6`, "a"},
		"one target less":        {`, "shop.example:c:v1"]`, `]`, "c"},
		"one target apart":       {`, "shop.example:c:v1"], "action": "execute"}`, `], "action": "execute"}, {"target": "shop.example:c:v1", "action": "execute"}`, ""},
		"a price for one target": {`"shop.example:c:v1"], "action": "execute"}`, `"shop.example:c:v1"], "action": "execute"}, {"target": "shop.example:c:v1", "action": "execute", "duty": [{"action": "pay", "amount": "1", "unit": "EUR"}]}`, "c"},
		"a rule for all":         {`"permission": [`, `"obligation": [{"action": "inform"}], "permission": [`, "abc"},
		"a rule for the host":    {`"permission": [`, `"obligation": [{"target": "shop.example", "action": "logUsage"}], "permission": [`, "abc"},
		"a retired intent":       {`"permission": [`, `"permission": [{"target": "shop.example:old:v1", "action": "execute"},`, ""},
		"another strategy":       {`"type"`, `"conflict": "perm", "type"`, "abc"},
		"another uid":            {"policy/1", "policy/2", "abc"},
	} {
		doc := strings.Replace(clausesPolicy, test.from, test.to, 1)
		if doc == clausesPolicy {
			t.Fatalf("%s: the policy is the same", name)
		}
		got := ""
		after := clauses(doc)
		for _, intent := range []string{"a", "b", "c"} {
			if uid := "shop.example:" + intent + ":v1"; after[uid] != before[uid] {
				got += intent
			}
		}
		if got != test.changed {
			t.Errorf("%s: the clauses of %q differ, want %q", name, got, test.changed)
		}
	}
}
