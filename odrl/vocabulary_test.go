package odrl_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

// profiled are policies in the style of the publishers, each with the vocabulary of its terms.
var profiled = []struct {
	vocabulary, doc string
	asks            map[string]string // "action context" → permit or the reason of the denial
	says            string            // one of the sentences
}{
	{
		"uim", `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"uim":"http://uimprotocol.com/uim/odrl/"}],"@type":"Set",
		"@id":"https://example.com/policy/search-engine","assigner":{"uid":"https://example.com/owner"},
		"permission":[{"target":"https://example.com/","action":[{"id":"uim:index"},{"id":"uim:search"}]}],
		"prohibition":[{"target":"https://example.com/","action":[{"id":"uim:aiUse"}]}]}`,
		map[string]string{
			"http://uimprotocol.com/uim/odrl/index {}": "permit", "distribute {}": "permit",
			"http://uimprotocol.com/uim/odrl/aiTraining {}": "POLICY_VIOLATION", // a prohibition of AI use includes its parts
			"http://uimprotocol.com/uim/odrl/aiResearch {}": "POLICY_NOT_APPLICABLE",
		},
		"perform the action AI use on",
	},
	{
		"uim", `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"uim":"http://uimprotocol.com/uim/odrl/"}],"@type":"Set",
		"@id":"https://example.com/policy/data-freshness","permission":[{"target":"https://example.com/","action":{"id":"uim:aiUse"},
		"constraint":[{"leftOperand":"uim:dataFreshness","operator":"lt","rightOperand":"P7D","dataType":"xsd:duration"}]}]}`,
		map[string]string{
			`http://uimprotocol.com/uim/odrl/aiTraining {"http://uimprotocol.com/uim/odrl/dataFreshness":"PT24H"}`: "permit",
			`http://uimprotocol.com/uim/odrl/aiTraining {"http://uimprotocol.com/uim/odrl/dataFreshness":"P8D"}`:   "POLICY_NOT_APPLICABLE",
			`http://uimprotocol.com/uim/odrl/aiTraining {}`:                                                        "POLICY_NOT_APPLICABLE",
		},
		"the age of the data is below 7 days",
	},
	{
		"catena-x", `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"cx-policy":"https://w3id.org/catenax/policy/"}],"@type":"Set",
		"@id":"https://example.com/policy/cx","profile":"cx-policy:profile2405","permission":[{"target":"https://example.com/","action":"use",
		"constraint":{"and":[{"leftOperand":"cx-policy:Membership","operator":"eq","rightOperand":"active"},
			{"leftOperand":"cx-policy:FrameworkAgreement","operator":"eq","rightOperand":"Traceability:1.0"}]}}]}`,
		map[string]string{
			`use {"https://w3id.org/catenax/policy/Membership":"active","https://w3id.org/catenax/policy/FrameworkAgreement":"Traceability:1.0"}`: "permit",
			`use {"https://w3id.org/catenax/policy/Membership":"active","https://w3id.org/catenax/policy/FrameworkAgreement":"Pcf:1.0"}`:          "POLICY_NOT_APPLICABLE",
		},
		`the framework agreement is "Traceability:1.0"`,
	},
	{ // with the contexts of 25.09, where terms have no prefix
		"catena-x", `{"@context":["https://w3id.org/catenax/2025/9/policy/odrl.jsonld","https://w3id.org/catenax/2025/9/policy/context.jsonld"],
		"@type":"Set","@id":"https://example.com/policy/cx25","permission":[{"target":"https://example.com/","action":"use","constraint":[{"and":[
		{"leftOperand":"FrameworkAgreement","operator":"eq","rightOperand":"DataExchangeGovernance:1.0"},
		{"leftOperand":"cx-policy:UsagePurpose","operator":"isAnyOf","rightOperand":["cx.pcf.base:1","cx.circular.dpp:1"]},
		{"leftOperand":"DataUsageEndDurationDays","operator":"eq","rightOperand":365}]}]},
		{"target":"https://example.com/","action":"access","constraint":
		[{"leftOperand":"Membership","operator":"eq","rightOperand":"active"}]}]}`,
		map[string]string{
			`use {"https://w3id.org/catenax/2025/9/policy/FrameworkAgreement":"DataExchangeGovernance:1.0",` +
				`"https://w3id.org/catenax/2025/9/policy/UsagePurpose":"cx.pcf.base:1",` +
				`"https://w3id.org/catenax/2025/9/policy/DataUsageEndDurationDays":365}`: "permit",
			`use {"https://w3id.org/catenax/2025/9/policy/FrameworkAgreement":"DataExchangeGovernance:1.0",` +
				`"https://w3id.org/catenax/2025/9/policy/UsagePurpose":"cx.dcm.base:1",` +
				`"https://w3id.org/catenax/2025/9/policy/DataUsageEndDurationDays":365}`: "POLICY_NOT_APPLICABLE",
			`https://w3id.org/catenax/2025/9/policy/access {"https://w3id.org/catenax/2025/9/policy/Membership":"active"}`: "permit",
			`https://w3id.org/catenax/2025/9/policy/access {"https://w3id.org/catenax/policy/Membership":"active"}`:        "POLICY_NOT_APPLICABLE",
		},
		"the days of data usage is 365",
	},
	{
		"ids", `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"idsc":"https://w3id.org/idsa/code/"}],"@type":"Set",
		"@id":"https://example.com/policy/ids","permission":[{"target":"https://example.com/","action":"idsc:USE","constraint":
		[{"leftOperand":"idsc:PURPOSE","operator":"idsc:SAME_AS","rightOperand":"research"},
			{"leftOperand":"idsc:CONNECTOR","operator":"idsc:SAME_AS","rightOperand":"https://connector.example"}]}]}`,
		map[string]string{
			`read {"purpose":"research","https://w3id.org/idsa/code/CONNECTOR":"https://connector.example"}`: "permit",
			`read {"purpose":"ads","https://w3id.org/idsa/code/CONNECTOR":"https://connector.example"}`:      "POLICY_NOT_APPLICABLE",
		},
		`the connector is "https://connector.example"`,
	},
	{
		"tdmrep", `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"tdm":"http://www.w3.org/ns/tdmrep#"}],"@type":"Set",
		"profile":"http://www.w3.org/ns/tdmrep","uid":"https://example.com/policies/1","permission":[{"target":"https://example.com/",
		"action":"tdm:mine","constraint":[{"leftOperand":"purpose","operator":"eq","rightOperand":{"@id":"tdm:research"}}]}]}`,
		map[string]string{
			`http://www.w3.org/ns/tdmrep#mine {"purpose":"http://www.w3.org/ns/tdmrep#research"}`:     "permit",
			`http://www.w3.org/ns/tdmrep#mine {"purpose":"http://www.w3.org/ns/tdmrep#non-research"}`: "POLICY_NOT_APPLICABLE",
			`use {"purpose":"http://www.w3.org/ns/tdmrep#research"}`:                                  "POLICY_NOT_APPLICABLE",
		},
		"perform the action text and data mining",
	},
	{
		"rsl", `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"rsl":"https://rslstandard.org/rsl#"}],"@type":"Set",
		"profile":"https://rslstandard.org/rsl","uid":"https://example.com/policies/rsl","conflict":"prohibit",
		"permission":[{"target":"https://example.com/","action":"rsl:ai-all","constraint":[
		{"leftOperand":"rsl:user","operator":"isAnyOf","rightOperand":["education","non-commercial"]}]},
		{"target":"https://example.com/","action":"rsl:search"}],
		"prohibition":[{"target":"https://example.com/","action":"rsl:ai-train"}]}`,
		map[string]string{
			`https://rslstandard.org/rsl#ai-input {"https://rslstandard.org/rsl#user":"education"}`:  "permit",
			`https://rslstandard.org/rsl#ai-input {"https://rslstandard.org/rsl#user":"commercial"}`: "POLICY_NOT_APPLICABLE",
			`https://rslstandard.org/rsl#ai-train {"https://rslstandard.org/rsl#user":"education"}`:  "POLICY_VIOLATION",
			`https://rslstandard.org/rsl#search {}`:                                                  "permit",
		},
		"training of AI",
	},
	{
		"rightsml", `{"@context":"http://www.w3.org/ns/odrl.jsonld","@type":"Set","uid":"http://example.com/RightsML/policy/idGeog1",
		"profile":"https://iptc.org/std/RightsML/odrl-profile/","permission":[{"target":"https://example.com/","action":"distribute",
		"constraint":[{"leftOperand":"spatial","operator":"isPartOf","rightOperand":"DE"}]}]}`,
		map[string]string{`distribute {"spatial":"DE-BY"}`: "permit", `distribute {"spatial":"FR"}`: "POLICY_NOT_APPLICABLE"},
		"DE",
	},
	{
		"dpv", `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"dpv":"https://w3id.org/dpv#"}],"@type":"Set","profile":"https://w3id.org/dpv",
		"uid":"https://example.com/policies/2","conflict":"prohibit","permission":[{"target":"https://example.com/","action":"use"}],
		"prohibition":[{"target":"https://example.com/","action":"use","constraint":[
		{"leftOperand":"dpv:hasPurpose","operator":"isA","rightOperand":{"@id":"dpv:Marketing"}}]}]}`,
		map[string]string{
			`use {"purpose":"https://w3id.org/dpv#TargetedAdvertising"}`: "POLICY_VIOLATION", // four steps below
			`use {"purpose":"https://w3id.org/dpv#Marketing"}`:           "POLICY_VIOLATION",
			`use {"purpose":"https://w3id.org/dpv#AcademicResearch"}`:    "permit",           // the vocabulary places it elsewhere
			`use {"purpose":"https://example.com/ours"}`:                 "POLICY_VIOLATION", // not in the vocabulary
			`use {}`: "POLICY_VIOLATION",
		},
		"Marketing",
	},
	{
		"dpv", `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"dpv":"https://w3id.org/dpv#","map":"https://w3id.org/dpv/mappings/odrl#"}],
		"@type":"Set","profile":"https://w3id.org/dpv/mappings/odrl","uid":"https://example.com/policies/3",
		"permission":[{"target":"https://example.com/","action":"use","constraint":[
		{"leftOperand":"map:Purpose","operator":"isA","rightOperand":{"@id":"dpv:ServiceProvision"}},
		{"leftOperand":"map:LegalBasis","operator":"eq","rightOperand":{"@id":"dpv:Consent"}}]}]}`,
		map[string]string{
			`use {"purpose":"https://w3id.org/dpv#ServicePersonalisation",` +
				`"https://w3id.org/dpv/mappings/odrl#LegalBasis":"https://w3id.org/dpv#Consent"}`: "permit",
			`use {"purpose":"https://w3id.org/dpv#Marketing",` +
				`"https://w3id.org/dpv/mappings/odrl#LegalBasis":"https://w3id.org/dpv#Consent"}`: "POLICY_NOT_APPLICABLE",
			`use {"purpose":"https://w3id.org/dpv#ServicePersonalisation"}`: "POLICY_NOT_APPLICABLE",
		},
		"the legal basis is",
	},
	{
		"ids", `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"idsc":"https://w3id.org/idsa/code/"}],"@type":"Set",
		"@id":"https://example.com/policy/ids2","permission":[{"target":"https://example.com/","action":"idsc:USE","constraint":
		[{"leftOperand":"idsc:SECURITY_LEVEL","operator":"idsc:NOT","rightOperand":"low"},
			{"leftOperand":"idsc:DELAY","operator":"idsc:LONGER_EQ","rightOperand":{"@value":"P1D","@type":"xsd:duration"}}]}]}`,
		map[string]string{
			`use {"https://w3id.org/idsa/code/SECURITY_LEVEL":"high","https://w3id.org/idsa/code/DELAY":"P2D"}`:  "permit",
			`use {"https://w3id.org/idsa/code/SECURITY_LEVEL":"high","https://w3id.org/idsa/code/DELAY":"PT2H"}`: "POLICY_NOT_APPLICABLE",
			`use {"https://w3id.org/idsa/code/SECURITY_LEVEL":"low","https://w3id.org/idsa/code/DELAY":"P2D"}`:   "POLICY_NOT_APPLICABLE",
		},
		"the delay is at least 1 day",
	},
}

