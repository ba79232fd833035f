package odrl_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/internal/reason"
	"github.com/uimgate/uimgate/odrl"
)

const all = `"target":"http://example.com/api/intents","action":"execute"`

func TestConflicts(t *testing.T) {
	const marketing = `"constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"marketing"}`
	facts := func(purpose string) map[string]any {
		if purpose == "" {
			return nil
		}
		return map[string]any{"purpose": purpose}
	}
	for _, tt := range []struct {
		strategy, purpose string
		want              reason.Reason
	}{
		{"perm", "marketing", ""},
		{"perm", "research", ""},
		{"perm", "", ""},
		{"prohibit", "marketing", reason.PolicyViolation},
		{"prohibit", "research", ""},
		{"prohibit", "", reason.PolicyViolation},
		{"invalid", "marketing", reason.PolicyConflict},
		{"invalid", "research", ""},
		{"invalid", "", reason.PolicyConflict},
		{"odrl:prohibit", "marketing", reason.PolicyViolation},
		{"http://www.w3.org/ns/odrl/2/perm", "marketing", ""},
	} {
		p := publish(t, []byte(policy(`"conflict":"`+tt.strategy+`"`, `"permission":{`+all+`}`, `"prohibition":{`+all+`,`+marketing+`}`)),
			world())
		d := decide(t, p, odrl.Request{AgentID: "a", Intent: search.UID, Now: noon, Facts: facts(tt.purpose)})
		if d.Reason != tt.want {
			t.Errorf("%s of %q: %+v", tt.strategy, tt.purpose, d)
		}
		if !d.Permit && d.Rule != "/prohibition" {
			t.Errorf("%s of %q: rule %s", tt.strategy, tt.purpose, d.Rule)
		}
		if tt.purpose != "" && strings.Contains(d.Detail, tt.purpose) {
			t.Errorf("the detail contains the fact: %s", d.Detail)
		}
	}
	// A prohibition without a permission does not conflict.
	p := publish(t, []byte(policy(`"prohibition":{`+all+`,`+marketing+`}`)), world())
	if d := decide(t, p, odrl.Request{AgentID: "a", Intent: search.UID, Now: noon}); d.Reason != reason.PolicyViolation {
		t.Errorf("got %+v", d)
	}
	if d := decide(t, p, odrl.Request{
		AgentID: "a", Intent: search.UID, Now: noon,
		Facts: facts("research"),
	}); d.Reason != reason.PolicyNotApplicable {
		t.Errorf("got %+v", d)
	}
}

func TestPublishReportsCertainConflicts(t *testing.T) {
	const cond = `"constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"a"}`
	for _, tt := range []struct {
		name, doc string
		level     problem.Level
		void      bool
	}{
		{"bare", policy(`"permission":{`+all+`}`, `"prohibition":{`+all+`}`), problem.Error, true},
		{"a permission under conditions", policy(`"permission":{`+all+`,`+cond+`}`, `"prohibition":{`+all+`}`), problem.Error, true},
		{"the same conditions", policy(`"permission":{`+all+`,`+cond+`}`, `"prohibition":{`+all+`,`+cond+`}`), problem.Error, true},
		{"use covers execute", policy(`"permission":{`+all+`}`, `"prohibition":{"target":"example.com","action":"use"}`), problem.Error, true},
		{
			"one intent of many", policy(`"permission":{`+all+`}`, `"prohibition":{"target":"example.com:buy:v1","action":"execute"}`),
			problem.Error, true,
		},
		{"prohibit", policy(`"conflict":"prohibit"`, `"permission":{`+all+`}`,
			`"prohibition":{"target":"example.com:buy:v1","action":"execute"}`), problem.Warning, false},
		{
			"perm", policy(`"conflict":"perm"`, `"permission":{`+all+`}`, `"prohibition":{"target":"example.com:buy:v1","action":"execute"}`),
			problem.Warning, false,
		},
		{"possible", policy(`"permission":{`+all+`}`, `"prohibition":{`+all+`,`+cond+`}`), problem.Warning, false},
		{"other intents", policy(`"permission":{"target":"other.org","action":"use"}`,
			`"prohibition":{"target":"example.com","action":"execute"}`), "", false},
		{"other agents", policy(`"permission":{`+all+`,"assignee":"http://example.com/ai-agent/1"}`,
			`"prohibition":{`+all+`,"assignee":"http://example.com/ai-agent/2"}`), "", false},
		{"another action", policy(`"permission":{`+all+`}`, `"prohibition":{"target":"example.com","action":"distribute"}`), "", false},
		{"exceedRateLimit", policy(`"permission":{`+all+`}`, `"prohibition":{"target":"example.com","action":"exceedRateLimit"}`), "", false},
		{"a bound", policy(`"permission":{`+all+`}`,
			`"prohibition":{`+all+`,"constraint":{"leftOperand":"count","operator":"gt","rightOperand":5,"unit":"day"}}`), "", false},
	} {
		p, problems := odrl.Publish(t.Context(), []byte(tt.doc), world())
		if (p == nil) != tt.void || has(problems, tt.level, "conflict", "/prohibition") != (tt.level != "") {
			t.Errorf("%s: %v", tt.name, problems)
		}
	}
	p := publish(t, []byte(policy(`"conflict":"prohibit"`, `"permission":{`+all+`}`,
		`"prohibition":{"target":"example.com:buy:v1","action":"execute"}`)), world())
	if d := decide(t, p, odrl.Request{AgentID: "a", Intent: "example.com:buy:v1", Now: noon}); d.Reason != reason.PolicyViolation {
		t.Errorf("got %+v", d)
	}
	if d := decide(t, p, odrl.Request{AgentID: "a", Intent: "other.org:buy:v1", Now: noon}); !d.Permit {
		t.Errorf("got %+v", d)
	}
}

