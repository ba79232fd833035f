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

// Comparing many permissions with as many prohibitions costs little for each pair: facts that meet both are looked for
// only where there would be something to tell of them, and so often at most.
func TestComparingManyRulesIsCounted(t *testing.T) {
	const rulesOfAKind, most = 600, 200 << 20 // bytes; each pair was searched: 330 MB, and 1 GB of 1,000 rules
	list := func(purpose string) string {
		all := make([]string, rulesOfAKind)
		for i := range all {
			all[i] = fmt.Sprintf(`{"target":"https://example.com/api/intents","action":"execute","constraint":
				{"leftOperand":"purpose","operator":"eq","rightOperand":"%s%d"}}`, purpose, i)
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
			if took > most {
				t.Errorf("%s, %s: %d MiB", name, conflict, took>>20)
			}
			if got := find(found.List, "unchecked") != nil; got != unchecked || find(found.List, "conflict") != nil {
				t.Errorf("%s, %s: unchecked %t, want %t: %v", name, conflict, got, unchecked, found.List)
			}
		}
	}
}
