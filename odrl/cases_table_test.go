package odrl_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/yamlconf"
	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/cases"
)

const table = `# Calls of the shop.
policy: ../policies/rate-limit.json
defaults:
  request: {party: https://a.example/1, action: execute, context: {purpose: research, count: 0}}
  world:
    currentTime: "2030-06-15T12:00:00Z"
  duty_mode: notViolated
cases:
- name: a search
  request: {target: shop.example:search:v1, context: {purpose: ads}}
  expect:
    decision: permit
    code: null
    limits: [{max: 30, period_s: 60}]
    charges: []
- name: another policy
  policy: {uid: https://shop.example/policy/2, permission: [{action: use}]}
  lenient: true
  duty_mode: fulfilled
  world: {currentTime: "2031-01-01T00:00:00Z", partOf: [{member: a, collection: b}]}
  expect: {decision: deny, rule: /permission/0}
`

func TestParse(t *testing.T) {
	f, problems := cases.Parse("/some/where/cases.yaml", []byte(table))
	if len(problems) > 0 || len(f.Cases) != 2 {
		t.Fatal(problems)
	}
	first, second := f.Cases[0], f.Cases[1]
	if first.File != "/some/policies/rate-limit.json" || first.Policy.Set || first.Line != 9 || first.DutyMode != odrl.DutiesNotViolated ||
		first.Lenient {
		t.Errorf("got %+v", first)
	}
	if second.File != "" || second.Line != 16 || second.DutyMode != odrl.DutiesFulfilled || !second.Lenient {
		t.Errorf("got %+v", second)
	}
	if first.Lines["limits"] != 14 || first.Lines["duties"] != 11 || second.Lines["rule"] != 21 {
		t.Errorf("got %v %v", first.Lines, second.Lines)
	}
	for _, test := range []struct {
		name string
		got  any
		want string
	}{
		{
			"the request of the first", first.Request.Value,
			`{"action":"execute","context":{"count":0,"purpose":"ads"},"party":"https://a.example/1","target":"shop.example:search:v1"}`,
		},
		{"the world of the first", first.World.Value, `{"currentTime":"2030-06-15T12:00:00Z"}`},
		{
			"the expectation of the first", first.Expect.Wanted(),
			`{"charges":[],"code":null,"decision":"permit","limits":[{"max":30,"period_s":60}]}`,
		},
		{"the policy of the second", second.Policy.Value, `{"permission":[{"action":"use"}],"uid":"https://shop.example/policy/2"}`},
		{
			"the request of the second", second.Request.Value,
			`{"action":"execute","context":{"count":0,"purpose":"research"},"party":"https://a.example/1"}`,
		},
		{"the world of the second", second.World.Value, `{"currentTime":"2031-01-01T00:00:00Z","partOf":[{"collection":"b","member":"a"}]}`},
		{"the expectation of the second", second.Expect.Wanted(), `{"decision":"deny","rule":"/permission/0"}`},
	} {
		got, err := json.Marshal(test.got)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestParseReportsWhatIsWrong(t *testing.T) {
	const one = "cases:\n- name: a\n  policy: p.json\n"
	for file, want := range map[string][]string{
		"":                                    {"cases.yaml:1: cases: is required: the list of cases"},
		"cases: []\n":                         {"cases.yaml:1: cases: the table has no cases"},
		"- a\n":                               {"cases.yaml:1: want keys and values, got a list"},
		one:                                   {"cases.yaml:2: cases[0].expect: is required: the expected result"},
		one + "  expect: {decision: maybe}\n": {`cases.yaml:4: cases[0].expect.decision: "maybe" is not valid: want permit or deny`},
		one + "  expect: {code: X}\n":         {"cases.yaml:4: cases[0].expect.decision: is required: permit or deny"},
		one + "  expect: {decision: deny, limts: []}\n":                   {`cases.yaml:4: cases[0].expect: unknown key "limts": did you mean "limits"?`},
		one + "  expect: {decision: deny, limits: [{maximum: 3}]}\n":      {`cases.yaml:4: cases[0].expect.limits[0]: unknown key "maximum": known keys are max, period_s, calendar, key`},
		one + "  expect: {decision: deny}\n  decision: deny\n":            {`cases.yaml:5: cases[0]: unknown key "decision": it belongs under cases[].expect`},
		one + "  expect: {decision: deny}\n  request: [1]\n":              {"cases.yaml:5: cases[0].request: want keys and values"},
		one + "  expect: {decision: deny}\n  request: {a: 0x10}\n":        {`cases.yaml:5: cases[0].request.a: "0x10" is not a valid JSON number: write it in full, or in quotes`},
		one + "  expect: {decision: deny}\n  request: {a: 1, a: 2}\n":     {"cases.yaml:5: cases[0].request: duplicate key: it is already on line 5"},
		one + "  expect: {decision: deny}\n  request: {a: *b}\n":          {"cases.yaml:5: cases[0].request.a: the alias *b has no anchor before it"},
		one + "  expect: {decision: deny}\n  duty_mode: never\n":          {`cases.yaml:5: cases[0].duty_mode: "never" is not valid: want fulfilled or notViolated`},
		one + "  expect: {decision: deny}\ndefaults: {world: now}\n":      {"cases.yaml:5: defaults.world: want keys and values"},
		"cases:\n- name: a\n  expect: {decision: deny}\n":                 {"cases.yaml:2: cases[0]: has no policy, and the file has none for all cases"},
		"policy: 5\ncases:\n- name: a\n  expect: {decision: deny}\n":      {"cases.yaml:1: policy: want the path of a policy, or the policy itself"},
		"policy: p.json\ncases:\n- expect: {decision: deny}\n":            {"cases.yaml:3: cases[0].name: is required: what the case tests, in a few words"},
		"policy: p.json\ncases:\n- name: a\n  expect: {decision: deny\n":  {"cases.yaml:4: "},
		"policy: p.json\n---\ncases:\n- name: a\n  expect: {decision: x}": {"cases.yaml:3: a second YAML document"},
	} {
		f, problems := cases.Parse("cases.yaml", []byte(file))
		if f != nil || len(problems) != len(want) {
			t.Errorf("%q: %v, %v", file, f != nil, problems)
			continue
		}
		for i, p := range problems {
			if !strings.HasPrefix(p.String(), want[i]) {
				t.Errorf("%q:\n got %s\nwant %s", file, p, want[i])
			}
		}
	}
	if _, problems := cases.Load(filepath.Join(t.TempDir(), "none.yaml")); !problems.Failed() {
		t.Error("reading a missing file succeeded")
	}
}

// A document whose aliases expand exponentially is rejected.
func TestParseBoundsAliases(t *testing.T) {
	bomb := "policy: p.json\ndefaults:\n  world:\n    a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n"
	for i := range 9 {
		bomb += "    a" + string(rune('1'+i)) + ": &a" + string(rune('1'+i)) + " [" +
			strings.TrimSuffix(strings.Repeat("*a"+string(rune('0'+i))+",", 10), ",") + "]\n"
	}
	f, problems := cases.Parse("cases.yaml", []byte(bomb+"cases:\n- name: a\n  expect: {decision: deny}\n"))
	if f != nil || !strings.Contains(problems[0].Message, "too many values") {
		t.Error(problems)
	}
}

// For any file, Parse returns either a table or an error. Every case has a policy, and its request is JSON.
func FuzzParse(f *testing.F) {
	f.Add([]byte(table))
	f.Add([]byte("policy: p\ncases: [{name: a, expect: {decision: deny, rule: null}, request: &r {a: [1, 2.5e3, yes, true, null, ~]}}, {name: b, request: *r, expect: {decision: permit}}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, problems := cases.Parse("cases.yaml", data)
		if (file == nil) != problems.Failed() {
			t.Fatalf("%v with %v", file != nil, problems)
		}
		if file == nil {
			return
		}
		for _, c := range file.Cases {
			if (c.File == "") == !c.Policy.Set || c.Line < 1 || c.Expect.Wanted()["decision"] == "" {
				t.Fatalf("got %+v", c)
			}
			for _, tree := range []yamlconf.Tree{c.Request, c.World, c.Policy} {
				if _, err := json.Marshal(tree.Value); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
