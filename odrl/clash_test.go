package odrl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
)

func find(l problem.List, code string) *problem.Problem {
	for i := range l {
		if l[i].Code == code {
			return &l[i]
		}
	}
	return nil
}

// A conflict is reported with both rules and a request that matches both. See ODRL IM, section 2.10.
func TestValidateFindsConflicts(t *testing.T) {
	const movie = `"target":"http://example.com/movie"`
	graph := func(policy string, facts ...string) string {
		return `{"@context":["http://www.w3.org/ns/odrl.jsonld",{"ex":"http://example.com/"}],"@graph":[{"uid":"http://example.com/policy:1",` + policy + `},` + strings.Join(facts, ",") + `]}`
	}
	rules := func(permission, prohibition string) string {
		return `"permission":{` + movie + `,` + permission + `},"prohibition":{"target":"http://example.com/movie",` + prohibition + `}`
	}
	under := func(c string) string { return `"action":"use","constraint":` + c }
	for name, tt := range map[string]struct {
		doc   string
		level problem.Level // none: no conflict
		says  string
	}{
		"same rule":                   {setOf(rules(`"action":"play"`, `"action":"play"`)), problem.Error, `to play "http://example.com/movie"`},
		"a broader permission":        {setOf(rules(`"action":"use"`, `"action":"display"`)), problem.Error, "to display"},
		"a broader prohibition":       {setOf(rules(`"action":"display"`, `"action":"play"`)), problem.Error, "to display"},
		"the replacement of write":    {setOf(rules(`"action":"odrl:write"`, `"action":"modify"`)), problem.Error, "to modify"},
		"apart":                       {setOf(rules(`"action":"play"`, `"action":"print"`)), "", ""},
		"sell is not included in use": {setOf(rules(`"action":"use"`, `"action":"sell"`)), "", ""},
		"overruled":                   {setOf(`"conflict":"perm"`, rules(`"action":"use"`, `"action":"display"`)), problem.Warning, "has no effect"},
		"overruling": {
			setOf(`"conflict":"prohibit"`, rules(`"action":"use"`, `"action":"display"`)), problem.Warning,
			"has no effect where both apply",
		},
		"another party": {setOf(rules(`"action":"use","assignee":"http://example.com/a"`,
			`"action":"use","assignee":"http://example.com/b"`)), "", ""},
		"one party, all parties": {
			setOf(rules(`"action":"use"`, `"action":"use","assignee":"http://example.com/b"`)), problem.Error,
			`by "http://example.com/b"`,
		},
		"a member of a group": {graph(rules(`"action":"use","assignee":"ex:staff"`, `"action":"use","assignee":"ex:billie"`),
			`{"@id":"ex:billie","partOf":"ex:office"}`, `{"@id":"ex:office","partOf":"ex:staff"}`), problem.Error, `by "http://example.com/billie"`},
		"a common member": {graph(rules(`"action":"use","assignee":"ex:staff"`, `"action":"use","assignee":"ex:band"`),
			`{"@id":"ex:billie","partOf":["ex:staff","ex:band"]}`), problem.Error, `by "http://example.com/billie"`},
		"a part of an asset": {graph(`"permission":{"action":"use","target":"ex:archive"},"prohibition":{"action":"use",`+movie+`}`,
			`{"@id":"ex:movie","partOf":"ex:archive"}`), problem.Error, `"http://example.com/movie"`},
		"a longer name": {setOf(`"permission":{"action":"use","target":"http://example.com/api/intents"},"prohibition":{"action":"use","target":"http://example.com/api/intents-admin"}`), "", ""},
		"an implied action": {graph(rules(`"action":"ex:share"`, `"action":"distribute"`),
			`{"@id":"ex:share","@type":"Action","includedIn":"use","implies":"distribute"}`), problem.Error, "to distribute"},
		"a profile's action": {graph(rules(`"action":"ex:hum"`, `"action":"play"`), `{"@id":"ex:hum","includedIn":"ex:sing"}`,
			`{"@id":"ex:sing","includedIn":"play"}`), problem.Error, "to http://example.com/hum"},
		"under a condition": {setOf(rules(`"action":"use"`, under(one("purpose", "eq", `"a"`)))), problem.Warning, "may prohibit"},
		"the same condition": {
			setOf(rules(under(one("purpose", "eq", `"a"`)), under(one("purpose", "eq", `"a"`)))), problem.Error,
			`purpose is "a"`,
		},
		"other purposes": {setOf(rules(under(one("purpose", "eq", `"a"`)), under(one("purpose", "eq", `"b"`)))), "", ""},
		"isAnyOf and isNoneOf": {setOf(rules(under(one("purpose", "isAnyOf", `["a","b"]`)),
			under(one("purpose", "isNoneOf", `["a","b","c"]`)))), "", ""},
		"overlapping lists": {
			setOf(rules(under(one("purpose", "isAnyOf", `["a","b"]`)), under(one("purpose", "isNoneOf", `["a"]`)))),
			problem.Warning, `purpose is "b"`,
		},
		"both of two": {
			setOf(rules(under(one("purpose", "isAnyOf", `["a"]`)), under(one("purpose", "isAnyOf", `["b"]`)))),
			problem.Warning, `purpose is "a, b"`,
		},
		"unknown value": {setOf(rules(under(one("purpose", "eq", `"a"`)),
			under(`[`+one("media", "eq", `"x"`)+`,`+one("media", "eq", `"y"`)+`]`))), problem.Warning, `purpose is "a"`},
		"before and after a time": {setOf(rules(under(one("dateTime", "lt", `"2026-01-01"`)),
			under(one("dateTime", "gteq", `"2026-01-01T00:00:00Z"`)))), "", ""},
		"adjacent times": {setOf(rules(under(one("dateTime", "lteq", `"2026-01-01"`)),
			under(one("dateTime", "gteq", `"2026-01-01T23:59:59Z"`)))), problem.Warning, `dateTime is "2026-01-01T23:59:59Z"`},
		"numbers": {setOf(rules(under(one("count", "lt", `5`)), under(one("count", "gteq", `"5"`)))), "", ""},
		"overlapping numbers": {setOf(rules(under(one("count", "lteq", `5`)),
			under(one("count", "gt", `{"@value":"4.5","@type":"xsd:decimal"}`)))), problem.Warning, `count is "4.500000001"`},
		"regions": {setOf(rules(under(one("spatial", "isPartOf", `"US"`)), under(one("spatial", "eq", `"DE"`)))), "", ""},
		"a region's part": {
			setOf(rules(under(one("spatial", "isPartOf", `"US"`)), under(one("spatial", "eq", `"US-CA"`)))),
			problem.Warning, `"US-CA"`,
		},
		"value among the prohibited ones": {
			setOf(rules(under(one("spatial", "eq", `"US-CA"`)), under(one("spatial", "eq", `"US"`)))), problem.Warning, `"US-CA"`,
		},
		"part of a prohibited value": {
			setOf(rules(under(one("spatial", "isPartOf", `"US-CA"`)), under(one("spatial", "isAnyOf", `["CU","US"]`)))), problem.Warning, `"US-CA"`,
		},
		"value outside the prohibited ones": {
			setOf(rules(under(one("spatial", "eq", `"DE"`)), under(one("spatial", "isAnyOf", `["CU","US"]`)))), "", "",
		},
		"or": {setOf(rules(under(`{"or":[`+one("media", "eq", `"x"`)+`,`+one("media", "eq", `"y"`)+`]}`),
			under(one("media", "eq", `"z"`)))), "", ""},
		"one operand of or": {setOf(rules(under(`{"or":[`+one("media", "eq", `"x"`)+`,`+one("media", "eq", `"z"`)+`]}`),
			under(one("media", "eq", `"z"`)))), problem.Warning, `media is "z"`},
		"xone": {setOf(rules(under(`{"xone":[`+one("media", "eq", `"x"`)+`,`+one("purpose", "eq", `"y"`)+`]}`),
			under(`{"and":[`+one("media", "eq", `"x"`)+`,`+one("purpose", "eq", `"y"`)+`]}`))), "", ""},
		"disjoint refinements": {setOf(`"permission":{`+movie+`,"action":{"rdf:value":{"@id":"odrl:use"},"refinement":`+one("resolution",
			"lt", "5")+`}}`, `"prohibition":{`+movie+`,"action":{"rdf:value":{"@id":"odrl:use"},"refinement":`+one("resolution", "gt",
			"5")+`}}`), "", ""},
		"a rule without action": {`{` + inContext + `,"uid":"http://example.com/policy:1","permission":{` + movie + `},"prohibition":{` + movie + `,"action":"use"}}`, problem.Error, "to use"},
	} {
		problems := odrl.Validate(t.Context(), []byte(tt.doc), odrl.ValidateOptions{Lenient: true})
		found := find(problems, "conflict")
		switch {
		case tt.level == "" && found != nil:
			t.Errorf("%s: %v", name, found)
		case tt.level != "" &&
			(found == nil || found.Level != tt.level || !strings.Contains(found.Message, tt.says) ||
				!strings.Contains(found.Message, "/permission")):
			t.Errorf("%s: %v, want %s …%s…\n%s", name, problems, tt.level, tt.says, tt.doc)
		}
	}
}

