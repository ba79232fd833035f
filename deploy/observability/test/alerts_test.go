package observability_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/agent"
)

var executeOnce = agent.ExecuteOptions{NoRepeat: true}

func TestMain(m *testing.M) {
	// The exporters read this variable, in milliseconds. The default is five seconds.
	if err := os.Setenv("OTEL_BSP_SCHEDULE_DELAY", "50"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// run plays a scenario after ten minutes in which nothing is wrong, and returns the alerts that fired.
func (c scenario) run(t *testing.T) []string {
	t.Helper()
	if c.gateway == nil {
		c.gateway = with(nil)
	}
	g := c.gateway(t)
	s := newServer(t, g.scrape)
	shop, _ := g.agree("agent-1")
	for range 10 {
		if fired := s.step(time.Minute); len(fired) > 0 {
			t.Fatalf("%q fire before the trouble, want none", fired)
		}
	}
	if c.provoke != nil {
		c.provoke(g, s, shop)
		g.ahead.Add(int64(2 * time.Second)) // the gateway reads the state behind its gauges once a second
	}
	fired := map[string]bool{}
	for range c.steps {
		if c.work != nil {
			c.work(g, s, shop)
		}
		for _, name := range s.step(max(c.every, time.Minute)) {
			fired[name] = true
		}
	}
	var names []string
	for name := range fired {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestAlertsFire(t *testing.T) {
	t.Parallel()
	for name, c := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := slices.Sorted(slices.Values(c.fires))
			if diff := cmp.Diff(want, c.run(t)); diff != "" {
				t.Errorf("alerts (-want +fired):\n%s", diff)
			}
		})
	}
}

func TestEachAlertHasAScenario(t *testing.T) {
	t.Parallel()
	fires := map[string]bool{}
	for _, c := range scenarios {
		for _, name := range c.fires {
			fires[name] = true
		}
	}
	for _, r := range parseRules(t) {
		if r.Alert != "" && !fires[r.Alert] {
			t.Errorf("no scenario fires %s", r.Alert)
		}
		delete(fires, r.Alert)
	}
	for name := range fires {
		t.Errorf("a scenario fires %s, which is not an alert", name)
	}
}

// TestHealthyGatewayFiresNothing has agents that agree, call, pay, and make mistakes.
func TestHealthyGatewayFiresNothing(t *testing.T) {
	t.Parallel()
	g := start(t, nil)
	s := newServer(t, g.scrape)
	shop := g.customer("agent-1")
	for i := range 120 {
		if i%20 == 0 {
			g.customer("agent-" + string(rune('b'+i/20)))
			if !g.reload() {
				t.Error("the gateway refused its own configuration")
			}
		}
		g.must(shop.search(5))
		g.must(shop.order())
		if i%10 == 0 {
			if _, err := shop.Execute(t.Context(), search, map[string]any{"query": 7}, executeOnce); err == nil {
				t.Error("a parameter of another type was accepted")
			}
		}
		if fired := s.step(time.Minute); len(fired) > 0 {
			t.Fatalf("%q fire, want none", fired)
		}
	}
}
