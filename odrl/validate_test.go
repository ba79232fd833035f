package odrl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

const (
	inContext = `"@context":"http://www.w3.org/ns/odrl.jsonld"`
	asset     = `"target":"http://example.com/asset:9898"`
)

// setOf returns a Set with additional members.
func setOf(members ...string) string {
	return `{` + inContext + `,"uid":"http://example.com/policy:1",` + strings.Join(members, ",") + `}`
}

func use(more string) string {
	return setOf(`"permission":[{` + asset + `,"action":"use",` + more + `}]`)
}

func one(left, op, right string) string {
	return `{"leftOperand":"` + left + `","operator":"` + op + `","rightOperand":` + right + `}`
}

func TestValidateReportsEveryProblem(t *testing.T) {
	const good = `"permission":[{` + asset + `,"action":"use"}]`
	for name, tt := range map[string]struct {
		doc     string
		level   problem.Level
		code    string
		pointer string
	}{
		"no policy": {
			`{` + inContext + `,"@graph":[{"@id":"http://example.com/a","@type":"Asset"}]}`, problem.Error,
			"no-policy", "",
		},
		"an empty list":  {`[]`, problem.Error, "no-policy", ""},
		"no rule":        {setOf(`"type":"Set"`), problem.Error, "no-rule", ""},
		"no uid":         {`{` + inContext + `,` + good + `}`, problem.Error, "uid", ""},
		"a blank node":   {`{` + inContext + `,"uid":"_:p",` + good + `}`, problem.Error, "iri", "/uid"},
		"a relative uid": {`{` + inContext + `,"uid":"policy",` + good + `}`, problem.Error, "iri", "/uid"},
		"two uids": {
			`{` + inContext + `,"uid":["http://a.example/","http://b.example/"],` + good + `}`,
			problem.Error, "cardinality", "/uid",
		},
		"an offer without assigner": {setOf(`"type":"Offer"`, good), problem.Error, "assigner", "/permission/0"},
		"an offer of two": {
			setOf(`"type":"Offer"`, `"assigner":["http://a.example/x","http://a.example/y"]`, good),
			problem.Error, "assigner", "/permission/0",
		},
		"an agreement without assigner": {
			setOf(`"type":"Agreement"`, `"assignee":"http://a.example/x"`, good), problem.Error, "assigner",
			"/permission/0",
		},
		"an agreement without assignee": {
			setOf(`"type":"Agreement"`, `"assigner":"http://a.example/x"`, good), problem.Error, "assignee",
			"/permission/0",
		},
		"a permission without target":      {setOf(`"permission":[{"action":"use"}]`), problem.Error, "target", "/permission/0"},
		"a prohibition without target":     {setOf(`"prohibition":[{"action":"use"}]`), problem.Error, "target", "/prohibition/0"},
		"a permission without action":      {setOf(`"permission":[{` + asset + `}]`), problem.Error, "action", "/permission/0"},
		"an obligation without action":     {setOf(`"obligation":[{` + asset + `}]`), problem.Error, "action", "/obligation/0"},
		"a duty without action":            {use(`"duty":{}`), problem.Error, "action", "/permission/0/duty"},
		"a remedy with a consequence":      {setOf(`"prohibition":{` + asset + `,"action":"use","remedy":{"action":"delete","consequence":{"action":"inform"}}}`), problem.Error, "consequence", "/prohibition/remedy/consequence"},
		"a consequence of a consequence":   {use(`"duty":{"action":"delete","consequence":{"action":"inform","consequence":{"action":"delete"}}}`), problem.Error, "consequence", "/permission/0/duty/consequence/consequence"},
		"a refinement without source":      {setOf(`"permission":{"action":"use","target":{"@type":"AssetCollection","uid":"http://a.example/c","refinement":` + one("resolution", "lt", "5") + `}}`), problem.Error, "collection", "/permission/target"},
		"a refinement with source and uid": {setOf(`"permission":{` + asset + `,"action":"use","assignee":{"@type":"PartyCollection","source":"http://a.example/c","uid":"http://a.example/d","refinement":` + one("resolution", "lt", "5") + `}}`), problem.Error, "collection", "/permission/assignee"},
		"an unknown strategy":              {setOf(`"conflict":"deny"`, good), problem.Error, "unknown-term", "/conflict"},
		"an unknown action": {
			setOf(`"permission":{` + asset + `,"action":"http://other.example/fly"}`), problem.Error,
			"unknown-term", "/permission/action",
		},
		"an unknown left operand": {
			use(`"constraint":` + one("ex:age", "gt", "5")), problem.Error, "unknown-term",
			"/permission/0/constraint/leftOperand",
		},
		"an unknown operator": {
			use(`"constraint":` + one("count", "odrl:near", "5")), problem.Error, "unknown-term",
			"/permission/0/constraint/operator",
		},
		"an unknown operand of logic": {
			use(`"constraint":{"nand":[` + one("count", "lt", "5") + `,` + one("count", "gt", "2") + `]}`),
			problem.Error, "unknown-key", "/permission/0/constraint/nand",
		},
		"an unknown function": {use(`"payer":"http://a.example/x"`), problem.Error, "unknown-key", "/permission/0/payer"},
		"an unknown class":    {setOf(`"type":"odrl:Contract"`, good), problem.Error, "unknown-term", "/type"},
		"an unknown profile": {
			setOf(`"profile":"http://other.example/profile"`, good), problem.Error, "unknown-profile",
			"/profile",
		},
		"no left operand": {
			use(`"constraint":{"operator":"eq","rightOperand":5}`), problem.Error, "constraint",
			"/permission/0/constraint",
		},
		"two left operands": {
			use(`"constraint":{"leftOperand":["count","media"],"operator":"eq","rightOperand":5}`),
			problem.Error, "cardinality", "/permission/0/constraint/leftOperand",
		},
		"two operators": {
			use(`"constraint":{"leftOperand":"count","operator":["lt","gt"],"rightOperand":5}`),
			problem.Error, "cardinality", "/permission/0/constraint/operator",
		},
		"no right operand": {
			use(`"constraint":{"leftOperand":"count","operator":"eq"}`), problem.Error, "constraint",
			"/permission/0/constraint",
		},
		"two kinds of right operand": {use(`"constraint":{"leftOperand":"count","operator":"eq","rightOperand":5,"rightOperandReference":"http://a.example/x"}`), problem.Error, "constraint", "/permission/0/constraint"},
		"a reference that is not an IRI": {
			use(`"constraint":{"leftOperand":"count","operator":"eq","rightOperandReference":"five"}`),
			problem.Error, "iri", "/permission/0/constraint/rightOperandReference",
		},
		"a blank right operand": {
			use(`"constraint":` + one("purpose", "eq", `{"@id":"_:b"}`)), problem.Error, "value",
			"/permission/0/constraint/rightOperand",
		},
		"several values of eq": {
			use(`"constraint":` + one("purpose", "eq", `["http://a.example/x","http://a.example/y"]`)),
			problem.Error, "cardinality", "/permission/0/constraint",
		},
		"two logics": {use(`"constraint":{"and":[` + one("count", "lt", "5") + `,` + one("media", "eq",
			`"a"`) + `],"or":[]}`), problem.Error, "logic", "/permission/0/constraint"},
		"logic of one": {
			use(`"constraint":{"xone":[` + one("count", "lt", "5") + `]}`), problem.Error, "logic",
			"/permission/0/constraint/xone",
		},
		"logic without constraints": {
			use(`"constraint":{"or":["http://a.example/c1","http://a.example/c2"]}`), problem.Error,
			"reference", "/permission/0/constraint/or/0",
		},
		"a missing parent":            {setOf(`"inheritFrom":"http://a.example/parent"`, good), problem.Error, "inherit", "/inheritFrom"},
		"a parent that is not an IRI": {setOf(`"inheritFrom":"parent"`, good), problem.Error, "iri", "/inheritFrom"},
		"an unused key":               {use(`"price":5`), problem.Error, "unknown-key", "/permission/0/price"},
		"an unknown context": {strings.Replace(use(`"uid":"http://a.example/r"`), `"http://www.w3.org/ns/odrl.jsonld"`,
			`["http://www.w3.org/ns/odrl.jsonld","https://other.example/c.jsonld"]`, 1), problem.Error, "remote-context", "/@context/1"},
		"an operator that does not fit": {
			use(`"constraint":` + one("timeInterval", "gt", `"P7D"`)), problem.Warning, "operator",
			"/permission/0/constraint",
		},
		"a value that does not fit": {
			use(`"constraint":` + one("count", "lt", `"many"`)), problem.Warning, "datatype",
			"/permission/0/constraint/rightOperand",
		},
		"an invalid number": {
			use(`"constraint":` + one("count", "lt", `"NaN"`)), problem.Warning, "datatype",
			"/permission/0/constraint/rightOperand",
		},
		"an invalid day": {
			use(`"constraint":` + one("dateTime", "lt", `"2026-02-30T00:00:00Z"`)), problem.Warning,
			"datatype", "/permission/0/constraint/rightOperand",
		},
		"a unit that does not fit": {use(`"constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"a","unit":"http://a.example/EUR"}`), problem.Warning, "unit", "/permission/0/constraint/unit"},
		"a text for a target": {
			setOf(`"permission":{"target":"movie","action":"use"}`), problem.Warning, "literal",
			"/permission/target",
		},
		"a text for an assignee": {use(`"assignee":"billie"`), problem.Warning, "literal", "/permission/0/assignee"},
		"a time without a zone": {
			use(`"constraint":` + one("dateTime", "lt", `"2026-01-01T00:00:00"`)), problem.Warning, "zone",
			"/permission/0/constraint/rightOperand",
		},
		"a deprecated action": {
			setOf(`"permission":{` + asset + `,"action":"odrl:copy"}`), problem.Warning, "deprecated",
			"/permission/action",
		},
		"a deprecated action alone": {
			setOf(`"permission":{` + asset + `,"action":"odrl:lend"}`), problem.Warning, "deprecated",
			"/permission/action",
		},
		"a deprecated left operand": {
			use(`"constraint":` + one("device", "eq", `"a"`)), problem.Warning, "deprecated",
			"/permission/0/constraint/leftOperand",
		},
		"an action of UIM's": {
			setOf(`"prohibition":{` + asset + `,"action":"exceedRateLimit"}`), problem.Warning,
			"profile-term", "/prohibition/action",
		},
		"an operator of UIM's": {
			use(`"constraint":` + one("count", "lte", "5")), problem.Warning, "profile-term",
			"/permission/0/constraint/operator",
		},
		"two classes": {setOf(`"type":["Offer","Agreement"]`, `"assigner":"http://a.example/x"`,
			`"assignee":"http://a.example/y"`, good), problem.Warning, "types", "/type/0"},
		"one operand twice": {
			use(`"constraint":{"or":[` + one("count", "lt", "5") + `,` + one("count", "lt", "5") + `]}`),
			problem.Warning, "same-operands", "/permission/0/constraint/or/1",
		},
		"a replaced policy": {
			setOf(`"dct:isReplacedBy":"http://example.com/policy:2"`, good), problem.Warning, "replaced",
			"/dct:isReplacedBy",
		},
	} {
		problems := odrl.Validate(t.Context(), []byte(tt.doc), odrl.ValidateOptions{})
		if !has(problems, tt.level, tt.code, tt.pointer) {
			t.Errorf("%s: %v\n  want %s %s at %q", name, problems, tt.level, tt.code, tt.pointer)
		}
		if tt.level == problem.Warning && problems.Failed() {
			t.Errorf("%s: an error beside the warning: %v", name, problems)
		}
		p, _ := odrl.Load(t.Context(), []byte(tt.doc), odrl.LoadOptions{})
		if (p == nil) != problems.Failed() {
			t.Errorf("%s: valid %v, loaded %v", name, !problems.Failed(), p != nil)
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	var rules []string
	for i := range 1000 {
		rules = append(rules, fmt.Sprintf(`{"target":"http://example.com/asset:%d","action":"play","constraint":[%s,%s]}`, i%200,
			one("dateTime", "lt", `"2030-01-01"`), one("purpose", "isAnyOf", `["a","b"]`)))
	}
	for name, doc := range map[string]string{
		"example":     string(file(b, "uim-core.json")),
		"1,000 rules": setOf(`"permission":[`+strings.Join(rules[:500], ",")+`]`, `"prohibition":[`+strings.Join(rules[500:], ",")+`]`),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				odrl.Validate(b.Context(), []byte(doc), odrl.ValidateOptions{})
			}
		})
	}
}