func TestCheapestCandidateIsFirst(t *testing.T) {
	rule := func(uid, price, currency string, limits ...string) string {
		s := `{"uid":"http://r.example/` + uid + `",` + all
		if price != "" {
			s += `,"duty":{"action":"pay","amount":"` + price + `","unit":"` + currency + `"}`
		}
		var list []string
		for _, period := range limits {
			list = append(list, `{"leftOperand":"count","operator":"lteq","rightOperand":9,"unit":"`+period+`"}`)
		}
		return s + `,"constraint":[` + strings.Join(list, ",") + `]}`
	}
	for _, tt := range []struct {
		rules []string
		want  string
	}{
		{[]string{rule("a", "2", "USD"), rule("b", "1", "USD"), rule("c", "0.5", "USD", "day", "hour")}, "c b a"},
		{[]string{rule("a", "1", "USD", "day", "hour"), rule("b", "1", "USD", "day"), rule("c", "1", "USD", "week")}, "b c a"},
		{[]string{rule("a", "1", "USD"), rule("b", "", "", "day")}, "b a"},
		{[]string{rule("a", "2", "USD"), rule("b", "1", "EUR"), rule("c", "", "")}, "c a b"},
		{[]string{rule("a", "0", "USD"), rule("b", "", "")}, "a b"},
	} {
		p := publish(t, []byte(policy(`"permission":[`+strings.Join(tt.rules, ",")+`]`)), world())
		d := decide(t, p, odrl.Request{AgentID: "a", Intent: search.UID, Now: noon})
		var got []string
		for _, c := range d.Candidates {
			got = append(got, strings.TrimPrefix(c.Rule, "http://r.example/"))
		}
		if strings.Join(got, " ") != tt.want || d.Rule != d.Candidates[0].Rule {
			t.Errorf("%v, want %s", got, tt.want)
		}
		again := decide(t, p, odrl.Request{AgentID: "a", Intent: search.UID, Now: noon})
		if !slices.EqualFunc(d.Candidates, again.Candidates, func(a, b odrl.Candidate) bool { return a.Rule == b.Rule }) {
			t.Error("the order differs between calls")
		}
	}
}

func TestPublishWarnsOfUselessLimits(t *testing.T) {
	limited := `{` + all + `,"constraint":{"leftOperand":"count","operator":"lteq","rightOperand":9,"unit":"day"}}`
	for name, tt := range map[string]struct {
		other string
		want  bool
	}{
		"permission without a limit":       {`{"target":"example.com","action":"use"}`, true},
		"a separate counter":               {`{"target":"example.com:buy:v1","action":"execute","constraint":{"leftOperand":"count","operator":"lteq","rightOperand":1,"unit":"day"}}`, true},
		"higher limit on the same counter": {`{` + all + `,"constraint":{"leftOperand":"count","operator":"lteq","rightOperand":10,"unit":"day"}}`, true},
		"lower limit on the same counter":  {`{` + all + `,"constraint":{"leftOperand":"count","operator":"lteq","rightOperand":8,"unit":"day"}}`, false},
		"under a condition":                {`{` + all + `,"constraint":{"leftOperand":"purpose","operator":"eq","rightOperand":"a"}}`, false},
		"another agent only":               {`{` + all + `,"assignee":"http://example.com/ai-agent/1"}`, false},
	} {
		p := publish(t, []byte(policy(`"permission":[`+limited+`,`+tt.other+`]`)), world())
		if got := has(p.Warnings(), problem.Warning, "meaningless", "/permission/0"); got != tt.want {
			t.Errorf("%s: %v", name, p.Warnings())
		}
	}
}

func TestDuties(t *testing.T) {
	p := publish(t, []byte(policy(
		`"permission":{`+all+`,"duty":[{"uid":"http://d.example/1","action":"provideAttribution","dct:description":"Data by Example"},{"action":"uim:logUsage"},
			{"action":"inform","constraint":{"leftOperand":"purpose","operator":"neq","rightOperand":"research"}}]}`,
		`"obligation":{"action":"acceptTracking"}`,
	)), world())
	d := decide(t, p, odrl.Request{AgentID: "a", Intent: search.UID, Now: noon, Facts: map[string]any{"purpose": "research"}})
	want := []odrl.Duty{
		{"http://d.example/1", "attribute", "Data by Example"},
		{"/permission/duty/1", "logUsage", ""},
		{"/obligation", "acceptTracking", ""},
	}
	if !slices.Equal(d.Duties, want) {
		t.Errorf("got %+v, want %+v", d.Duties, want)
	}
	d = decide(t, p, odrl.Request{AgentID: "a", Intent: search.UID, Now: noon})
	want = slices.Insert(want, 2, odrl.Duty{"/permission/duty/2", "inform", ""})
	if !slices.Equal(d.Duties, want) {
		t.Errorf("it is unknown whether the duty applies: %+v, want %+v", d.Duties, want)
	}
}
