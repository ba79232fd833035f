package odrl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

func in(more string) string {
	return strings.Replace(permit(""), `,"permission"`, `,`+more+`,"permission"`, 1)
}

func limited(c string) string { return permit(`"constraint":` + c) }

// Each unknown part refuses the policy. The problem names the part and its pointer.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct{ doc, code, pointer, says string }{
		// The document.
		{`[]`, "json", "", "JSON object"},
		{`{"uid":`, "json", "/uid", "ends too early"},
		{`{"uid":"http://a/b","uid":"http://a/c"}`, "json", "/uid", "twice"},
		{`{` + head + `}`, "no-rule", "", "at least one"},
		{`{"@context":"http://www.w3.org/ns/odrl.jsonld","permission":[{"target":"example.com","action":"use"}]}`, "uid", "", "uid"},
		{strings.Replace(permit(""), "http://example.com/p", "p", 1), "iri", "/uid", "absolute"},
		{strings.Replace(permit(""), "http://example.com/p", "_:p", 1), "iri", "/uid", "absolute"},
		{in(`"@id":"http://example.com/q"`), "duplicate", "/uid", "same property"},
		{in(`"odrl:permission":[]`), "duplicate", "/permission", "same property"},
		{in(`"price":5`), "unknown-key", "/price", "price"},
		{in(`"permissions":[]`), "unknown-key", "/permissions", "permission?"},
		{in(`"http://evil.org/permission":[]`), "unknown-key", "/http:~1~1evil.org~1permission", "permission?"},
		{in(`"dct:description":{"permission":[]}`), "unknown-key", "/dct:description", "only text"},
		{in(`"dct:isReplacedBy":"http://example.com/new"`), "unsupported", "/dct:isReplacedBy", "replaces"},
		{in(`"inheritFrom":"http://example.com/parent"`), "inherit", "/inheritFrom", "copy its rules"},
		{in(`"profile":"http://example.com/profile/odrl-uin"`), "unknown-profile", "/profile", "did you mean example.com/profile/odrl-uim"},
		{in(`"profile":["http://www.w3.org/ns/odrl/2/core","http://other.example/profile"]`), "unknown-profile", "/profile/1", "not known"},
		{in(`"type":"Assertion"`), "type", "/type", "grants nothing"},
		{in(`"type":"Sett"`), "unknown-term", "/type", "Set?"},
		{in(`"type":["Offer","Agreement"]`), "type", "", "both an Offer and an Agreement"},
		{in(`"type":"Offer"`), "assigner", "/permission/0", "one assigner"},
		{in(`"type":"Agreement","assigner":"http://example.com/s"`), "assignee", "/permission/0", "one assignee"},
		{in(`"conflict":"deny"`), "unknown-term", "/conflict", "conflict strategy"},
		{in(`"conflict":["perm","prohibit"]`), "cardinality", "/conflict", "exactly one"},
		{`{"@context":"http://www.w3.org/ns/odrl.jsonld","@graph":[{},{}]}`, "no-policy", "", "no policy"},
		{
			`{"@graph":[{"uid":"http://example.com/p","permission":{"target":"example.com","action":"use"}}],"prohibition":[]}`, "unknown-key",
			"/@graph", "not a known property",
		},
		{
			permit(`"duty":{"action":"pay","amount":{"@value":"1","currency":"EUR"},"unit":"USD"}`), "amount", "/permission/0/duty/amount",
			"a number or a string",
		},
		{
			limited(`{"leftOperand":"timeWindow","operator":"within","rightOperand":{"start":{"@value":"09:00","x":1},"end":"17:00"}}`),
			"window", "/permission/0/constraint/rightOperand", "start and an end",
		},
		{limited(`{"leftOperand":"count","operator":"<=","rightOperand":5}`), "unknown-term", "/permission/0/constraint/operator", "mean lteq?"},
		{limited(`{"leftOperand":"version","operator":"in","rightOperand":"v1"}`), "unknown-term", "/permission/0/constraint/operator", "isAnyOf?"},
		// Numbers that agents could not sign.
		{permit(`"duty":{"action":"pay","amount":0.1234567890123456789,"unit":"USD"}`), "inexact", "/permission/0/duty/amount", "RFC 8785"},
		{
			limited(`{"leftOperand":"count","operator":"lteq","rightOperand":9007199254740993}`), "inexact",
			"/permission/0/constraint/rightOperand", "string",
		},
		// Contexts.
		{strings.Replace(permit(""), `"http://www.w3.org/ns/odrl.jsonld"`,
			`["http://www.w3.org/ns/odrl.jsonld",{"permission":"http://evil.org/x#"}]`, 1), "context", "/@context/1/permission", "changes the meaning"},
		{
			strings.Replace(permit(""), `"http://www.w3.org/ns/odrl.jsonld"`, `{"execute":{"@id":"odrl:use"}}`, 1), "context",
			"/@context/execute", "changes the meaning",
		},
		{
			strings.Replace(permit(""), `"http://www.w3.org/ns/odrl.jsonld"`, `{"permission":{"@id":"odrl:prohibition","@type":"@id"}}`, 1),
			"context", "/@context/permission", "changes the meaning",
		},
		{
			strings.Replace(permit(""), `"http://www.w3.org/ns/odrl.jsonld"`, `{"odrl":"http://evil.org/"}`, 1), "context", "/@context/odrl",
			"always means",
		},
		{
			strings.Replace(permit(""), `"http://www.w3.org/ns/odrl.jsonld"`, `{"@vocab":"http://evil.org/"}`, 1), "context", "/@context/@vocab",
			"not supported",
		},
		{
			strings.Replace(permit(""), `"http://www.w3.org/ns/odrl.jsonld"`, `{"@base":"http://evil.org/"}`, 1), "context", "/@context/@base",
			"not supported",
		},
		{strings.Replace(permit(""), `"http://www.w3.org/ns/odrl.jsonld"`, `{"name":"@id"}`, 1), "context", "/@context/name", "alias"},
		{
			strings.Replace(permit(""), `"http://www.w3.org/ns/odrl.jsonld"`, `{"allow":"odrl:permission"},"allow":[]`, 1), "duplicate",
			"/permission", "same property",
		},
		{permit(`"@context":{"execute":"odrl:use"}`), "context", "/permission/0/@context", "top of the document"},
		// Rules.
		{strings.Replace(permit(""), "execute", "exceute", 1), "unknown-term", "/permission/0/action", "execute?"},
		{strings.Replace(permit(""), "execute", "http://evil.org/execute", 1), "unknown-term", "/permission/0/action", "execute?"},
		{strings.Replace(permit(""), "execute", "exceedRateLimit", 1), "action", "/permission/0/action", "only be prohibited"},
		{strings.Replace(permit(""), `"execute"`, `{"refinement":[]}`, 1), "action", "/permission/0/action", "no name"},
		{
			strings.Replace(permit(""), `"execute"`, `{"rdf:value":"odrl:use","@id":"odrl:execute"}`, 1), "action", "/permission/0/action/@id",
			"twice",
		},
		{strings.Replace(permit(""), `,"action":"execute"`, ``, 1), "action", "/permission/0", "needs an action"},
		{strings.Replace(permit(""), `"target":"http://example.com/api/intents",`, ``, 1), "target", "/permission/0", "needs a target"},
		{permit(`"remedy":{"action":"pay"}`), "unknown-key", "/permission/0/remedy", "no meaning in a permission"},
		{
			in(`"prohibition":{"target":"example.com","action":"transfer","remedy":{"action":"pay"}}`), "unsupported", "/prohibition/remedy",
			"cannot be enforced",
		},
		{permit(`"type":"Prohibition"`), "type", "/permission/0/type", "cannot be of type"},
		{permit(`"amount":5`), "unknown-key", "/permission/0/amount", "no meaning in a permission"},
		{in(`"obligation":"http://example.com/duty"`), "reference", "/obligation", "not defined"},
		{permit(`"uid":"http://example.com/p"`), "duplicate", "/permission/0/uid", "already used at /uid"},
		{permit(`"assignee":"http://example.com/ai-agent/9"`), "assignee", "/permission/0/assignee", "anyone"},
		{permit(`"assignee":"agent-1"`), "iri", "/permission/0/assignee", "absolute IRI"},
		{permit(`"assignee":{"source":"http://example.com/agents","refinement":{"leftOperand":"purpose","operator":"eq","rightOperand":"a"}}`), "unsupported", "/permission/0/assignee/refinement", "members"},
		{in(`"party":{"function":"assignor","identifier":"http://example.com/x"}`), "unknown-term", "/party/function", "assigner?"},
		{in(`"party":{"identifier":"http://example.com/x"}`), "party", "/party", "function"},
		// Duties.
		{permit(`"duty":{"action":"delete"}`), "no-handler", "/permission/0/duty/action", "cannot handle the duty delete"},
		{in(`"obligation":{"action":"anonymize"}`), "no-handler", "/obligation/action", "anonymize"},
		{permit(`"duty":{"action":"pay"}`), "amount", "/permission/0/duty", "exactly one amount"},
		{permit(`"duty":{"action":"pay","amount":5}`), "unit", "/permission/0/duty/amount", "currency"},
		{permit(`"duty":{"action":"pay","amount":5,"unit":"XYZ"}`), "currency", "/permission/0/duty/unit", "ISO 4217"},
		{permit(`"duty":{"action":"pay","amount":5,"unit":"http://evil.org/USD"}`), "currency", "/permission/0/duty/unit", "ISO 4217"},
		{permit(`"duty":{"action":"pay","amount":-5,"unit":"USD"}`), "amount", "/permission/0/duty/amount", "decimal"},
		{permit(`"duty":{"action":"pay","amount":"1000001","unit":"USD"}`), "amount", "/permission/0/duty/amount", "above"},
		{permit(`"duty":{"action":"pay","amount":"0.0000000001","unit":"USD"}`), "amount", "/permission/0/duty/amount", "more than nine decimal places"},
		{permit(`"duty":{"action":"pay","amount":1,"unit":"USD","constraint":{"leftOperand":"payAmount","operator":"eq","rightOperand":1,"unit":"USD"}}`), "amount", "/permission/0/duty", "not 2"},
		{
			permit(`"duty":{"action":"pay","constraint":{"leftOperand":"payAmount","operator":"lteq","rightOperand":1,"unit":"USD"}}`), "amount",
			"/permission/0/duty/constraint", "eq",
		},
		{
			permit(`"duty":[{"action":"pay","amount":1,"unit":"USD"},{"action":"pay","amount":1,"unit":"EUR"}]`), "amount",
			"/permission/0/duty/1", "several currencies",
		},
		{
			permit(`"duty":[{"action":"pay","amount":600000,"unit":"USD"},{"action":"pay","amount":600000,"unit":"USD"}]`), "amount",
			"/permission/0/duty/1", "more than",
		},
		{permit(`"duty":{"action":"pay","constraint":[{"leftOperand":"payAmount","operator":"eq","rightOperand":1,"unit":"USD"},{"leftOperand":"unitOfCount","operator":"eq","rightOperand":"user"}]}`), "unit-of-count", "/permission/0/duty/constraint/1", "per execution"},
		{permit(`"duty":{"action":"attribute","amount":1,"unit":"USD"}`), "amount", "/permission/0/duty/amount", "only a pay duty"},
		{
			permit(`"duty":{"action":"attribute","consequence":{"action":"pay"}}`), "unsupported", "/permission/0/duty/consequence",
			"carry out a consequence",
		},
		{permit(`"duty":{"action":"attribute","target":"example.com:buy:v1"}`), "target", "/permission/0/duty/target", "only some of"},
		// Constraints.
		{
			limited(`{"leftOperand":"purpos","operator":"eq","rightOperand":"a"}`), "unknown-term", "/permission/0/constraint/leftOperand",
			"purpose?",
		},
		{
			limited(`{"leftOperand":"http://evil.org/rateLimit","operator":"lteq","rightOperand":1,"unit":"hour"}`), "unknown-term",
			"/permission/0/constraint/leftOperand", "rateLimit?",
		},
		{
			limited(`{"leftOperand":"purpose","operator":"equals","rightOperand":"a"}`), "unknown-term", "/permission/0/constraint/operator",
			"operator",
		},
		{limited(`{"leftOperand":"purpose","operator":"use","rightOperand":"a"}`), "operator", "/permission/0/constraint/operator", "publicKey"},
		{limited(`{"leftOperand":"publicKey","operator":"use","rightOperand":"a"}`), "public-key", "/permission/0/constraint", "signPayload"},
		{
			limited(`{"leftOperand":"purpose","operator":"lt","rightOperand":"a"}`), "operator", "/permission/0/constraint",
			"cannot be compared with the operator lt",
		},
		{limited(`{"leftOperand":"purpose","operator":"eq","rightOperand":["a","b"]}`), "cardinality", "/permission/0/constraint", "isAnyOf"},
		{limited(`{"leftOperand":"purpose","operator":"eq"}`), "constraint", "/permission/0/constraint", "rightOperand"},
		{limited(`{"leftOperand":"purpose","operator":"eq","rightOperand":[]}`), "constraint", "/permission/0/constraint", "rightOperand"},
		{limited(`{"leftOperand":"purpose","operator":"eq","rightOperand":null}`), "value", "/permission/0/constraint/rightOperand", "null"},
		{
			limited(`{"leftOperand":"purpose","operator":"eq","rightOperand":"a","unit":"USD"}`), "unit", "/permission/0/constraint/unit",
			"does not take a unit",
		},
		{
			limited(`{"leftOperand":"purpose","operator":"eq","rightOperand":"a","rightOperand2":"b"}`), "unknown-key",
			"/permission/0/constraint/rightOperand2", "rightOperand?",
		},
		{
			limited(`{"leftOperand":"purpose","operator":"eq","rightOperandReference":"http://example.com/x"}`), "unsupported",
			"/permission/0/constraint/rightOperandReference", "value itself",
		},
		{limited(`"http://example.com/constraint"`), "reference", "/permission/0/constraint", "not defined"},
		{
			limited(`{"leftOperand":"percentage","operator":"lt","rightOperand":"many"}`), "value", "/permission/0/constraint/rightOperand",
			"a decimal number",
		},
		{
			limited(`{"leftOperand":"percentage","operator":"lt","rightOperand":101}`), "value", "/permission/0/constraint/rightOperand",
			"from 0 to 100",
		},
		{
			limited(`{"leftOperand":"absoluteSize","operator":"lt","rightOperand":"1e100"}`), "value", "/permission/0/constraint/rightOperand",
			"a decimal number",
		},
		{
			limited(`{"leftOperand":"absoluteSize","operator":"isPartOf","rightOperand":"5"}`), "operator", "/permission/0/constraint",
			"cannot be compared",
		},
		{
			limited(`{"leftOperand":"elapsedTime","operator":"lt","rightOperand":"tomorrow"}`), "value", "/permission/0/constraint/rightOperand",
			"a duration",
		},
		{
			limited(`{"leftOperand":"elapsedTime","operator":"lt","rightOperand":5}`), "value", "/permission/0/constraint/rightOperand",
			"a duration",
		},
		{
			limited(`{"leftOperand":"elapsedTime","operator":"lt","rightOperand":"P1D","unit":"MB"}`), "unit", "/permission/0/constraint/unit",
			"not a unit of time",
		},
		{
			limited(`{"leftOperand":"event","operator":"lt","rightOperand":"http://example.com/fair"}`), "operator", "/permission/0/constraint",
			"eq",
		},
		{
			limited(`{"leftOperand":"event","operator":"eq","rightOperand":"odrl:policyUsage"}`), "value",
			"/permission/0/constraint/rightOperand", "name of an event",
		},
		{
			limited(`{"leftOperand":"virtualLocation","operator":"isAnyOf","rightOperand":["10.0.0.0/8","example.com"]}`), "value",
			"/permission/0/constraint", "cannot be compared with one another",
		},
		{
			limited(`{"leftOperand":"virtualLocation","operator":"isAllOf","rightOperand":["10.0.0.0/8"]}`), "operator",
			"/permission/0/constraint", "cannot be compared",
		},
		{limited(`[{"leftOperand":"unitOfCount","operator":"eq","rightOperand":"user"},{"leftOperand":"count","operator":"lteq","rightOperand":5}]`), "unit-of-count", "/permission/0/constraint/0", "counts executions"},
		{
			limited(`{"leftOperand":"dateTime","operator":"lt","rightOperand":"tomorrow"}`), "date", "/permission/0/constraint/rightOperand",
			"2026-12-31",
		},
		{
			limited(`{"leftOperand":"dateTime","operator":"isAnyOf","rightOperand":"2026-01-01"}`), "operator", "/permission/0/constraint",
			"isAnyOf",
		},
		{
			limited(`{"leftOperand":"timeWindow","operator":"within","rightOperand":{"start":"09:00"}}`), "window",
			"/permission/0/constraint/rightOperand", "start and an end",
		},
		{
			limited(`{"leftOperand":"timeWindow","operator":"within","rightOperand":"09:00/25:00"}`), "window",
			"/permission/0/constraint/rightOperand", "times of day",
		},
		{
			limited(`{"leftOperand":"timeWindow","operator":"within","rightOperand":"09:00/09:00"}`), "window",
			"/permission/0/constraint/rightOperand", "ends where it starts",
		},
		{
			limited(`{"leftOperand":"timeWindow","operator":"within","rightOperand":"2027-01-01/2026-01-01"}`), "window",
			"/permission/0/constraint/rightOperand", "before it starts",
		},
		{
			limited(`{"leftOperand":"version","operator":"lt","rightOperand":"newest"}`), "version", "/permission/0/constraint/rightOperand",
			"1.2.3",
		},
		{
			limited(`{"leftOperand":"purpose","operator":"eq","rightOperand":"a","status":1}`), "status", "/permission/0/constraint",
			"only a count",
		},
		// Limits.
		{limited(`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":1}`), "unit", "/permission/0/constraint", "needs a unit"},
		{
			limited(`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":1,"unit":"fortnight"}`), "unit",
			"/permission/0/constraint/unit", "not a period",
		},
		{
			limited(`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":1,"unit":"http://evil.org/hour"}`), "unit",
			"/permission/0/constraint/unit", "not a period",
		},
		{
			limited(`{"leftOperand":"rateLimit","operator":"lteq","rightOperand":1,"unit":"bytes/hour"}`), "unit",
			"/permission/0/constraint/unit", "not a period",
		},
		{
			limited(`{"leftOperand":"rateLimit","operator":"gteq","rightOperand":1,"unit":"hour"}`), "limit", "/permission/0/constraint",
			"lteq or lt",
		},
		{limited(`{"leftOperand":"count","operator":"isAnyOf","rightOperand":[1,2]}`), "limit", "/permission/0/constraint", "one number"},
		{
			limited(`{"leftOperand":"count","operator":"lteq","rightOperand":1.5}`), "limit", "/permission/0/constraint/rightOperand",
			"whole number",
		},
		{
			limited(`{"leftOperand":"count","operator":"lteq","rightOperand":-1}`), "limit", "/permission/0/constraint/rightOperand",
			"whole number",
		},
		{
			limited(`{"leftOperand":"count","operator":"lteq","rightOperand":"1e13"}`), "limit", "/permission/0/constraint/rightOperand",
			"whole number",
		},
		{
			limited(`{"leftOperand":"count","operator":"lteq","rightOperand":5,"unit":"hour","status":1}`), "status", "/permission/0/constraint",
			"without a unit",
		},
		{limited(`{"or":[{"leftOperand":"count","operator":"lteq","rightOperand":5},{"leftOperand":"purpose","operator":"eq","rightOperand":"a"}]}`), "limit", "/permission/0/constraint/or/0", "not inside or"},
		// Logic.
		{
			limited(`{"xone":[{"leftOperand":"purpose","operator":"eq","rightOperand":"a"}]}`), "logic", "/permission/0/constraint/xone",
			"at least two",
		},
		{limited(`{"or":[],"and":[]}`), "logic", "/permission/0/constraint", "exactly one"},
		{limited(`{"or":[],"leftOperand":"purpose"}`), "unknown-key", "/permission/0/constraint/leftOperand", "no meaning"},
	} {
		p, problems := odrl.Publish(t.Context(), []byte(tt.doc), world())
		if p != nil {
			t.Errorf("published: %s", tt.doc)
			continue
		}
		found := false
		for _, x := range problems {
			found = found || x.Level == problem.Error && x.Code == tt.code && x.Pointer == tt.pointer && strings.Contains(x.Message, tt.says)
		}
		if !found {
			t.Errorf("%s\n  got  %v\n  want %s %s …%s…", tt.doc, problems, tt.code, tt.pointer, tt.says)
		}
	}
}

