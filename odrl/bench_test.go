package odrl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
)

// A decisionCase is a policy and a request that it permits.
type decisionCase struct {
	document string
	world    odrl.World
	request  odrl.Request
}

func exampleCase(tb testing.TB) decisionCase {
	tb.Helper()
	key := []byte("agent key")
	return decisionCase{string(file(tb, "uim-core.json")), world(), odrl.Request{
		AgentID: "agent-1", AgentKey: key, ProofKey: key,
		Intent: search.UID, Now: noon,
	}}
}

// hundredRules returns a policy of 100 permissions and prohibitions with several kinds of constraints.
func hundredRules() decisionCase {
	var permissions, prohibitions []string
	for i := range 60 {
		permissions = append(permissions,
			fmt.Sprintf(`{"target":"http://example.com/api/intents","action":"execute","constraint":[%s,%s,{"leftOperand":"count","operator":"lteq","rightOperand":%d,"unit":"day"}],"duty":{"action":"pay","amount":"0.%02d","unit":"EUR"}}`,
				leaf("purpose", "isAnyOf", list{fmt.Sprint("a", i%7), "b", "c"}), leaf("dateTime", "lt",
					fmt.Sprintf("20%d-01-01", 20+i%30)), i+1, i%50+1))
	}
	for i := range 40 {
		prohibitions = append(prohibitions, fmt.Sprintf(`{"target":"http://example.com/api/intents","action":"execute","constraint":[%s,%s]}`,
			leaf("spatial", "isPartOf", []string{"US", "DE", "FR", "JP"}[i%4]), leaf("purpose", "eq", fmt.Sprint("x", i))))
	}
	return decisionCase{
		policy(`"conflict":"prohibit"`, `"permission":[`+strings.Join(permissions, ",")+`]`,
			`"prohibition":[`+strings.Join(prohibitions, ",")+`]`), world(),
		odrl.Request{AgentID: "agent-1", Intent: search.UID, Now: noon, Facts: map[string]any{"purpose": "b", "spatial": "GB"}},
	}
}

// windows returns a policy of 262 time windows, where only the last contains the time of the request: as one permission or as one for each
// window.
func windows(one bool) decisionCase {
	var list []string
	for i := range 262 {
		at := 262 - i
		window := fmt.Sprintf(`{"leftOperand":"timeWindow","operator":"within","rightOperand":{"start":"%02d:%02d:00Z","end":"%02d:%02d:30Z"}}`, (12+at/60)%24, at%60, (12+at/60)%24, at%60)
		if i == 261 {
			window = `{"leftOperand":"timeWindow","operator":"within","rightOperand":{"start":"11:00:00Z","end":"13:00:00Z"}}`
		}
		if !one {
			window = `{"target":"http://example.com/api/intents","action":"execute","constraint":` + window + `}`
		}
		list = append(list, window)
	}
	all := strings.Join(list, ",")
	if one {
		all = `{"target":"http://example.com/api/intents","action":"execute","constraint":{"or":[` + all + `]}}`
	}
	return decisionCase{policy(`"permission":[` + all + `]`), world(), odrl.Request{AgentID: "agent-1", Intent: search.UID, Now: noon}}
}

func BenchmarkDecide(b *testing.B) {
	for name, c := range map[string]decisionCase{
		"example": exampleCase(b), "100 rules": hundredRules(), "262 windows": windows(false),
		"262 windows in one rule": windows(true),
	} {
		b.Run(name, func(b *testing.B) {
			p := publish(b, []byte(c.document), c.world)
			if engine, why := p.Engine(); engine != odrl.EnginePlan {
				b.Fatal(why)
			}
			if d := decide(b, p, c.request); !d.Permit {
				b.Fatalf("got %+v", d)
			}
			b.ReportAllocs()
			for b.Loop() {
				if d, err := p.Decide(b.Context(), c.request); err != nil || !d.Permit {
					b.Fatal(d, err)
				}
			}
		})
	}
}

// BenchmarkPlan measures the plan alone; Decide also collects the facts for the audit record.
func BenchmarkPlan(b *testing.B) {
	for name, c := range map[string]decisionCase{"example": exampleCase(b), "100 rules": hundredRules(), "262 windows": windows(false)} {
		b.Run(name, func(b *testing.B) {
			p := publish(b, []byte(c.document), c.world)
			b.ReportAllocs()
			for b.Loop() {
				if !p.Planned(&c.request) {
					b.Fatal("not planned")
				}
			}
		})
	}
}

// BenchmarkPublish measures a reload: the plan of each policy was compared with OPA before.
func BenchmarkPublish(b *testing.B) {
	for name, c := range map[string]decisionCase{
		"example": exampleCase(b), "100 rules": hundredRules(), "262 windows": windows(false),
		"262 windows in one rule": windows(true),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if p, problems := odrl.Publish(b.Context(), []byte(c.document), c.world); p == nil {
					b.Fatal(problems)
				}
			}
		})
	}
}
