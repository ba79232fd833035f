package odrl_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

// Legal ODRL in the notations of other publishers has the same meaning.
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
		"and, true":       {of("and"), `"purpose":"study"`, "permit"},
		"and, false":      {of("and"), `"purpose":"ads"`, "POLICY_NOT_APPLICABLE"},
		"or, true":        {of("or"), `"purpose":"study"`, "permit"},
		"or, false":       {of("or"), `"purpose":"ads"`, "POLICY_NOT_APPLICABLE"},
		"action by type":  {set(`"permission":{"action":{"type":"USE"},` + to + `,` + study + `}`), `"purpose":"study"`, "permit"},
		"action by @type": {set(`"permission":{"action":{"@type":"odrl:read"},` + to + `}`), "", "permit"},
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
			t.Errorf("%s: canonical form %s: %v", name, again, problems)
		} else if e := evaluate(t, q, question, noWorld, ""); outcome(e) != tt.want {
			t.Errorf("%s: canonical form %s gives %s, want %s", name, again, outcome(e), tt.want)
		}
	}
	for name, doc := range map[string]string{
		"two actions in one node":            set(`"permission":{"action":{"@id":"odrl:print","rdf:value":{"@id":"odrl:read"}},` + to + `}`),
		"a type that is not an action":       set(`"permission":{"action":{"type":"USED"},` + to + `}`),
		"a hierarchy rearranged":             graphOf(`{"uid":"ex:p","permission":{"action":"use",`+to+`}}`, `{"@id":"odrl:sell","includedIn":"use"}`),
		"a hierarchy upside down":            graphOf(`{"uid":"ex:p","permission":{"action":"use",`+to+`}}`, `{"@id":"odrl:use","includedIn":"odrl:read"}`),
		"an action that ODRL does not imply": graphOf(`{"uid":"ex:p","permission":{"action":"use",`+to+`}}`, `{"@id":"odrl:read","implies":"odrl:use"}`),
		"xone with one operand":              of("xone"),
		"unreadable operand":                 set(`"permission":{"action":"read",` + to + `,"constraint":{"or":[{"leftOperand":"purpose"}]}}`),
		"one of two operands unreadable":     set(`"permission":{"action":"read",` + to + `,"constraint":{"or":[` + one("purpose", "eq", `"a"`) + `,{"operator":"eq"}]}}`),
	} {
		if p, _ := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{}); p != nil {
			t.Errorf("%s is not refused", name)
		}
	}
}

// permitsStudy expects that a document, or the policy with this uid in it, is refused with the code. If the code is empty, it expects that
// alice may read for study, and for no other purpose.
func permitsStudy(t *testing.T, name, doc, uid, code string) {
	t.Helper()
	p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{Policy: uid})
	if (p == nil) != (code != "") || code != "" && find(problems, code) == nil {
		t.Errorf("%s: loaded %t, %v", name, p != nil, problems)
	}
	if p == nil {
		return
	}
	for purpose, want := range map[string]string{"study": "permit", "ads": "POLICY_NOT_APPLICABLE"} {
		question := strings.Replace(aliceReads, `"party"`, `"context":{"purpose":"`+purpose+`"},"party"`, 1)
		if e := evaluate(t, p, question, noWorld, ""); outcome(e) != want {
			t.Errorf("%s for %s: %s (%s); want %v", name, purpose, outcome(e), e.Detail, want)
		}
	}
}

