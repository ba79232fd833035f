package odrl_test

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/odrl"
)

func extra(t *testing.T, body string) *odrl.Extra {
	t.Helper()
	x, problems := odrl.NewExtra(t.Context(), "extra.rego", []byte("package uimgate.extra\n\n"+body), 2*time.Second)
	if x == nil {
		t.Fatal(problems)
	}
	return x
}

func TestExtraDenies(t *testing.T) {
	r := odrl.Request{
		AgentID: "agent-1", KeyID: "jkt", Intent: search.UID, Now: noon, ProofKey: []byte("k"),
		Facts: map[string]any{"purpose": []string{"a"}, "spatial": "DE"},
	}
	d := odrl.Decision{Permit: true, Rule: "/permission/0"}
	for body, want := range map[string]bool{
		`deny if input.agent == "agent-1"`:                         true,
		`deny if input.agent == "agent-2"`:                         false,
		`deny if input.key_id != "jkt"`:                            false,
		`deny if startswith(input.intent, "example.com:")`:         true,
		`deny if "a" in input.facts.purpose`:                       true,
		`deny if input.facts.spatial in {"FR"}`:                    false,
		`deny if input.facts.industry == "bank"`:                   false, // missing
		`deny if not input.proved`:                                 false,
		`deny if input.rule == "/permission/0"`:                    true,
		`deny if time.parse_rfc3339_ns(input.now) != input.now_ns`: false,
		`deny if time.weekday(input.now_ns) == "Monday"`:           true,
		`deny contains "late" if input.now_ns > 0`:                 true,
		`deny contains "early" if input.now_ns < 0`:                false,
		"deny := []":           false,
		`deny := ["x"]`:        true,
		"default deny := true": true,
	} {
		denied, err := extra(t, body).Denies(t.Context(), r, d)
		if err != nil || denied != want {
			t.Errorf("%s: %v, %v; want %v, nil", body, denied, err, want)
		}
	}
}

func TestExtraDeniesOnError(t *testing.T) {
	r := odrl.Request{AgentID: "secret-agent", Intent: search.UID, Now: noon}
	for body, want := range map[string]string{
		`deny := 5`:                          "deny must be a boolean, a set or an array",
		`deny := "no"`:                       "deny must be a boolean, a set or an array",
		`deny if to_number(input.agent) > 5`: "eval_builtin_error at line 3",
		"deny := true if input.now_ns\ndeny := false if input.now_ns": "eval_conflict_error",
	} {
		denied, err := extra(t, body).Denies(t.Context(), r, odrl.Decision{})
		if !denied || err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", body, denied, err)
		}
	}
}

func TestExtraTimesOut(t *testing.T) {
	x, problems := odrl.NewExtra(t.Context(), "extra.rego",
		[]byte("package uimgate.extra\n\ndeny if {\n\tsome a in numbers.range(1, 100000)\n\tsome b in numbers.range(1, 100000)\n\ta * b == -1\n}\n"), time.Millisecond)
	if x == nil {
		t.Fatal(problems)
	}
	denied, err := x.Denies(t.Context(), odrl.Request{Now: noon}, odrl.Decision{})
	if !denied || err == nil || !strings.Contains(err.Error(), "did not finish within 1ms") {
		t.Errorf("got %v, %v; want true, an error that contains %q", denied, err, "did not finish within 1ms")
	}
}

func TestNewExtraRejectsUnsafeRego(t *testing.T) {
	for body, want := range map[string]string{
		`deny if http.send({"method": "get", "url": "http://127.0.0.1"}).status_code == 200`: "http.send",
		`deny if opa.runtime().env.HOME`:                       "opa.runtime",
		`deny if time.now_ns() > 0`:                            "time.now_ns",
		`deny if rand.intn("a", 5) == 1`:                       "rand.intn",
		`deny if uuid.rfc4122("a")`:                            "uuid.rfc4122",
		`deny if net.lookup_ip_addr("example.com")`:            "net.lookup_ip_addr",
		`deny if net.cidr_contains("10.0.0.0/8", input.agent)`: "net.cidr_contains",
		`deny if io.jwt.decode("x")`:                           "io.jwt.decode",
		`deny if input.agent = `:                               "rego_parse_error",
		`deny { input.agent == "a" }`:                          "rego_parse_error",
		`allow if input.agent == "a"`:                          "no rule deny",
		`deny(x) if x == input.agent`:                          "no rule deny",
		`deny if unheard(input.agent)`:                         "unheard",
		`deny if x == 1`:                                       "unsafe",
	} {
		x, problems := odrl.NewExtra(t.Context(), "extra.rego", []byte("package uimgate.extra\n\n"+body), time.Second)
		if x != nil || len(problems) == 0 || !strings.Contains(problems[0].Message, want) {
			t.Errorf("%s: %v", body, problems)
			continue
		}
		if strings.HasPrefix(problems[0].Message, "rego_") && problems[0].Line != 3 {
			t.Errorf("%s: at line %d", body, problems[0].Line)
		}
	}
	for _, source := range []string{
		"", "package other\n\ndeny if true", "package uimgate.odrl\n\ndeny if true", "package uimgate.extra",
		strings.Repeat(" ", odrl.MaxExtra+1),
	} {
		if x, problems := odrl.NewExtra(t.Context(), "extra.rego", []byte(source), time.Second); x != nil || len(problems) != 1 {
			t.Errorf("%.40q: %v", source, problems)
		}
	}
}

func FuzzExtra(f *testing.F) {
	for _, s := range []string{
		`deny if input.agent == "a"`, `deny contains x if some x in input.facts.purpose`, `deny := {1}`,
		`default deny := false`, "deny if {\n",
	} {
		f.Add("package uimgate.extra\n\n"+s, "a")
	}
	f.Fuzz(func(t *testing.T, source, agent string) {
		x, problems := odrl.NewExtra(t.Context(), "extra.rego", []byte(source), 10*time.Millisecond)
		if (x == nil) != (len(problems) > 0) {
			t.Fatalf("got %v, %v", x != nil, problems)
		}
		if x == nil {
			return
		}
		if denied, err := x.Denies(t.Context(), odrl.Request{AgentID: agent, Intent: search.UID, Now: noon},
			odrl.Decision{}); err != nil && !denied {
			t.Fatal("a call was permitted despite an error")
		}
	})
}
