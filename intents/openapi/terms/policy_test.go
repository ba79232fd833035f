package terms_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/intents/openapi/terms"
	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
)

const policy = `{"uid": "https://a.example/policy/1",
  "permission": [
    { "target": ["a:x:v1", "a:y:v1"],   "action": "execute", "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 10, "unit": "hour"}]},
    {"target": "a:z:v1", "action": "execute",  "uid": "https://a.example/policy/1#init-1",
     "constraint": {"leftOperand": "http://example.com/vocab/rateLimit", "operator": "lteq", "rightOperand": 5, "unit": "hour"},
     "duty": [{"action": "logUsage"}, {"action": "pay", "amount": "1", "unit": "EUR"}]}
  ],
  "prohibition": [{"target": "a:x:v1", "action": "exceedRateLimit"}],
  "note": [1,  2]
}
`

var (
	hourly = limit.Rate{Max: 7, Period: limit.Hour}
	cents  = money.Amount{Nano: money.Unit / 2, Currency: "EUR"}
)

func edited(t *testing.T, change func(*terms.Policy)) string {
	t.Helper()
	p, err := terms.Read([]byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	change(p)
	out, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestChangesKeepOtherBytes(t *testing.T) {
	set := func(p *terms.Policy, price money.Amount, intents ...string) {
		t.Helper()
		if kept := p.Set(intents, price, hourly); kept != nil {
			t.Errorf("%v keep their terms", kept)
		}
	}
	const x = `"constraint":[{"leftOperand":"rateLimit","operator":"lteq","rightOperand":`
	for name, tt := range map[string]struct {
		change func(*terms.Policy)
		want   []string // old and new texts, in pairs
	}{
		"nothing": {func(*terms.Policy) {}, nil},
		"the next version": {func(p *terms.Policy) { p.Extend("a:x:v2", "a:x:v1") }, []string{
			`{ "target": ["a:x:v1", "a:y:v1"],   "action": "execute", "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 10, "unit": "hour"}]}`,
			`{"action":"execute",` + x + `10,"unit":"hour"}],"target":["a:x:v1","a:y:v1","a:x:v2"]}`,
			`[{"target": "a:x:v1", "action": "exceedRateLimit"}]`,
			"[\n    " + `{"action":"exceedRateLimit","target":["a:x:v1","a:x:v2"]}` + "\n  ]",
		}},
		"one of two targets": {func(p *terms.Policy) { set(p, cents, "a:y:v1") }, []string{
			`{ "target": ["a:x:v1", "a:y:v1"],   "action": "execute", "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 10, "unit": "hour"}]}`,
			`{"action":"execute",` + x + `10,"unit":"hour"}],"target":["a:x:v1"]}`,
			`"unit": "EUR"}]}` + "\n  ]", `"unit": "EUR"}]},` + "\n    " + `{"action":"execute",` + x + `7,"unit":"hour"}],"duty":[{"action":"pay","amount":"0.50",` +
				`"target":"http://example.com/vocab/intentPrice","unit":"http://example.com/vocab/EUR"}],"target":["a:y:v1"],` +
				`"uid":"https://a.example/policy/1#init-2"}` + "\n  ]",
		}},
		"all targets of a rule": {func(p *terms.Policy) { set(p, money.Amount{}, "a:x:v1", "a:y:v1") }, []string{
			`{ "target": ["a:x:v1", "a:y:v1"],   "action": "execute", "constraint": [{"leftOperand": "rateLimit", "operator": "lteq", "rightOperand": 10, "unit": "hour"}]}`,
			`{"action":"execute",` + x + `7,"unit":"hour"}],"target":["a:x:v1","a:y:v1"]}`,
		}},
		"no more price": {func(p *terms.Policy) { set(p, money.Amount{}, "a:z:v1") }, []string{
			policy[strings.Index(policy, `{"target": "a:z:v1"`):strings.Index(policy, "\n  ],")],
			`{"action":"execute","constraint":[{"leftOperand":"http://example.com/vocab/rateLimit","operator":"lteq","rightOperand":7,"unit":"hour"}],` +
				`"duty":[{"action":"logUsage"}],"target":"a:z:v1","uid":"https://a.example/policy/1#init-1"}`,
		}},
		"a new permission": {func(p *terms.Policy) { p.Permit(map[string]any{"action": "execute"}, []string{"a:n:v1"}) }, []string{
			`"unit": "EUR"}]}` + "\n  ]", `"unit": "EUR"}]},` + "\n    " +
				`{"action":"execute","target":["a:n:v1"],"uid":"https://a.example/policy/1#init-2"}` + "\n  ]",
		}},
	} {
		if diff := cmp.Diff(strings.NewReplacer(tt.want...).Replace(policy), edited(t, tt.change)); diff != "" {
			t.Errorf("%s: differs (-want +got):\n%s", name, diff)
		}
	}
}

func TestOtherFormsAreNotChanged(t *testing.T) {
	for text, intent := range map[string]string{
		`{"permission": [{"target": "a:x:v1"}, {"target": "a:x:v1"}]}`:                                                    "a:x:v1",
		`{"permission": [{"target": "a:x:v1"}]}`:                                                                          "a:x:v1",
		`{"permission": [{"target": "https://a.example/api/intents"}]}`:                                                   "a:x:v1",
		`{"permission": {"target": "a:x:v1", "constraint": {"and": []}}}`:                                                 "a:x:v1",
		`{"permission": {"target": {"@id": "a:x:v1"}, "constraint": {"leftOperand": "rateLimit"}}}`:                       "a:x:v1",
		`{"permission": {"target": "a:x:v1", "duty": "x", "constraint": {"leftOperand": "rateLimit"}}}`:                   "a:x:v1",
		`{"permission": {"target": "a:x:v1", "duty": [{"action": "pay"}], "constraint": [{"leftOperand": "rateLimit"}]}}`: "a:x:v1",
	} {
		p, err := terms.Read([]byte(text))
		if err != nil {
			t.Errorf("%s: %v, want no error", text, err)
			continue
		}
		if kept := p.Set([]string{intent}, cents, hourly); !slices.Equal(kept, []string{intent}) {
			t.Errorf("%s: %v keep their terms, want %s", text, kept, intent)
		}
		if out, err := p.Bytes(); err != nil || string(out) != text {
			t.Errorf("%s: became %s, %v", text, out, err)
		}
	}
	for _, text := range []string{"", "[]", "{", `{"permission": 5}`, `{"permission": [5]}`, `{"permission": [`} {
		if _, err := terms.Read([]byte(text)); !errors.Is(err, terms.ErrForm) {
			t.Errorf("%s: %v, want %v", text, err, terms.ErrForm)
		}
	}
}
