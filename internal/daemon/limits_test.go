package daemon_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/config"
)

// Each response informs the agent that a limit is nearly or completely used. For each agent, the operator gets one notice of each event.
func TestEndOfALimitIsNoticed(t *testing.T) {
	t.Parallel()
	webhook, accepted := noticesTo(t)
	policy := strings.NewReplacer(`"rightOperand": 1000, "unit": "hour"`, `"rightOperand": 10, "unit": "day"`,
		`,
  "prohibition": [{"target": "shop.example:search-products:v1", "action": "exceedRateLimit"}]`, "").Replace(testPolicy)
	g := startGate(t, setup{notices: noticesEvery, config: webhook + testConfig, policy: policy})
	for _, id := range []string{"agent-1", "agent-2"} {
		a := g.newAgent(id).agree()
		for n := range 11 {
			got := a.execute(search, map[string]any{"query": "lamp"}, nil)
			var want []string
			switch left := 9 - n; {
			case left == 0:
				want = []string{`limit-reached; left=0; limit="10/day"`}
			case left <= 2:
				want = []string{fmt.Sprintf(`limit-near; left=%d; limit="10/day"`, left)}
			}
			if n == 10 {
				if got.status != http.StatusTooManyRequests {
					t.Errorf("got %d %s; want %d", got.status, got.body, http.StatusTooManyRequests)
				}
				continue
			}
			if warnings := got.header.Values("UIM-Warning"); got.status != http.StatusOK || !slices.Equal(warnings, want) {
				t.Errorf("call %d: %d, UIM-Warning %q; want %q", n, got.status, warnings, want)
			}
		}
		found := map[config.Event]int{}
		for range 2 {
			n := <-accepted
			if found[n.Event]++; n.Service != "default" || !strings.HasPrefix(n.Subject, id+" ") || !strings.Contains(n.Text, "10/day") {
				t.Errorf("got %+v", n)
			}
		}
		if found[config.LimitNear] != 1 || found[config.LimitReached] != 1 {
			t.Errorf("got the notices %v; want one of limit.near and one of limit.reached", found)
		}
	}
	g.stop() // a second notice of a limit would have been posted by now, or is never posted
	select {
	case n := <-accepted:
		t.Errorf("a further notice: %+v", n)
	default:
	}
}