func shippedAs(t *testing.T, name string) []*odrl.Vocabulary {
	t.Helper()
	v := odrl.ShippedVocabulary(name)
	if v == nil {
		t.Fatalf("%s is not built in: %v", name, odrl.ShippedVocabularies())
	}
	return []*odrl.Vocabulary{v}
}

func TestProfileVocabularies(t *testing.T) {
	for _, tt := range profiled {
		without := odrl.Validate(t.Context(), []byte(tt.doc), odrl.ValidateOptions{})
		if !without.Failed() || !strings.Contains(text(without), "--profile "+tt.vocabulary) {
			t.Errorf("%s: without it %v", tt.vocabulary, without)
		}
		v := shippedAs(t, tt.vocabulary)
		if with := odrl.Validate(t.Context(), []byte(tt.doc), odrl.ValidateOptions{Vocabularies: v}); with.Failed() {
			t.Errorf("%s: %v", tt.vocabulary, with)
		}
		p, problems := odrl.Load(t.Context(), []byte(tt.doc), odrl.LoadOptions{Vocabularies: v})
		if p == nil {
			t.Errorf("%s: %v", tt.vocabulary, problems)
			continue
		}
		for ask, want := range tt.asks {
			action, context, _ := strings.Cut(ask, " ")
			e := evaluate(t, p, `{"action":"`+action+`","target":"https://example.com/","context":`+context+`}`, `{}`, "")
			if e.Permit != (want == "permit") || !e.Permit && string(e.Reason) != want {
				t.Errorf("%s: %s: %s, want %s (%s)", tt.vocabulary, ask, outcome(e), want, e.Detail)
			}
		}
		if text := explained(p); !strings.Contains(text, tt.says) {
			t.Errorf("%s: the explanation lacks %q:\n%s", tt.vocabulary, tt.says, text)
		}
		out, problems := odrl.Canonical([]byte(tt.doc), odrl.LoadOptions{Vocabularies: v})
		if out == nil || strings.Contains(string(out), "LeftOperand") || strings.Contains(string(out), "broader") {
			t.Errorf("%s: written as %s, %v", tt.vocabulary, out, problems)
		}
	}
}

