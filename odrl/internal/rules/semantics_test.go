package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/uimgate/uimgate/odrl/internal/model"
)

// outcomeOf queries the modules without any Go code, as an operator can do with opa eval.
func outcomeOf(t *testing.T, leafJSON, factJSON string) (opens, binds bool) {
	t.Helper()
	var leaf any
	d := json.NewDecoder(strings.NewReader(leafJSON))
	d.UseNumber()
	if err := d.Decode(&leaf); err != nil {
		t.Fatal(err)
	}
	rule := func(n int) []any {
		return []any{map[string]any{"n": json.Number(fmt.Sprint(n)), "assignee": "*", "constraints": []any{"c0"}}}
	}
	e, err := newEngine(t.Context(), map[string]any{"policy": map[string]any{
		"permission": map[string]any{"t": rule(1)}, "binding": map[string]any{"t": rule(2)}, "leaves": map[string]any{"c0": leaf},
	}})
	if err != nil {
		t.Fatal(err)
	}
	in, err := ast.ValueFromReader(strings.NewReader(`{"targets":["t"],"parties":["*"],"facts":` + factJSON + `}`))
	if err != nil {
		t.Fatal(err)
	}
	o, err := Ask(t.Context(), &e.Outcome, in)
	if err != nil {
		t.Fatal(err)
	}
	active, err := NumbersIn(o, "active")
	if err != nil {
		t.Fatal(err)
	}
	return active[1], active[2]
}

func TestFactsOfWrongTypeNeverPermit(t *testing.T) {
	number := func(op string) string {
		return `{"slot":"x","type":"number","operator":"` + op + `","value":5,"from":3,"to":7}`
	}
	for _, op := range []string{"eq", "neq", "lt", "lteq", "gt", "gteq", "within", "outside"} {
		for _, fact := range []string{
			`{}`, `{"x":null}`, `{"x":5}`, `{"x":"5"}`, `{"x":["5"]}`, `{"x":[null]}`, `{"x":[[]]}`, `{"x":[{}]}`,
			`{"x":[true]}`, `{"x":[]}`, `{"x":[1,"a"]}`, `{"x":{"a":6}}`, `{"y":[6]}`,
		} {
			if opens, binds := outcomeOf(t, number(op), fact); opens || !binds {
				t.Errorf("%s of %s: opens %v, binds %v", op, fact, opens, binds)
			}
		}
	}
	for _, op := range []string{"eq", "neq", "isAnyOf", "isNoneOf", "isAllOf", "isPartOf", "hasPart", "unheard-of"} {
		value := `"a"`
		if strings.HasPrefix(op, "isA") && op != "isA" || op == "isNoneOf" || op == "hasPart" {
			value = `["a"]`
		}
		for _, kind := range []string{"text", "code", "unheard-of"} {
			for _, fact := range []string{
				`{}`, `{"x":null}`, `{"x":"a"}`, `{"x":[1]}`, `{"x":["a",1]}`, `{"x":[null]}`, `{"x":[]}`,
				`{"x":{"k":"a"}}`,
			} {
				if opens, binds := outcomeOf(t, `{"slot":"x","type":"`+kind+`","operator":"`+op+`","value":`+value+`}`, fact); opens || !binds {
					t.Errorf("%s %s of %s: opens %v, binds %v", kind, op, fact, opens, binds)
				}
			}
		}
	}
	for _, op := range []string{"shorter", "shorter-or-same", "longer", "longer-or-same", "eq", "neq", "lt"} {
		for _, fact := range []string{
			`{}`, `{"x":null}`, `{"x":[5]}`, `{"x":["P1D"]}`, `{"x":[[1,2,3]]}`, `{"x":[[1,2,3,"9"]]}`,
			`{"x":[["a","a","a","a"]]}`, `{"x":[[null,null,null,null]]}`, `{"x":[{"a":1}]}`, `{"x":[[[],[],[],[]]]}`,
		} {
			if opens, binds := outcomeOf(t, `{"slot":"x","type":"duration","operator":"`+op+`","value":[5,5,5,5]}`, fact); opens || !binds {
				t.Errorf("duration %s of %s: opens %v, binds %v", op, fact, opens, binds)
			}
		}
	}
	for _, op := range []string{"eq", "neq", "lt", "lteq", "gt", "gteq"} {
		for _, fact := range []string{
			`{}`, `{"x":null}`, `{"x":[5]}`, `{"x":["5"]}`, `{"x":[[]]}`, `{"x":[["a"]]}`, `{"x":[[1,"a"]]}`,
			`{"x":[[null]]}`, `{"x":[{}]}`, `{"x":[[1,1],[1,2]]}`,
		} {
			opens, binds := outcomeOf(t, `{"slot":"x","type":"ordered","operator":"`+op+`","value":[1,1,5]}`, fact)
			several := fact == `{"x":[[1,1],[1,2]]}` && (op == "eq" || op == "neq")
			if !several && (opens || !binds) {
				t.Errorf("ordered %s of %s: opens %v, binds %v", op, fact, opens, binds)
			}
		}
	}
	// Nanoseconds since the epoch do not fit float64; they must not be compared as such.
	for fact, want := range map[string]bool{"1781524800000000001": true, "1781524800000000000": false} {
		leaf := `{"slot":"x","type":"number","operator":"gt","value":1781524800000000000}`
		if opens, binds := outcomeOf(t, leaf, `{"x":[`+fact+`]}`); opens != want || binds != want {
			t.Errorf("%s: %v, %v; want %v, %v", fact, opens, binds, want, want)
		}
	}
}

