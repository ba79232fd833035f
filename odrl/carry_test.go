package odrl_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/odrl"
)

// under returns a permission for a target under plans, with a limit a day and further constraints.
func under(target, plans string, most int, more ...string) string {
	constraints := append([]string{
		fmt.Sprintf(`{"leftOperand":"count","operator":"lteq","rightOperand":%d,"unit":"day"}`, most),
	}, more...)
	if plans != "" {
		constraints = append(constraints,
			`{"leftOperand":"uim:plan","operator":"isAnyOf","rightOperand":["`+strings.ReplaceAll(plans, "|", `","`)+`"]}`)
	}
	return fmt.Sprintf(`{"target":%q,"action":"execute","constraint":[%s]}`, target, strings.Join(constraints, ","))
}

// exhaust calls an intent under a plan until the policy permits no further call, and returns how many calls it permitted. used counts the
// calls in each counter.
func exhaust(t *testing.T, p *odrl.Policy, intent, plan string, used map[string]int64) (calls int64) {
	t.Helper()
	d := decide(t, p, odrl.Request{AgentID: "agent-1", Intent: intent, Now: noon, Facts: map[string]any{odrl.Plan: plan}})
	full := func(l limit.Limit) bool { return used[l.ID] >= l.Max }
	for _, c := range d.Candidates {
		for ; !slices.ContainsFunc(c.Limits, full); calls++ {
			for _, l := range slices.Concat(c.Limits, c.Carried) {
				used[l.ID]++
			}
		}
	}
	return calls
}

// An agent that changes its plan within a window is never permitted more calls than under the plan that permits most.
func TestAChangeOfThePlanPermitsNoMoreCalls(t *testing.T) {
	const (
		since   = `{"leftOperand":"dateTime","operator":"gt","rightOperand":"2020-01-01"}`
		before  = `{"leftOperand":"dateTime","operator":"lt","rightOperand":"2090-01-01"}`
		service = "http://example.com/api/intents"
	)
	one := search.UID
	for name, permissions := range map[string][]string{
		"the same limit":          {under(one, "free", 100), under(one, "pro", 100)},
		"different numbers":       {under(one, "free", 10), under(one, "pro", 100)},
		"another condition":       {under(one, "free", 100), under(one, "pro", 100, since)},
		"other conditions":        {under(one, "free", 100, before), under(one, "pro", 90, since), under(one, "partner", 80)},
		"a collection":            {under(one, "free", 100), under(service, "pro", 100)},
		"two permissions":         {under(one, "free", 60, since), under(one, "free", 40), under(one, "pro", 50, before), under(service, "pro", 70)},
		"a permission of several": {under(one, "free|pro", 30), under(one, "pro", 50, since), under(one, "partner", 60, before)},
		"a permission of all":     {under(one, "", 5), under(one, "free", 10, since), under(one, "pro", 20)},
	} {
		t.Run(name, func(t *testing.T) {
			p := publish(t, []byte(policy(`"permission":[`+strings.Join(permissions, ",")+`]`)), world())
			plans, most := p.Plans(), int64(0)
			for _, plan := range plans {
				most = max(most, exhaust(t, p, one, plan, map[string]int64{}))
			}
			if most == 0 {
				t.Fatal("no plan permits a call")
			}
			for _, first := range plans {
				for _, second := range plans {
					for _, third := range plans {
						used := map[string]int64{}
						if n := exhaust(t, p, one, first, used) + exhaust(t, p, one, second, used) + exhaust(t, p, one, third, used); n > most {
							t.Errorf("%s, %s, %s: %d calls; want at most %d", first, second, third, n, most)
						}
					}
				}
			}
		})
	}
}

// A call counts only in those limits of other plans that concern its intent.
func TestCallsOfOtherIntentsAreNotCarried(t *testing.T) {
	p := publish(t, []byte(policy(`"permission":[`+under("http://example.com/api/intents", "pro", 100)+`,`+under(search.UID, "free", 10)+`]`)), world())
	other := ""
	for _, in := range world().Intents {
		if in.UID != search.UID {
			other = in.UID
		}
	}
	used := map[string]int64{}
	if n := exhaust(t, p, other, "pro", used); n != 100 {
		t.Fatalf("%d calls; want 100", n)
	}
	if n := exhaust(t, p, search.UID, "free", used); n != 10 {
		t.Errorf("%d calls under free; want 10", n)
	}
	used = map[string]int64{}
	exhaust(t, p, search.UID, "pro", used)
	if n := exhaust(t, p, search.UID, "free", used); n != 0 {
		t.Errorf("%d calls under free after those under pro; want none", n)
	}
}