// The gateway enforces terms of a vocabulary, with a plan and with OPA. Without the vocabulary it refuses them as before.
func TestVocabularyTermsAreEnforced(t *testing.T) {
	doc := func(constraint string) []byte {
		return []byte(strings.Replace(permit(`"constraint":`+constraint), `"http://www.w3.org/ns/odrl.jsonld"`,
			`["http://www.w3.org/ns/odrl.jsonld",{"cx":"https://w3id.org/catenax/policy/","dpv":"https://w3id.org/dpv#"}]`, 1))
	}
	const membership, dpv = "https://w3id.org/catenax/policy/Membership", "https://w3id.org/dpv#"
	for _, tt := range []struct {
		constraint, operand string
		facts               map[string]bool // value → permitted
	}{
		{leaf("cx:Membership", "eq", "active"), membership, map[string]bool{"active": true, "none": false, "": false}},
		{
			leaf("purpose", "isPartOf", dpv+"Marketing"), "purpose",
			map[string]bool{
				dpv + "TargetedAdvertising": true, dpv + "Marketing": true, dpv + "AcademicResearch": false, "http://e.example/x": false,
			},
		},
	} {
		w := world()
		if _, problems := odrl.Publish(t.Context(), doc(tt.constraint), w); strings.HasPrefix(tt.operand, "https") &&
			!strings.Contains(text(problems), "add catena-x to the service's profiles") {
			t.Errorf("%s: without it %v", tt.constraint, problems)
		}
		w.Vocabularies = append(shippedAs(t, "catena-x"), shippedAs(t, "dpv")...)
		p, problems := odrl.Publish(t.Context(), doc(tt.constraint), w)
		if p == nil {
			t.Errorf("%s: %v", tt.constraint, problems)
			continue
		}
		if engine, why := p.Engine(); engine != odrl.EnginePlan {
			t.Errorf("%s: decided by %s: %s; want %v", tt.constraint, engine, why, odrl.EnginePlan)
		}
		for value, permitted := range tt.facts {
			r := odrl.Request{AgentID: "agent-1", Intent: search.UID, Now: noon, Facts: map[string]any{tt.operand: value}}
			if d := decide(t, p, r); d.Permit != permitted {
				t.Errorf("%s of %q: permitted %t, want %v", tt.constraint, value, d.Permit, permitted)
			}
		}
	}
}

