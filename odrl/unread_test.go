package odrl_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/words"
)

// unreadable are limits that a gateway cannot enforce, with the text that every command reports.
var unreadable = []struct{ limit, context, says string }{
	{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":5}`, `"rateLimit":3`, "needs a unit"},
	{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":5,"unit":"fortnight"}`, `"rateLimit":3`, `"fortnight" is not a period`},
	{`{"leftOperand":"count","operator":"lteq","rightOperand":5,"unit":"fortnight"}`, `"count":3`, `"fortnight" is not a period`},
	{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":"abc","unit":"hour"}`, `"rateLimit":3`, `"abc" is not a whole number`},
	{`{"leftOperand":"count","operator":"lteq","rightOperand":"abc"}`, `"count":3`, `"abc" is not a whole number`},
	{`{"leftOperand":"count","operator":"lteq","rightOperand":-1}`, `"count":-2`, "whole number from 0"},
	{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":2.5,"unit":"hour"}`, `"rateLimit":2`, `"2.5" is not a whole number`},
	{`{"leftOperand":"count","operator":"lteq","rightOperand":"1e13"}`, `"count":3`, `"1e13" is not a whole number`},
	{`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":"5/fortnight"}`, `"rateLimit":3`, "fortnight"},
	{`{"leftOperand":"count","operator":"lteq","rightOperand":5,"status":"some"}`, `"count":3`, "status"},
	{`{"leftOperand":"count","operator":"lteq","rightOperand":5,"unit":"hour","status":2}`, `"count":3`, "status"},
	{`{"leftOperand":"rateLimit","operator":"gteq","rightOperand":5,"unit":"hour"}`, "", "needs the operator lteq or lt, not gteq"},
	{`{"leftOperand":"count","operator":"isAnyOf","rightOperand":[1,2]}`, "", "compared with exactly one number"},
	{`{"leftOperand":"count","operator":"neq","rightOperand":5}`, "", "needs the operator lteq or lt, not neq"},
	{
		`{"or":[{"leftOperand":"rateLimit","operator":"lteq","rightOperand":5,"unit":"hour"},{"leftOperand":"purpose","operator":"eq","rightOperand":"study"}]}`,
		"", "not inside or, xone and andSequence",
	},
	{
		`{"xone":[{"leftOperand":"count","operator":"lteq","rightOperand":5},{"leftOperand":"purpose","operator":"eq","rightOperand":"study"}]}`,
		"", "not inside or, xone and andSequence",
	},
}

// An unreadable limit never permits: Publish refuses it, and Evaluate of the loaded policy denies, with the same text.
func TestUnreadableLimitNeverPermits(t *testing.T) {
	const may, target = `"permission":{"action":"read","target":"ex:x"`, `"target":"ex:x"`
	for _, tt := range unreadable {
		if _, problems := odrl.Publish(t.Context(), []byte(permit(`"constraint":`+tt.limit)), world()); !reports(problems, problem.Error, tt.says) {
			t.Errorf("Publish of %s does not report %q: %v", tt.limit, tt.says, problems)
		}
		for where, doc := range map[string]string{
			"constraint":     set(may + `,"constraint":` + tt.limit + `}`),
			"beside another": set(may + `,"constraint":[{"leftOperand":"count","operator":"lteq","rightOperand":9,"unit":"day"},` + tt.limit + `]}`),
			"refinement":     set(`"permission":{"action":{"@id":"odrl:read","refinement":` + tt.limit + `},` + target + `}`),
			"prohibition": set(may+`}`, `"conflict":"prohibit"`,
				`"prohibition":{"action":"read",`+target+`,"constraint":`+strings.ReplaceAll(tt.limit, "lteq", "gt")+`}`),
			"refined prohibition": set(may+`}`, `"conflict":"prohibit"`,
				`"prohibition":{"action":{"@id":"odrl:read","refinement":`+strings.ReplaceAll(tt.limit, "lteq", "gt")+`},`+target+`}`),
		} {
			says := tt.says
			if strings.HasSuffix(where, "prohibition") {
				says = strings.ReplaceAll(says, "lteq or lt", "gt or gteq")
				if strings.Contains(tt.limit, "gteq") {
					continue // a prohibition requires this operator
				}
			}
			p := load(t, doc)
			contexts := []string{""}
			if tt.context != "" {
				contexts = append(contexts, tt.context)
			}
			for _, context := range contexts {
				e := evaluate(t, p, strings.Replace(aliceReads, `"party"`, `"context":{`+context+`},"party"`, 1), noWorld, "")
				if e.Permit || !strings.Contains(e.Detail, says) {
					t.Errorf("%s %s of {%s}: permit %t, limits %v, %q does not contain %q", where, tt.limit, context, e.Permit, e.Limits, e.Detail, says)
				}
			}
			if text := explained(p); !strings.Contains(text, says) {
				t.Errorf("%s %s: explain does not contain %q:\n%s", where, tt.limit, says, text)
			}
			if problems := odrl.Validate(t.Context(), []byte(doc), odrl.ValidateOptions{}); !reports(problems, problem.Warning, says) {
				t.Errorf("%s %s: validate does not report %q: %v", where, tt.limit, says, problems)
			}
		}
	}
}

// reports returns whether a problem has this level and text.
func reports(problems problem.List, level problem.Level, says string) bool {
	for _, p := range problems {
		if p.Level == level && strings.Contains(p.Message, says) {
			return true
		}
	}
	return false
}

func explained(p *odrl.Policy) string {
	var b strings.Builder
	for _, s := range words.Explain(p) {
		b.WriteString(s.Text + " " + strings.Join(s.Terms, " ") + "\n")
	}
	return b.String()
}
