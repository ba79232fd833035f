package odrl

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uimgate/uimgate/odrl/internal/plan"
)

// manyConditions returns a policy with ConditionedRules rules, each with different constraints.
func manyConditions(t *testing.T) *Policy {
	t.Helper()
	list := make([]string, ConditionedRules)
	for i := range list {
		list[i] = `{` + everyCall + `,"constraint":[` + purposeIs(strings.Repeat("a", i+1)) + `,` +
			`{"leftOperand":"dateTime","operator":"lt","rightOperand":"2030-01-01"}]}`
	}
	return published(t, `"permission":[`+strings.Join(list, ",")+`]`)
}

// Publish makes a plan even if other goroutines use all processor time.
func TestPublishIsIndependentOfLoad(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var stop atomic.Bool
	var busy sync.WaitGroup
	defer busy.Wait()
	defer stop.Store(true)
	for range 2 {
		busy.Go(func() {
			for n := 0; !stop.Load(); n++ {
			}
		})
	}
	p := manyConditions(t)
	if engine, why := p.Engine(); engine != EnginePlan {
		t.Errorf("under load the policy has no plan: %s", why)
	}
}

// The package reads a clock only for the operator's own rules, which have a time limit, so verdicts do not depend on speed.
func TestPackageReadsNoClock(t *testing.T) {
	clocks := regexp.MustCompile(`context\.With(Timeout|Deadline)|time\.(Now|Since|Until|After)\b`)
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || name == "extra.go" {
			return err
		}
		text, err := os.ReadFile(name)
		if found := clocks.Find(text); found != nil {
			t.Errorf("%s reads a clock: %s; want nil", name, found)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Compile makes a plan only if the bound on steps is large enough. With one step too few, the error names the exceeded bound.
func TestPlanStepsAreBounded(t *testing.T) {
	p := published(t, `"permission":[{`+everyCall+`,"constraint":[`+purposeIs("a")+`]}]`)
	compile := func(most plan.Bounds) string {
		made, _, err := plan.Compile(t.Context(), p.program, p.inputs, most)
		if (made == nil) != (err != nil) {
			t.Fatal(made, err)
		}
		if err == nil {
			return ""
		}
		return err.Error()
	}
	least := func(within func(n int) plan.Bounds) int {
		low, high := 0, 64
		for compile(within(high)) != "" {
			low, high = high+1, 2*high
		}
		for low < high {
			if n := (low + high) / 2; compile(within(n)) == "" {
				high = n
			} else {
				low = n + 1
			}
		}
		return low
	}
	partial := func(n int) plan.Bounds { return plan.Bounds{Partial: n, Compared: plan.UsualBounds.Compared} }
	compared := func(n int) plan.Bounds { return plan.Bounds{Partial: plan.UsualBounds.Partial, Compared: n} }
	for name, within := range map[string]func(int) plan.Bounds{"partial evaluation": partial, "comparing": compared} {
		n := least(within)
		for _, value := range []string{"b", "c", "d"} { // the number is the same for each equally large policy
			p = published(t, `"permission":[{`+everyCall+`,"constraint":[`+purposeIs(value)+`]}]`)
			if why := compile(within(n)); why != "" {
				t.Errorf("%s with %d steps: %s, want an empty string", name, n, why)
			}
			if why := compile(within(n - 1)); !strings.Contains(why, name) || !strings.Contains(why, "steps") {
				t.Errorf("%s with one step too few: %q", name, why)
			}
		}
	}
}
