package odrl_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/odrl"
	"github.com/uimgate/uimgate/odrl/internal/model"
	"github.com/uimgate/uimgate/odrl/internal/rules"
)

// Comparing many permissions with as many prohibitions is cheap for each pair: the validator searches for facts that match both only if it
// would report them, and a bounded number of times.
func TestComparingManyRulesIsCheap(t *testing.T) {
	list := func(purpose string) string {
		all := make([]string, odrl.ComparedRules)
		for i := range all {
			constraints := []string{one("purpose", "eq", fmt.Sprintf(`"%s%d"`, purpose, i))}
			for j := range odrl.ComparedConstraints - 1 {
				constraints = append(constraints, one("media", "neq", fmt.Sprintf(`"%s%d"`, purpose, j)))
			}
			all[i] = `{"target":"https://example.com/api/intents","action":"execute","constraint":[` + strings.Join(constraints, ",") + `]}`
		}
		return strings.Join(all, ",")
	}
	for conflict, unchecked := range map[string]bool{"prohibit": false, "perm": false, "invalid": true} {
		doc := []byte(`{"@context":"http://www.w3.org/ns/odrl.jsonld","uid":"http://example.com/p","conflict":"` + conflict + `",
			"permission":[` + list("p") + `],"prohibition":[` + list("q") + `]}`)
		for name, work := range map[string]func() model.Findings{
			"validate": func() (found model.Findings) {
				found.List = odrl.Validate(t.Context(), doc, odrl.ValidateOptions{})
				return found
			},
			"compile": func() (found model.Findings) {
				if rules.Compile(t.Context(), model.DecodeTree(doc, &found).(map[string]any), world(), &found) == nil {
					t.Error(found.List)
				}
				return found
			},
		} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			found := work()
			runtime.ReadMemStats(&after)
			took := after.TotalAlloc - before.TotalAlloc
			t.Logf("%s, %s: %d MiB", name, conflict, took>>20)
			if took > odrl.ComparedBytes {
				t.Errorf("%s, %s: %d MiB", name, conflict, took>>20)
			}
			if got := find(found.List, "unchecked") != nil; got != unchecked || find(found.List, "conflict") != nil {
				t.Errorf("%s, %s: unchecked %t, want %t: %v", name, conflict, got, unchecked, found.List)
			}
		}
	}
}
