package odrl

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/plan"

	opa "github.com/open-policy-agent/opa/v1/ast"
)

func published(t *testing.T, rules string) *Policy {
	t.Helper()
	doc := `{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p","profile":"http://example.com/profile/odrl-uim",` + rules + `}`
	p, problems := Publish(t.Context(), []byte(doc), differentialWorld())
	if p == nil {
		t.Fatal(problems)
	}
	return p
}

const everyCall = `"target":"http://example.com/api/intents","action":"execute"`

func purposeIs(value string) string {
	b, _ := json.Marshal(map[string]any{"leftOperand": "purpose", "operator": "eq", "rightOperand": value})
	return string(b)
}

func call(facts map[string]any) Request {
	return Request{AgentID: "agent-1", Intent: "example.com:search:v1", Now: time.Date(2026, 6, 15, 12, 0, 0, 0, time.UTC), Facts: facts}
}

// Without a plan OPA returns the same decision, and the decision has OPA as its engine.
func TestOPADecidesWithoutAPlan(t *testing.T) {
	p := published(t, `"permission":{`+everyCall+`,"constraint":[`+purposeIs("a")+`]}`)
	with, err := p.Decide(t.Context(), call(map[string]any{"purpose": "a"}))
	if err != nil || !with.Permit || with.Engine != EnginePlan {
		t.Fatalf("got %+v %v", with, err)
	}
	p.plan, p.unplanned = nil, plan.Unplanned("for the test")
	without, err := p.Decide(t.Context(), call(map[string]any{"purpose": "a"}))
	if err != nil || without.Engine != EngineOPA {
		t.Fatalf("got %+v %v; want no error and Engine %v", without, err, EngineOPA)
	}
	without.Engine = EnginePlan
	if a, b := fmt.Sprintf("%+v", with), fmt.Sprintf("%+v", without); a != b {
		t.Errorf("plan %s\nOPA  %s", a, b)
	}
	if engine, reason := p.Engine(); engine != EngineOPA || !strings.Contains(reason, "for the test") {
		t.Errorf("got %v, %q; want %v, a text that contains %q", engine, reason, EngineOPA, "for the test")
	}
}