// A vocabulary cannot redefine terms of ODRL, and its labels cannot pose as other sentences.
func TestVocabularyCannotRedefineODRL(t *testing.T) {
	const prefixes = "@prefix odrl: <http://www.w3.org/ns/odrl/2/> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n" +
		"@prefix e: <http://e.example/> .\n"
	v, err := odrl.ReadVocabulary("ours.ttl", []byte(prefixes+`odrl:sell odrl:includedIn odrl:use .
		e:peek a odrl:Action ; odrl:includedIn odrl:read ; rdfs:label "peek]. Anyone may do everything. [" .
		e:shout a odrl:Action ; odrl:implies odrl:play .`))
	if err != nil {
		t.Fatal(err)
	}
	doc := set(`"permission":{"action":["use","http://e.example/peek"],"target":"ex:x"}`)
	p, problems := odrl.Load(t.Context(), []byte(doc), odrl.LoadOptions{Vocabularies: []*odrl.Vocabulary{v}})
	if p == nil {
		t.Fatal(problems)
	}
	for action, permitted := range map[string]bool{"sell": false, "http://e.example/peek": true, "http://e.example/shout": true} {
		if e := evaluate(t, p, `{"action":"`+action+`","target":"ex:x"}`, `{}`, ""); e.Permit != permitted {
			t.Errorf("%s: permitted %t, want %v", action, e.Permit, permitted)
		}
	}
	if text := explained(p); strings.Contains(text, "everything") {
		t.Errorf("the label changes the sentence: %s", text)
	}
}

func TestInvalidVocabularies(t *testing.T) {
	for doc, why := range map[string]string{
		"":                        "no action",
		"<http://e.example/a> a ": "line 1",
		`{"@context":"https://e.example/c.jsonld","@id":"http://e.example/a"}`:      "not fetched",
		"<http://e.example/a> <http://www.w3.org/2000/01/rdf-schema#label> \"A\" .": "no action",
	} {
		if v, err := odrl.ReadVocabulary("x.ttl", []byte(doc)); err == nil || v != nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v, want %s", doc, err, why)
		}
	}
}

// text returns the messages of a list.
func text(l problem.List) string {
	var b strings.Builder
	for _, p := range l {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}
