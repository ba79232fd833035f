package odrl_test

import (
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

// exclusions are constraints on codes, with facts inside, outside and around their values.
var exclusions = []comparison{
	{"spatial", "isNoneOf", `["US","CU"]`, "", "US-CA", no},
	{"spatial", "isNoneOf", `["US","CU"]`, "", "CU", no},
	{"spatial", "isNoneOf", `["US","CU"]`, "", "us-ca", no},
	{"spatial", "isNoneOf", `["US","CU"]`, "", "DE", yes},
	{"spatial", "isNoneOf", `["US","CU"]`, "", `["DE","US-CA"]`, no},
	{"spatial", "isNoneOf", `["US-CA","CU"]`, "", "US-NY", yes},
	{"spatial", "isNoneOf", `["https://www.wikidata.org/wiki/Q30"]`, "", "US-CA", no},
	{"spatial", "neq", "US", "", "US-CA", no},
	{"spatial", "neq", "US", "", "US", no},
	{"spatial", "neq", "US", "", "USA", unknown},
	{"spatial", "neq", "US", "", "DE-US", yes},
	{"spatial", "neq", "US", "", `["US-CA","DE"]`, unknown},
	{"language", "neq", "en", "", "en-GB", no},
	{"language", "neq", "eng", "", "en-GB", no},
	{"language", "isNoneOf", `["en","fr"]`, "", "fr-CA", no},
	{"language", "neq", "en", "", "de", yes},
	{"virtualLocation", "neq", "example.com", "", "api.example.com", no},
	{"virtualLocation", "neq", "example.com", "", "example.com.evil.org", yes},
	// A part of a value does not equal the value, but a prohibition of the value applies to the part.
	{"spatial", "eq", "US", "", "US", yes},
	{"spatial", "eq", "US", "", "US-CA", unknown},
	{"spatial", "eq", "US", "", "DE", no},
	{"spatial", "isAnyOf", `["US","CU"]`, "", "US-CA", unknown},
	{"spatial", "isAnyOf", `["US","CU"]`, "", "DE", no},
	{"spatial", "isAllOf", `["US"]`, "", "US-CA", unknown},
	{"spatial", "isAllOf", `["US"]`, "", "DE", no},
	{"language", "eq", "en", "", "en-GB", unknown},
	// If the members of a group are unknown here, it excludes only its known parts, and the result for others is unknown.
	{"spatial", "isNoneOf", `["US","EU"]`, "", "US-CA", no},
	{"spatial", "isNoneOf", `["US","EU"]`, "", "EU", no},
	{"spatial", "isNoneOf", `["US","EU"]`, "", "DE", unknown},
	{"spatial", "isAnyOf", `["US","EU"]`, "", "EU", yes},
	{"spatial", "isAnyOf", `["US","EU"]`, "", "US-CA", unknown},
	{"spatial", "isAnyOf", `["US","EU"]`, "", "DE", unknown},
}

// Exclusions apply to parts in Evaluate.
func TestExclusionsCoverParts(t *testing.T) { compareAll(t, exclusions) }

// Decide applies the same exclusions, with a plan and with OPA.
func TestDecideExclusions(t *testing.T) {
	for _, tt := range exclusions {
		c := constraint(tt.left, tt.op, tt.right, tt.unit)
		opens := publish(t, []byte(policy(`"permission":{`+all+`,"constraint":`+c+`}`)), world())
		forbids := publish(t, []byte(policy(`"conflict":"prohibit"`, `"permission":{`+all+`}`,
			`"prohibition":{`+all+`,"constraint":`+c+`}`)), world())
		var fact any = tt.fact
		if strings.HasPrefix(tt.fact, "[") {
			fact = strings.Split(strings.Trim(strings.ReplaceAll(tt.fact, `"`, ""), "[]"), ",")
		}
		r := odrl.Request{AgentID: "agent-1", Intent: search.UID, Now: noon, Facts: map[string]any{tt.left: fact}}
		a, b := decide(t, opens, r), decide(t, forbids, r)
		if engine, why := opens.Engine(); engine != odrl.EnginePlan || a.Engine != odrl.EnginePlan || b.Engine != odrl.EnginePlan {
			t.Errorf("%s of %s: decided by %s, %s (%s)", c, tt.fact, a.Engine, b.Engine, why)
		}
		if a.Permit != (tt.want == yes) || b.Permit != (tt.want == no) {
			t.Errorf("%s of %s: opens a permission %t, lifts a prohibition %t, want %s", c, tt.fact, a.Permit, b.Permit, tt.want)
		}
	}
}

// Explain describes the exclusions, both for published and for loaded policies.
func TestExclusionsAreExplained(t *testing.T) {
	for c, says := range map[string]string{
		one("spatial", "neq", `"US"`):              "neither US nor part of it",
		one("language", "neq", `"en"`):             "nor part of it",
		one("spatial", "isNoneOf", `["US","CU"]`):  "not CU or US, nor part of one of them",
		one("spatial", "eq", `"US"`):               "The same applies to a part of a place or language that is named there",
		one("spatial", "isAnyOf", `["US","CU"]`):   "The same applies to a part of a place or language that is named there",
		one("purpose", "isNoneOf", `["ads","US"]`): "not US or ads",
	} {
		opens := []*odrl.Policy{
			load(t, set(`"permission":{"action":"read","target":"ex:x","constraint":`+c+`}`)),
			publish(t, []byte(policy(`"permission":{`+all+`,"constraint":`+c+`}`)), world()),
		}
		binds := []*odrl.Policy{
			load(t, set(`"permission":{"action":"read","target":"ex:x"}`, `"conflict":"prohibit"`,
				`"prohibition":{"action":"read","target":"ex:x","constraint":`+c+`}`)),
			publish(t, []byte(policy(`"conflict":"prohibit"`, `"permission":{`+all+`}`, `"prohibition":{`+all+`,"constraint":`+c+`}`)), world()),
		}
		if strings.HasPrefix(says, "The same") {
			opens = nil
		}
		for _, p := range append(opens, binds...) {
			text := strings.ReplaceAll(explained(p), `"`, "")
			if !strings.Contains(text, says) || strings.Contains(c, "purpose") && strings.Contains(text, "part of") {
				t.Errorf("%s: the text lacks %q:\n%s", c, says, text)
			}
		}
	}
}