func TestPublishReportsEveryProblem(t *testing.T) {
	_, problems := odrl.Publish(t.Context(),
		[]byte(`{`+head+`,"price":1,"permission":[{"target":"nowhere","action":"exceute"},{"action":"use","targt":"x"}]}`), world())
	for _, pointer := range []string{"/price", "/permission/0/action", "/permission/1/targt"} {
		found := false
		for _, p := range problems {
			found = found || p.Pointer == pointer
		}
		if !found {
			t.Errorf("no problem at %s: %v", pointer, problems)
		}
	}
}

func TestPublishingIsBounded(t *testing.T) {
	nest := func(n int) string {
		leaf := `{"leftOperand":"purpose","operator":"eq","rightOperand":"a"}`
		c := leaf
		for range n {
			c = `{"or":[` + leaf + `,` + c + `]}`
		}
		return limited(c)
	}
	repeat := func(n int, s func(i int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = s(i)
		}
		return strings.Join(list, ",")
	}
	for name, tt := range map[string]struct{ doc, code string }{
		"10 MB": {in(`"description":"` + strings.Repeat("x", 10<<20) + `"`), "too-large"},
		"too many rules": {
			`{` + head + `,"permission":[` + repeat(odrl.TooManyRules, func(int) string { return "{}" }) + `]}`,
			"too-large",
		},
		"nested 9":            {nest(9), "too-deep"},
		"nested 1,000":        {nest(1000), "json"},
		"60,000 constraints":  {limited(`[` + repeat(60_000, func(int) string { return "{}" }) + `]`), "too-many"},
		"rules times targets": {`{` + head + `,"target":["example.com","other.org","example.com:buy","example.com:search-products"],"permission":[` + repeat(3000, func(int) string { return `{"action":"use"}` }) + `]}`, "too-large"},
		"many right operands": {limited(`{"leftOperand":"purpose","operator":"isAnyOf","rightOperand":[` +
			repeat(1001, func(i int) string { return fmt.Sprintf(`"p%d"`, i) }) + `]}`), "too-large"},
		"split constraints": {`{` + head + `,"target":["http://example.com/api/intents","example.com","other.org","example.com:buy","other.org:buy","example.com:search-products","example.com:buy:v1","other.org:buy:v1","example.com:search-products:v1","example.com:search-products:v2","http://example.com/execute/buy"],"permission":{"action":"use","constraint":[` + repeat(4600, func(int) string { return leaf("purpose", "eq", "a") }) + `]}}`, "too-large"},
		"one bad target often": {`{` + head + `,"permission":[` +
			repeat(9000, func(i int) string { return fmt.Sprintf(`{"action":"use","target":"example.com:x%d"}`, i%200) }) + `]}`, "too-many"},
		"many unknown keys": {`{` + head + `,` + repeat(odrl.UnknownKeys, func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }) + `}`, ""},
		"many unknown actions": {`{` + head + `,"permission":[` +
			repeat(9000, func(int) string { return `{"action":"exceute","target":"nowhere.example"}` }) + `]}`, "too-many"},
	} {
		p, problems := odrl.Publish(t.Context(), []byte(tt.doc), world())
		if p != nil || len(problems) == 0 {
			t.Errorf("%s: published", name)
			continue
		}
		if len(problems) > 250 {
			t.Errorf("%s: %d problems", name, len(problems))
		}
		found := tt.code == ""
		for _, x := range problems {
			found = found || x.Code == tt.code
		}
		if !found {
			t.Errorf("%s: %v", name, problems[max(0, len(problems)-3):])
		}
	}
	publish(t, []byte(nest(8)), world())
	// Warnings do not refuse a policy, however many there are.
	many := permit(`"constraint":[` +
		repeat(odrl.WarnedConstraints, func(i int) string { return leaf("dateTime", "neq", fmt.Sprintf("%d-01-01T00:00:00", 1900+i)) }) + `]`)
	if p := publish(t, []byte(many), world()); len(p.Warnings()) > 150 || len(p.Warnings()) < 50 {
		t.Errorf("%d warnings", len(p.Warnings()))
	}
}
