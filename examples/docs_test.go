package examples_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/problem"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/cases"
)

// A snippet is a fenced block of a document. Its first line has the language, then the kind (policy if it is missing, permission,
// constraint, duty, or cases of a table), and then "warns" or "refused" with a code.
type snippet struct {
	line                        int
	language, is, verdict, code string
	body                        string
}

var fence = regexp.MustCompile("(?ms)^```([a-z]+)([ a-z-]*)\n(.*?)^```$")

func snippets(t *testing.T, file string) []snippet {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []snippet
	for _, at := range fence.FindAllSubmatchIndex(text, -1) {
		s := snippet{
			line: 1 + strings.Count(string(text[:at[0]]), "\n"), language: string(text[at[2]:at[3]]), is: "policy", body: string(text[at[6]:at[7]]),
		}
		words := strings.Fields(string(text[at[4]:at[5]]))
		if len(words) > 0 && slices.Contains([]string{"permission", "constraint", "duty", "cases"}, words[0]) {
			s.is, words = words[0], words[1:]
		}
		switch {
		case len(words) == 2 && slices.Contains([]string{"warns", "refused"}, words[0]):
			s.verdict, s.code = words[0], words[1]
		case len(words) > 0:
			t.Errorf("%s:%d: unknown words %q", file, s.line, words)
		}
		list = append(list, s)
	}
	if want := strings.Count(string(text), "```"); want != 2*len(list) {
		t.Errorf("%s: %d fences, but %d snippets read; want %v", file, want, len(list), 2*len(list))
	}
	return list
}

// policy returns a complete policy with the snippet. It splices text, so that each number stays as it is written.
func (s snippet) policy(t *testing.T) string {
	t.Helper()
	const every = `"target":"https://shop.example/api/intents","action":"execute"`
	body := strings.TrimSpace(s.body)
	switch s.is {
	case "duty":
		body = `{"permission":{` + every + `,"duty":` + body + `}}`
	case "constraint":
		body = `{"permission":{` + every + `,"constraint":` + body + `}}`
	case "permission":
		body = `{"permission":` + body + `}`
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &members); err != nil {
		t.Fatal(err)
	}
	if members["uid"] == nil {
		body = `{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"https://shop.example/policy/1",` + strings.TrimPrefix(body, "{")
	}
	return body
}