func TestAllLevelsHaveTheSameRules(t *testing.T) {
	parts := strings.Split(Modules()["levels.rego"], "# --- level ")
	if len(parts) != model.MaxNesting+1 {
		t.Fatalf("%d levels, want %d", len(parts)-1, model.MaxNesting)
	}
	number := regexp.MustCompile(`(_|level == |^)([0-9])`)
	plain := func(level int, s string) string {
		return number.ReplaceAllStringFunc(strings.TrimSpace(s), func(m string) string {
			switch m[len(m)-1] {
			case byte('0' + level):
				return m[:len(m)-1] + "K"
			case byte('0' + level - 1):
				return m[:len(m)-1] + "J"
			default:
				return m
			}
		})
	}
	want := plain(1, parts[1])
	if !strings.Contains(want, "holds_J[operand]") || !strings.Contains(want, "node.level == K") {
		t.Fatal("level 1 was not found")
	}
	for i, part := range parts[2:] {
		if plain(i+2, part) != want {
			t.Errorf("level %d differs from level 1", i+2)
		}
	}
	for k := 1; k <= model.MaxNesting; k++ {
		if !strings.Contains(parts[0], fmt.Sprintf("holds_at(%d, id) if holds_%d[id]", k, k)) ||
			!strings.Contains(parts[0], fmt.Sprintf("fails_at(%d, id) if fails_%d[id]", k, k)) {
			t.Errorf("level %d is not used", k)
		}
	}
}

// Module leaves out the search for recursive rules.
func TestModulesAreNotRecursive(t *testing.T) {
	if _, err := compile(Modules()); err != nil {
		t.Error(err)
	}
	recursive := maps.Clone(Modules())
	recursive["recursive.rego"] = "package uimgate.odrl\n\nfirst if second\n\nsecond if first\n"
	if _, err := compile(recursive); err == nil || !strings.Contains(err.Error(), "recursive") {
		t.Errorf("got %v, want an error about recursive rules", err)
	}
}

func TestModuleUsesOnlyListedBuiltins(t *testing.T) {
	c, err := Module()
	if err != nil {
		t.Fatal(err)
	}
	caps := c.Capabilities()
	if len(caps.AllowNet) != 0 || caps.AllowNet == nil {
		t.Error("network access is allowed")
	}
	for _, b := range caps.Builtins {
		if b.Nondeterministic || !slices.Contains(builtins, b.Name) {
			t.Errorf("%s is allowed", b.Name)
		}
	}
	if len(caps.Builtins) != len(builtins) {
		t.Errorf("%d of %d built-ins exist", len(caps.Builtins), len(builtins))
	}
	used := strings.Join(slices.Collect(maps.Values(Modules())), "")
	for _, name := range []string{"http.send", "opa.runtime", "time.now_ns", "rand.", "net."} {
		if strings.Contains(used, name) {
			t.Errorf("the module uses %s", name)
		}
	}
}