// Policies as dataspace connectors store and send them: inside a definition, with the connector's vocabulary.
func TestPoliciesOfDataspaceConnectors(t *testing.T) {
	const rule = `"permission":[{"action":"use","target":"http://example.org/x","constraint":{"leftOperand":"purpose","operator":"eq",
		"rightOperand":"study"}}]`
	const edc = `"@context":{"@vocab":"https://w3id.org/edc/v0.0.1/ns/","odrl":"http://www.w3.org/ns/odrl/2/"},"@type":"PolicyDefinition"`
	inner := `"policy":{"@context":"http://www.w3.org/ns/odrl.jsonld","@type":"Set",` + rule + `}`
	for name, tt := range map[string]struct{ doc, code string }{
		"a definition": {`{` + edc + `,"@id":"http://example.org/definition/1","createdAt":5,` + inner + `}`, ""},
		"a named policy": {`{` + edc + `,"@id":"definition-1",` +
			strings.Replace(inner, `"Set"`, `"odrl:Set","@id":"http://example.org/policy"`, 1) + `}`, ""},
		"an expanded key": {`{"@context":{"edc":"https://w3id.org/edc/v0.0.1/ns/"},"@type":"edc:PolicyDefinition",
			"@id":"http://example.org/definition/1",` + strings.Replace(inner, `"policy"`, `"edc:policy"`, 1) + `}`, ""},
		"a dataspace context":        {`{"@context":["https://w3id.org/dspace/2025/1/context.jsonld"],"@type":"Set","@id":"urn:uuid:1",` + rule + `}`, ""},
		"the context of 2024":        {`{"@context":"https://w3id.org/dspace/2024/1/context.json","@type":"odrl:Set","@id":"urn:uuid:1",` + rule + `}`, ""},
		"no uid":                     {`{` + edc + `,"@id":"definition-1",` + inner + `}`, "uid"},
		"rule outside of the policy": {`{` + edc + `,"@id":"http://example.org/definition/1","prohibition":[],` + inner + `}`, "unknown-key"},
		"an unknown operand": {`{` + edc + `,"@id":"http://example.org/definition/1",` +
			strings.Replace(inner, `"purpose"`, `"membership"`, 1) + `}`, "unknown-term"},
		"a context in the policy that changes ODRL": {`{` + edc + `,"@id":"http://example.org/definition/1",` +
			strings.Replace(inner, `"http://www.w3.org/ns/odrl.jsonld"`, `{"permission":"odrl:prohibition"}`, 1) + `}`, "context"},
	} {
		permitsStudy(t, name, tt.doc, "", tt.code)
	}
}

// A policy inside the description of a dataset applies to that dataset unless it names another target.
func TestPoliciesInsideDescriptionsOfData(t *testing.T) {
	const rule = `"permission":[{"action":"read","constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"study"}}]`
	const around = `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"dcat":"http://www.w3.org/ns/dcat#"}],"@type":"dcat:Catalog",
		"@id":"http://example.org/catalogue","dcat:dataset":[`
	named := func(n string, more string) string {
		return `{"@type":"Set","@id":"http://example.org/policy/` + n + `",` + more + rule + `}`
	}
	for name, tt := range map[string]struct{ doc, uid, code string }{
		"a dataset": {`{"@context":["http://www.w3.org/ns/odrl.jsonld",{"dcat":"http://www.w3.org/ns/dcat#"}],"@type":"dcat:Dataset",
			"@id":"http://example.org/x","dcat:keyword":["a"],"hasPolicy":` + named("1", "") + `}`, "", ""},
		"a catalogue": {around + `{"@id":"http://example.org/x","hasPolicy":[` + named("1", "") + `]}]}`, "", ""},
		"a distribution": {around + `{"@id":"http://example.org/d","dcat:distribution":{"@id":"http://example.org/x","hasPolicy":` +
			named("1", "") + `}}]}`, "", ""},
		"a graph": {`{"@context":"http://www.w3.org/ns/odrl.jsonld","@graph":[{"@id":"http://example.org/x","odrl:hasPolicy":` +
			named("1", "") + `}]}`, "", ""},
		"another target": {around + `{"@id":"http://example.org/d","hasPolicy":` + named("1", `"target":"http://example.org/x",`) + `}]}`, "", ""},
		"one of two policies by uid": {around + `{"@id":"http://example.org/d","hasPolicy":` + named("1", "") +
			`},{"@id":"http://example.org/x","hasPolicy":` +
			named("2", "") + `}]}`, "http://example.org/policy/2", ""},
		"two policies, no uid given": {around + `{"@id":"http://example.org/d","hasPolicy":` + named("1", "") +
			`},{"@id":"http://example.org/x","hasPolicy":` +
			named("2", "") + `}]}`, "", "graph"},
		"policy by reference only": {around + `{"@id":"http://example.org/x","hasPolicy":"http://example.org/policy/1"}]}`, "", "unknown-key"},
	} {
		permitsStudy(t, name, tt.doc, tt.uid, tt.code)
	}
}

// Each unreadable operand is reported once, and not as a missing operand.
func TestUnreadableOperandsAreNotMissing(t *testing.T) {
	doc := set(`"permission":{"action":"read","target":"http://example.org/x","constraint":{"and":[` +
		one("http://example.org/a", "eq", `"a"`) + `,` + one("http://example.org/b", "eq", `"b"`) + `]}}`)
	var codes []string
	for _, p := range odrl.Validate(t.Context(), []byte(doc), odrl.ValidateOptions{}) {
		codes = append(codes, p.Code)
	}
	if got := strings.Join(codes, " "); got != "unknown-term unknown-term" {
		t.Errorf("the problems are %s, want %q", got, "unknown-term unknown-term")
	}
}