func TestValidateFindsProhibitedDuties(t *testing.T) {
	for name, tt := range map[string]struct {
		members []string
		want    string
	}{
		"an obligation": {[]string{
			`"obligation":{"action":"delete","target":"http://example.com/data"}`,
			`"prohibition":{"action":"delete","target":"http://example.com/data"}`,
		}, "/obligation"},
		"a duty": {[]string{`"permission":{` + asset + `,"action":"use","duty":{"action":"delete","target":"http://example.com/data"}}`, `"prohibition":{"action":"use","target":"http://example.com/data"}`}, "/permission/duty"},
		"other data": {[]string{
			`"obligation":{"action":"delete","target":"http://example.com/data"}`,
			`"prohibition":{"action":"delete","target":"http://example.com/else"}`,
		}, ""},
		"another party": {[]string{
			`"obligation":{"action":"delete","target":"http://example.com/data","assignee":"http://example.com/a"}`,
			`"prohibition":{"action":"delete","target":"http://example.com/data","assignee":"http://example.com/b"}`,
		}, ""},
	} {
		problems := odrl.Validate(t.Context(), []byte(setOf(tt.members...)), odrl.ValidateOptions{})
		found := find(problems, "duty-conflict")
		if (found == nil) != (tt.want == "") || found != nil && (found.Pointer != tt.want || !strings.Contains(found.Message, "/prohibition")) {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestValidateFindsRulesThatAreNeverActive(t *testing.T) {
	for in, never := range map[string]bool{
		one("count", "gt", "5") + `,` +
			one("count", "lt", "3"): true,
		one("count", "gteq", "5") + `,` +
			one("count", "lteq", "5"): false,
		one("count", "lt", "0"): true,
		one("percentage", "gt",
			"100"): true,
		one("count", "eq", "5") + `,` +
			one("count", "neq", `"5.0"`): true,
		one("purpose", "eq", `"a"`) + `,` +
			one("purpose", "neq", `"a"`): true,
		one("purpose", "eq", `"a"`) + `,` +
			one("purpose", "eq", `"b"`): true,
		one("purpose", "isAllOf", `["a","b"]`) + `,` +
			one("purpose", "isNoneOf", `["b"]`): true,
		one("purpose", "isAllOf", `["a","b"]`) + `,` +
			one("purpose", "isAnyOf", `["c"]`): false,
		one("purpose", "isPartOf", `"http://example.com/t"`) + `,` +
			one("purpose", "eq", `"http://example.com/u"`): false,
		one("spatial", "isPartOf", `"US"`) + `,` +
			one("spatial", "isPartOf", `"DE"`): true,
		one("spatial", "eq", `"US-CA"`) + `,` +
			one("spatial", "isNoneOf", `["US","CU"]`): true,
		one("spatial", "eq", `"US"`) + `,` +
			one("spatial", "neq", `"US-CA"`): false,
		one("dateTime", "gteq", `"2027-01-01"`) + `,` +
			one("dateTime", "lt", `"2026-12-31"`): true,
		one("dateTime", "eq", `"2026-12-31"`) + `,` +
			one("dateTime", "neq", `"2026-12-31"`): true,
		one("dateTime", "eq", `"2026-12-31"`) + `,` +
			one("dateTime", "neq", `"2026-12-31T00:00:00Z"`): false,
		one("dateTime", "lt", `"2026-12-31T00:00:00+01:00"`) + `,` +
			one("dateTime", "gteq", `"2026-12-30T23:00:00Z"`): true,
		one("timeWindow", "within", `{"start":"09:00","end":"17:00"}`) + `,` +
			one("timeWindow", "outside", `"08:00/18:00"`): true,
		one("timeWindow", "within", `{"start":"22:00","end":"06:00"}`) + `,` +
			one("timeWindow", "within", `"05:00/07:00"`): false,
		one("timeWindow", "within", `{"start":"22:00","end":"06:00"}`) + `,` +
			one("timeWindow", "within", `"07:00/09:00"`): true,
		one("timeWindow", "within",
			`{"start":"2027-01-01","end":"2026-01-01"}`): true,
		one("version", "gteq", `"v2"`) + `,` +
			one("version", "lt", `"1.9"`): true,
		`{"xone":[` + one("media", "eq", `"a"`) + `,` + one("media", "eq",
			`"a"`) + `]}`: true,
		`{"xone":[` + one("media", "eq", `"a"`) + `,` + one("media", "eq",
			`"b"`) + `]}`: false,
		`{"or":[` + one("media", "eq", `"a"`) + `,` + one("media", "eq", `"b"`) + `]},` +
			one("media", "eq", `"c"`): true,
		`{"and":[` + one("media", "eq", `"a"`) + `,{"or":[` + one("count", "lt", "0") + `,` + one("media", "neq",
			`"a"`) + `]}]}`: true,
		one("payAmount", "gt", "5") + `,{"leftOperand":"payAmount","operator":"lt","rightOperand":"3","unit":"http://dbpedia.org/resource/Euro"}`: false,
		`{"leftOperand":"count","operator":"lt","rightOperandReference":"http://example.com/n"},` +
			one("count", "gt", "5"): false,
	} {
		for _, rule := range []string{"permission", "prohibition"} {
			doc := setOf(`"` + rule + `":{` + asset + `,"action":"play","constraint":[` + in + `]}`)
			problems := odrl.Validate(t.Context(), []byte(doc), odrl.ValidateOptions{})
			if has(problems, problem.Warning, "never", "/"+rule) != never || problems.Failed() {
				t.Errorf("%s: %v, want %v", in, problems, never)
			}
		}
	}
}

// Comparing rules is bounded, however many rules and constraints there are.
func TestComparingRulesIsBounded(t *testing.T) {
	many := func(n int, s func(i int) string) string {
		list := make([]string, n)
		for i := range list {
			list[i] = s(i)
		}
		return strings.Join(list, ",")
	}
	ways := func(i int) string {
		return `{"and":[` + many(8, func(j int) string {
			return `{"or":[` + one("media", "neq", fmt.Sprintf(`"a%d"`, i+j)) + `,` + one("purpose", "neq", fmt.Sprintf(`"b%d"`, j)) + `]}`
		}) + `,` + one("count", "lt", "0") + `]}`
	}
	for name, doc := range map[string]string{
		"pairs": setOf(`"permission":[`+many(odrl.PairedRules, func(int) string { return `{` + asset + `,"action":"play"}` })+`]`,
			`"prohibition":[`+many(odrl.PairedRules, func(int) string { return `{` + asset + `,"action":"print"}` })+`]`),
		"search": setOf(`"permission":[`+many(odrl.SearchedRules,
			func(i int) string { return `{` + asset + `,"action":"play","constraint":` + ways(i) + `}` })+`]`,
			`"prohibition":[`+many(odrl.SearchedRules,
				func(i int) string { return `{` + asset + `,"action":"play","constraint":` + ways(i) + `}` })+`]`),
		"one": use(`"constraint":[` + many(odrl.SearchedConstraints,
			func(i int) string { return one("media", "neq", fmt.Sprintf(`"m%d"`, i)) }) + `]`),
	} {
		problems := odrl.Validate(t.Context(), []byte(doc), odrl.ValidateOptions{})
		if len(problems) > 250 || problems.Failed() || (find(problems, "unchecked") != nil) != (name == "pairs") {
			t.Errorf("%s: %d problems, %v", name, len(problems), problems[:min(3, len(problems))])
		}
	}
}
