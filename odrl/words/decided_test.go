package words_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
)

// Sentences match the decisions: each row has a sentence and the decision that proves it.
func TestExplainMatchesDecisions(t *testing.T) {
	const prohibited = `"permission":{"target":"urn:a","action":"play"},"prohibition":{"target":"urn:a","action":"play","constraint":`
	for _, tt := range []struct {
		rules, says string
		context     map[string]any
		permit      bool
	}{
		{permitted(leaf("count", "lteq", 5)), "At most 5 times in all, for each agent.", nil, true},
		{permitted(leaf("count", "lteq", 5)), "At most 5 times in all, for each agent.", map[string]any{"count": json.Number("5")}, true},
		{permitted(leaf("count", "lteq", 5)), "At most 5 times in all, for each agent.", map[string]any{"count": json.Number("6")}, false},
		{permitted(leaf("count", "lteq", 1)), "At most 1 time in all, for each agent.", map[string]any{"count": json.Number("2")}, false},
		{permitted(leaf("rateLimit", "lteq", 5)), "so the permission does not apply", nil, false},
		{
			permitted(`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":5,"unit":"hour"}`),
			"At most 5 times per hour, for each agent.", nil, true,
		},
		{prohibited + leaf("purpose", "eq", "ads") + `}`, "the prohibition still applies", nil, false},
		{prohibited + leaf("purpose", "eq", "ads") + `}`, `if the purpose is "ads"`, map[string]any{"purpose": "research"}, true},
		{
			permitted(leaf("purpose", "eq", "ads")) + `,"obligation":{"target":"urn:terms","action":"nextPolicy"}`,
			`must grant others the use of it under the terms of "urn:terms"`,
			map[string]any{"purpose": "ads"},
			false,
		},
		{
			`"permission":{"target":"urn:a","action":"play"},"obligation":{"target":"urn:a","action":"delete","constraint":` +
				leaf("dateTime", "lt", "2030-01-01T00:00:00Z") + `}`,
			`must delete all copies of "urn:a" before 1 January 2030 (UTC)`, nil, false,
		},
		{
			prohibited + leaf("purpose", "eq", "ads") + `,"remedy":{"action":"anonymize","target":"urn:a"}}`,
			`If it is done nevertheless, the party that does it must make "urn:a" anonymous`,
			map[string]any{"purpose": "ads"},
			false,
		},
		{
			prohibited + leaf("purpose", "eq", "ads") + `,"remedy":{"action":"anonymize","target":"urn:a"}}`,
			`No one may play "urn:a" if the purpose is "ads"`,
			map[string]any{"purpose": "research"},
			true,
		},
		{
			`"permission":{"target":"urn:a","action":"play","duty":{"action":"compensate","constraint":` +
				`{"leftOperand":"payAmount","operator":"eq","rightOperand":"5","unit":"EUR"}}}`,
			"A permission that is subject to duties applies once they are fulfilled", nil, false,
		},
	} {
		doc := `{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"urn:p","profile":"http://example.com/profile/odrl-uim",` +
			`"conflict":"prohibit",` + tt.rules + `}`
		p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{})
		if p == nil {
			t.Errorf("%s: %v", tt.rules, problems)
			continue
		}
		if got := written(words.Explain(p)); !strings.Contains(got, tt.says) {
			t.Errorf("%s: want %q in\n%s", tt.rules, tt.says, got)
		}
		q := odrl.Question{Action: "play", Target: "urn:a", Context: tt.context}
		e, err := p.Evaluate(t.Context(), q, odrl.WorldState{}, odrl.EvaluateOptions{})
		if err != nil || e.Permit != tt.permit {
			t.Errorf("%s, %v: permit %t %s, %v; want %t", tt.rules, tt.context, e.Permit, e.Detail, err, tt.permit)
		}
	}
}

func permitted(condition string) string {
	return `"permission":{"target":"urn:a","action":"play","constraint":` + condition + `}`
}
