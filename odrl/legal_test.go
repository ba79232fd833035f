package odrl_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

// Legal ODRL in the spelling of other publishers is read as what it says.
func TestOtherSpellingsOfLegalODRL(t *testing.T) {
	const to, study = `"target":"http://example.org/x"`, `"constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"study"}`
	of := func(logic string) string {
		return set(`"permission":{"action":"read",` + to + `,"constraint":{"` + logic + `":[` + one("purpose", "eq", `"study"`) + `]}}`)
	}
	for name, tt := range map[string]struct{ doc, context, want string }{
		"action node": {set(`"permission":{"action":{"@id":"ex:reading","rdf:value":{"@id":"odrl:read"}},` + to + `}`), "", "permit"},
		"refined action node": {
			set(`"permission":{"action":[{"uid":"ex:reading","rdf:value":{"@id":"odrl:read"},"refinement":` + one("purpose", "eq", `"study"`) +
				`}],` + to + `}`), "", "POLICY_NOT_APPLICABLE",
		},
		"another action node": {
			set(`"permission":{"action":{"@id":"ex:printing","rdf:value":{"@id":"odrl:print"}},` + to + `}`), "", "POLICY_NOT_APPLICABLE",
		},
		"hierarchy restated": {
			graphOf(`{"uid":"ex:p","permission":{"action":"use",`+to+`}}`, `{"@id":"odrl:read","includedIn":"odrl:use"}`), "", "permit",
		},
		"one of and":        {of("and"), `"purpose":"study"`, "permit"},
		"not the one":       {of("and"), `"purpose":"ads"`, "POLICY_NOT_APPLICABLE"},
		"one of or":         {of("or"), `"purpose":"study"`, "permit"},
		"not the one of or": {of("or"), `"purpose":"ads"`, "POLICY_NOT_APPLICABLE"},
		"action by type":    {set(`"permission":{"action":{"type":"USE"},` + to + `,` + study + `}`), `"purpose":"study"`, "permit"},
		"action by @type":   {set(`"permission":{"action":{"@type":"odrl:read"},` + to + `}`), "", "permit"},
	} {
		p, problems := odrl.Load(t.Context(), []byte(tt.doc), odrl.LoadOptions{})
		if p == nil {
			t.Errorf("%s is refused: %v", name, problems)
			continue
		}
		question := strings.Replace(aliceReads, `"party"`, `"context":{`+tt.context+`},"party"`, 1)
		if e := evaluate(t, p, question, noWorld, ""); outcome(e) != tt.want {
			t.Errorf("%s: %s (%s), want %s", name, outcome(e), e.Detail, tt.want)
		}
		again, problems := odrl.Canonical([]byte(tt.doc), odrl.LoadOptions{Lenient: false})
		if q, _ := odrl.Load(t.Context(), again, odrl.LoadOptions{}); q == nil {
			t.Errorf("%s is written as %s: %v", name, again, problems)
		} else if e := evaluate(t, q, question, noWorld, ""); outcome(e) != tt.want {
			t.Errorf("%s is written as %s, which is %s, want %s", name, again, outcome(e), tt.want)
		}
	}
	for name, doc := range map[string]string{
		"two actions in one node":  set(`"permission":{"action":{"@id":"odrl:print","rdf:value":{"@id":"odrl:read"}},` + to + `}`),
		"a type that is no action": set(`"permission":{"action":{"type":"USED"},` + to + `}`),
		"a hierarchy rearranged":   graphOf(`{"uid":"ex:p","permission":{"action":"use",`+to+`}}`, `{"@id":"odrl:sell","includedIn":"use"}`),
		"a hierarchy upside down":  graphOf(`{"uid":"ex:p","permission":{"action":"use",`+to+`}}`, `{"@id":"odrl:use","includedIn":"odrl:read"}`),
		"what ODRL does not imply": graphOf(`{"uid":"ex:p","permission":{"action":"use",`+to+`}}`, `{"@id":"odrl:read","implies":"odrl:use"}`),
		"exactly one of one":       of("xone"),
		"one that cannot be read":  set(`"permission":{"action":"read",` + to + `,"constraint":{"or":[{"leftOperand":"purpose"}]}}`),
		"one, another unreadable":  set(`"permission":{"action":"read",` + to + `,"constraint":{"or":[` + one("purpose", "eq", `"a"`) + `,{"operator":"eq"}]}}`),
	} {
		if p, _ := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{}); p != nil {
			t.Errorf("%s is not refused", name)
		}
	}
}