// Every policy snippet of the guide publishes without a warning, or with the one that the guide mentions, and permits something. Or the
// gateway refuses it for the stated reason.
func TestGuideExamplesAreCorrect(t *testing.T) {
	w := world(t, settings{partner: "https://shop.example/agents/partner"})
	tested := map[string]int{}
	list := snippets(t, "../docs/for-services/policies.md")
	rules := filepath.Join(t.TempDir(), "extra.rego") // named in a configuration
	for _, s := range list {
		if s.language == "rego" {
			if err := os.WriteFile(rules, []byte(s.body), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	next := filepath.Join(t.TempDir(), "next-policy.json") // named in a configuration as the successor of free-for-all.json
	present, err := os.ReadFile("policies/free-for-all.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(next, bytes.Replace(present, []byte(`"permission"`), []byte(`"obligation": [{"action": "logUsage"}], "permission"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	files := strings.NewReplacer(" extra.rego", " "+rules, " next-policy.json", " "+next)
	for _, s := range list {
		t.Run(fmt.Sprintf("line %d", s.line), func(t *testing.T) {
			switch s.language {
			case "yaml":
				if s.is == "cases" {
					tryCases(t, "cases.yaml", []byte(s.body))
					return
				}
				for _, p := range load(t, files.Replace(s.body)) {
					if s.verdict != "warns" || p.Level != problem.Warning || !strings.Contains(p.Message, s.code) {
						t.Error(p)
					}
				}
			case "json":
				s.check(t, w)
			case "rego":
				tryRego(t, s.body)
			default:
				t.Errorf("no test for %s", s.language)
			}
		})
		tested[s.language+" "+s.verdict]++
	}
	for _, kind := range []string{"json ", "json warns", "json refused", "yaml ", "rego "} {
		if tested[kind] == 0 {
			t.Errorf("the guide lacks a snippet of %q", kind)
		}
	}
}

// tryRego evaluates the operator's rules of the guide: agent-7 rests on Sundays.
func tryRego(t *testing.T, source string) {
	t.Helper()
	x, problems := odrl.NewExtra(t.Context(), "extra.rego", []byte(source), time.Second)
	if x == nil {
		t.Fatal(problems)
	}
	sunday := time.Date(2030, 6, 16, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		agent  string
		at     time.Time
		denied bool
	}{{"agent-7", sunday, true}, {"agent-7", sunday.AddDate(0, 0, 1), false}, {"agent-1", sunday, false}} {
		r := odrl.Request{AgentID: test.agent, Now: test.at, Facts: map[string]any{"recipient": test.agent}}
		denied, err := x.Denies(t.Context(), r, odrl.Decision{Permit: true})
		if err != nil || denied != test.denied {
			t.Errorf("%s on %s: %v, %v; want %v, nil", test.agent, test.at.Weekday(), denied, err, test.denied)
		}
	}
}

func (s snippet) check(t *testing.T, w odrl.World) {
	t.Helper()
	p, problems := odrl.Publish(t.Context(), []byte(s.policy(t)), w)
	if s.verdict == "refused" {
		refusals := slices.DeleteFunc(slices.Clone(problems), func(p problem.Problem) bool { return p.Level != problem.Error })
		if p != nil || len(refusals) == 0 || refusals[0].Code != s.code {
			t.Errorf("not refused as %s: %v", s.code, problems)
		}
		return
	}
	if p == nil {
		t.Fatal(problems)
	}
	var warned []string
	if s.verdict == "warns" {
		warned = []string{s.code}
	}
	if diff := cmp.Diff(warned, codes(problems)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if !permitsSomething(t, p) {
		t.Error("the policy permits no call")
	}
}

func permitsSomething(t *testing.T, p *odrl.Policy) bool {
	t.Helper()
	for hour := range 24 {
		for _, intent := range every {
			for agent, key := range map[string]string{"agent-1": "key-1", "partner-1": partnerKey} {
				d, err := p.Decide(t.Context(), odrl.Request{
					AgentID: agent, KeyID: key, AgentKey: agentKey, ProofKey: agentKey, Intent: intent, Now: noon(t).Add(time.Duration(hour) * time.Hour),
					Facts: map[string]any{"version": "v1", "recipient": agent, "purpose": "research", "spatial": "DE-BY"},
				})
				if err != nil {
					t.Fatal(err)
				}
				if d.Permit {
					return true
				}
			}
		}
	}
	return false
}

// The decisions in the tables of cases are correct, and the tables contain every example policy that can be decided without a gateway.
func TestCasesAreDecided(t *testing.T) {
	text, err := os.ReadFile("policies/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tryCases(t, "policies/cases.yaml", text)
	for name := range policies {
		forms := []string{"limit-each", "signed-calls", "uim-core", "reference-form"} // these use limits, keys or names that only the gateway has
		if !strings.Contains(string(text), "policy: "+name+".json") && !slices.Contains(forms, name) {
			t.Errorf("no case tests %s", name)
		}
	}
}

// tryCases runs the cases as uimgate policy test does.
func tryCases(t *testing.T, path string, text []byte) {
	t.Helper()
	table, problems := cases.Parse(path, text)
	if table == nil {
		t.Fatal(problems)
	}
	for _, c := range table.Run(t.Context(), os.ReadFile).Cases {
		if !c.Passed {
			t.Errorf("%s:%d: %s: %s %v", path, c.Line, c.Name, c.Error, c.Differences)
		}
	}
}

var targetRow = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| ([^|]+) \\|$")

// The ways to name intents that the guide lists, with the number of intents of the shop that each must contain.
func TestTargetsOfTheGuide(t *testing.T) {
	text, err := os.ReadFile("../docs/for-services/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	members := map[string]int{
		"all intents of the service": 3, "all intents of that namespace": 3, "all versions of that intent": 1,
		"that intent": 1, "the intent of that `intent_name`": 1,
	}
	w, seen := world(t, settings{}), 0
	for _, row := range targetRow.FindAllStringSubmatch(string(text), -1) {
		for target := range strings.SplitSeq(row[1], ", ") {
			want, ok := members[row[2]]
			if !ok {
				continue // another table
			}
			seen++
			document := snippet{is: "permission", body: `{"target":"` + strings.Trim(target, "`") + `","action":"execute"}`}.policy(t)
			p, problems := odrl.Publish(t.Context(), []byte(document), w)
			if len(problems) > 0 || p == nil {
				t.Errorf("%s: %v", target, problems)
				continue
			}
			got := 0
			for _, intent := range every {
				d, err := p.Decide(t.Context(), odrl.Request{AgentID: "agent-1", Intent: intent, Now: noon(t)})
				if err != nil {
					t.Fatal(err)
				}
				if d.Permit {
					got++
				}
			}
			if got != want {
				t.Errorf("%s matches %d intents, want %d", target, got, want)
			}
		}
	}
	if seen != len(members)+1 {
		t.Errorf("%d targets found, want %v", seen, len(members)+1)
	}
}
