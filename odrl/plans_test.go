package odrl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/odrl"
)

// offer returns a permission for every intent under a plan, with a limit and further members.
func offer(plan string, most int, unit, more string) string {
	return fmt.Sprintf(`{%s,"constraint":[{"leftOperand":"uim:plan","operator":"eq","rightOperand":%q},`+
		`{"leftOperand":"count","operator":"lteq","rightOperand":%d,"unit":%q}]%s}`, all, plan, most, unit, more)
}

const pays = `,"duty":[{"action":"pay","amount":"0.02","unit":"EUR"}]`

func TestPlansDecide(t *testing.T) {
	p := publish(t, []byte(policy(`"permission":[`+offer("free", 3, "day", "")+`,`+offer("pro", 50, "day", pays)+`,`+
		offer("partner", 9, "month", "")+`]`)), world())
	if got := p.Plans(); !slices.Equal(got, []string{"free", "pro", "partner"}) || !slices.Equal(p.PlansOf(search.UID), got) {
		t.Errorf("got the plans %v, and %v of an intent", got, p.PlansOf(search.UID))
	}
	ids := map[string]string{}
	for _, test := range []struct {
		fact           any
		limit, carried string // empty: not permitted
		charge         string
	}{
		{nil, "", "", ""},
		{"gold", "", "", ""},
		{[]any{"free", "pro"}, "", "", ""},
		{true, "", "", ""},
		{odrl.NoPlan, "", "", ""},
		{"Free", "", "", ""},
		{"free", "3/day", "month", "0"},
		{"pro", "50/day", "month", "0.02 EUR"},
		{"partner", "9/month", "day", "0"},
	} {
		r := odrl.Request{AgentID: "agent-1", Intent: search.UID, Now: noon, Facts: map[string]any{}}
		if test.fact != nil {
			r.Facts[odrl.Plan] = test.fact
		}
		d := decide(t, p, r)
		if d.Permit != (test.limit != "") {
			t.Errorf("%v: permit %v (%s)", test.fact, d.Permit, d.Detail)
			continue
		}
		terms, err := p.Terms(t.Context(), r)
		if _, isText := test.fact.(string); err != nil || isText && terms.Permitted != d.Permit {
			t.Errorf("%v: terms %+v, %v; want Permitted %v", test.fact, terms, err, d.Permit)
		}
		if !d.Permit {
			continue
		}
		c := d.Candidates[0]
		if len(d.Candidates) != 1 || len(c.Limits) != 1 || c.Limits[0].String() != test.limit ||
			test.charge != "0" && c.Charge.String() != test.charge ||
			test.charge == "0" && !c.Charge.IsZero() {
			t.Errorf("%v: %+v; want %s and %s", test.fact, d.Candidates, test.limit, test.charge)
		}
		if len(c.Carried) != 1 || string(c.Carried[0].Period) != test.carried || c.Carried[0].Max != limit.MaxCount {
			t.Errorf("%v: carries %v; want one of a %s", test.fact, c.Carried, test.carried)
		}
		ids[test.fact.(string)] = c.Limits[0].ID //nolint:forcetypeassert // it was found in the policy
	}
	if ids["free"] != ids["pro"] || ids["free"] == ids["partner"] {
		t.Errorf("the counters are %v; want one of free and pro, and another of partner", ids)
	}
}

// A permission that now names its plans counts as before.
func TestPlansKeepTheCounters(t *testing.T) {
	limited := `"constraint":[{"leftOperand":"rateLimit","operator":"lteq","rightOperand":100,"unit":"hour"}`
	before := candidate(t, permit(limited+`]`)).Limits[0].ID
	p := publish(t, []byte(permit(limited+`,{"leftOperand":"plan","operator":"isAnyOf","rightOperand":["b","a"]}]`)), world())
	d := decide(t, p, odrl.Request{AgentID: "agent-1", Intent: search.UID, Now: noon, Facts: map[string]any{odrl.Plan: "a"}})
	if !d.Permit || d.Candidates[0].Limits[0].ID != before || d.Candidates[0].Carried != nil {
		t.Errorf("got %+v; want the counter %s", d, before)
	}
}

func TestPlansThatCannotBeOfferedAreRefused(t *testing.T) {
	plan := func(operator, value string) string {
		return `{"leftOperand":"uim:plan","operator":"` + operator + `","rightOperand":` + value + `}`
	}
	free, purpose := plan("eq", `"free"`), `{"leftOperand":"dateTime","operator":"gt","rightOperand":"2020-01-01"}`
	var many []string
	for n := range 17 {
		many = append(many, fmt.Sprintf(`"p%d"`, n))
	}
	for name, doc := range map[string]string{
		"another operator":  permit(`"constraint":[` + plan("neq", `"free"`) + `]`),
		"an alternative":    permit(`"constraint":[{"or":[` + free + `,` + purpose + `]}]`),
		"deep alternatives": permit(`"constraint":[{"xone":[` + purpose + `,{"and":[` + purpose + `,` + free + `]}]}]`),
		"a prohibition":     policy(`"permission":[{`+all+`}]`, `"prohibition":[{`+all+`,"constraint":[`+free+`]}]`),
		"an empty name":     permit(`"constraint":[` + plan("eq", `""`) + `]`),
		"a long name":       permit(`"constraint":[` + plan("eq", `"`+strings.Repeat("a", 65)+`"`) + `]`),
		"a strange name":    permit(`"constraint":[` + plan("eq", `"for free"`) + `]`),
		"an IRI":            permit(`"constraint":[` + plan("eq", `"http://example.com/free"`) + `]`),
		"no plan in common": permit(`"constraint":[` + free + `,` + plan("eq", `"pro"`) + `]`),
		"too many":          permit(`"constraint":[` + plan("isAnyOf", `[`+strings.Join(many, ",")+`]`) + `]`),
		"a duty":            permit(`"duty":[{"action":"pay","amount":"0.02","unit":"EUR","constraint":[` + free + `]}]`),
	} {
		if p, problems := odrl.Publish(t.Context(), []byte(doc), world()); p != nil {
			t.Errorf("%s: published, with %v", name, problems)
		}
	}
}