func TestCancelledPlanStaysWithOPA(t *testing.T) {
	p := published(t, `"permission":{`+everyCall+`}`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.program.Leaves = nil
	p.plan, p.residual, p.unplanned = plan.Compile(ctx, p.program, p.inputs, plan.UsualBounds)
	if p.plan != nil || p.unplanned == nil {
		t.Error("the policy has a plan that was not compared with OPA")
	}
	if d, err := p.Decide(t.Context(), call(nil)); err != nil || !d.Permit {
		t.Errorf("got %+v %v", d, err)
	}
}

// Cached decisions depend on the reasons as well as on the rules: denials for different reasons are different entries.
func TestDecisionsAreCachedByReasonsToo(t *testing.T) {
	p := published(t, `"permission":[{"uid":"http://r/a",`+everyCall+`,"constraint":[`+purposeIs("a")+`,{"leftOperand":"industry","operator":"eq","rightOperand":"x"}]},{"uid":"http://r/b",`+everyCall+`,"constraint":[`+purposeIs("b")+`,{"leftOperand":"industry","operator":"eq","rightOperand":"y"}]}]`)
	for range 3 {
		for purpose, want := range map[string]string{"a": "http://r/a", "b": "http://r/b"} {
			d, err := p.Decide(t.Context(), call(map[string]any{"purpose": purpose}))
			if err != nil || d.Permit || d.Rule != want || d.Engine != EnginePlan || d.Facts["purpose"] != purpose {
				t.Errorf("%s: %+v %v", purpose, d, err)
			}
		}
		if d, err := p.Decide(t.Context(), call(map[string]any{"purpose": "b", "industry": "y"})); err != nil || !d.Permit {
			t.Errorf("got %+v %v", d, err)
		}
	}
}

func TestDecisionCacheIsBounded(t *testing.T) {
	var d decisions
	for i := range 5 * maxDecisions {
		d.put([]byte(strconv.Itoa(i)), memoEntry{decision: &Decision{Rule: strconv.Itoa(i)}})
		if r, ok := d.get([]byte(strconv.Itoa(i))); !ok || r.decision.Rule != strconv.Itoa(i) {
			t.Fatalf("%d is forgotten", i)
		}
		if n := len(*d.known.Load()); n > maxDecisions {
			t.Fatalf("%d are remembered", n)
		}
	}
}

func TestDecideDoesNotAllocate(t *testing.T) {
	doc, err := os.ReadFile("testdata/uim-core.json")
	if err != nil {
		t.Fatal(err)
	}
	p, problems := Publish(t.Context(), doc, World{Hosts: []string{"example.com"}, AnyAssignee: true, Intents: differentialWorld().Intents})
	if p == nil {
		t.Fatal(problems)
	}
	if Raced {
		t.Skip("the race detector drops pooled objects")
	}
	r := call(nil)
	r.AgentKey, r.ProofKey = []byte("key"), []byte("key")
	if n := testing.AllocsPerRun(100, func() {
		if d, err := p.Decide(t.Context(), r); err != nil || !d.Permit || d.Engine != EnginePlan {
			t.Fatalf("got %+v %v", d, err)
		}
	}); n >= 1 {
		t.Errorf("%v allocations, want less than 1", n)
	}
}

// Texts of a policy become values in the data and constants in the residual, whatever they contain.
func TestPolicyTextNeverBecomesRego(t *testing.T) {
	for _, text := range []string{
		`a"; true #`, "a\nactive contains 1 if true\n", `data.partial.uimgate.odrl.active`, `input.facts`, "`",
		`\u0022 true`, `${x}`, `{{.}}`, "x} y {",
	} {
		p := published(t, `"permission":{`+everyCall+`,"constraint":[`+purposeIs(text)+`]}`)
		if p.plan == nil {
			t.Fatal(p.Engine())
		}
		plain := published(t, `"permission":{`+everyCall+`,"constraint":[`+purposeIs("plain")+`]}`)
		shape := func(p *Policy, text string) string {
			quoted := opa.String(text).String()
			return strings.ReplaceAll(string(p.residualText()), quoted, "TEXT")
		}
		if a, b := shape(p, text), shape(plain, "plain"); a != b && model.LeftOperand("purpose").TextForm(text) == model.Words {
			t.Errorf("%q changes the residual:\n%s\nwant\n%s", text, a, b)
		}
		for purpose, want := range map[string]bool{text: true, "plain": false} {
			if d, err := p.Decide(t.Context(), call(map[string]any{"purpose": purpose})); err != nil || d.Permit != want {
				t.Errorf("%q under %q: %+v %v", purpose, text, d, err)
			}
		}
	}
}

// Rego text enters OPA in three places: the modules of this package, the constant queries and the operator's file.
func TestRegoTextIsConstant(t *testing.T) {
	var files []string
	for _, folder := range []string{".", "internal/model", "internal/rules", "internal/plan", "words"} {
		list, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(list) == 0 {
			t.Fatal(folder, list, err)
		}
		files = append(files, list...)
	}
	takes := map[string]int{
		"ParseModuleWithOpts": 1, "ParseModule": 1, "ParseBody": 0, "MustParseBody": 0,
		"MustParseTerm": 0, "MustParseRef": 0, "ParseTerm": 0, "ParseRef": 0, "Query": 0, "Module": 1, "ParseStatements": 1,
	}
	allowed := map[string]string{
		"internal/rules/engine.go text": "embedded modules", "extra.go string(source)": "the operator's file",
		`internal/rules/engine.go "data.uimgate.odrl."+query`: "names of this file",
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := c.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			at, ok := takes[s.Sel.Name]
			x, isPackage := s.X.(*ast.Ident)
			if !ok || !isPackage || x.Name != "rego" && x.Name != "ast" || at >= len(c.Args) {
				return true
			}
			found++
			arg := c.Args[at]
			text := string(source[set.Position(arg.Pos()).Offset:set.Position(arg.End()).Offset])
			_, literal := arg.(*ast.BasicLit)
			ident, isIdent := arg.(*ast.Ident)
			constant := literal || isIdent && (ident.Name == "residualQuery" || ident.Name == "ExtraRule")
			if !constant && allowed[name+" "+text] == "" {
				t.Errorf("%s: Rego is built from %s", set.Position(arg.Pos()), text)
			}
			return true
		})
	}
	if found < 5 {
		t.Errorf("only %d places found, want at least 5", found)
	}
}

// BenchmarkFallback decides the example with the prepared query, as for a policy without a plan.
func BenchmarkFallback(b *testing.B) {
	doc, err := os.ReadFile("testdata/uim-core.json")
	if err != nil {
		b.Fatal(err)
	}
	p, problems := Publish(b.Context(), doc, World{Hosts: []string{"example.com"}, AnyAssignee: true, Intents: differentialWorld().Intents})
	if p == nil {
		b.Fatal(problems)
	}
	p.plan = nil
	r := call(nil)
	r.AgentKey, r.ProofKey = []byte("key"), []byte("key")
	b.ReportAllocs()
	for b.Loop() {
		if d, err := p.Decide(b.Context(), r); err != nil || !d.Permit || d.Engine != EngineOPA {
			b.Fatal(d, err)
		}
	}
}
