//go:build soak

package soak

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// A gateway is stopped for longer than its calls are held. Meanwhile the operator settles them, by the log of the upstream,
// at another one. When the gateway continues, it sends none of those that were released.
func TestAReplicaStoppedForLongerThanItsHolds(t *testing.T) {
	w := postgresWorld(t, pgtest.Start(t))
	buyer := w.agentNamed("buyer", 2)
	w.approve(buyer)
	stopped, other := w.gateways[0], w.gateways[1]
	settled := 0
	for round := range 3 {
		over := make(chan struct{})
		for i := range 16 {
			w.worker(over, fmt.Sprintf("buyer%d-%d", round, i), 0, func(ref string) {
				call{agent: buyer, token: buyer.token(), intent: order, ref: ref + "." + string(effectDone), key: "key-" + ref}.at(stopped)
			})
		}
		pause(nil, random(300*time.Millisecond, 900*time.Millisecond))
		w.whileFrozen(stopped, func() {
			close(over)
			pause(nil, holdTime)
			settled += w.settleByLog(other)
		})
		w.loading.Wait()
	}
	t.Logf("the operator settled %d calls", settled)
	least := floor{"freezes": 3, "upstream " + order: 20, "told captured": 10, "lost": 3}
	w.recover()
	w.verdict(w.evidence(), least)
}

// holdTime is after how long a call is held no more. Its outcome is the operator's to find out then.
const holdTime = upstreamTimeout + 30*time.Second

// settleByLog waits until no call is held any more and settles those of unknown outcome: captured, if the upstream has
// received them. It returns how many there were.
func (w *world) settleByLog(g *gateway) int {
	w.t.Helper()
	end := w.clock.now() + 30*time.Second
	for len(w.executions(g, "held")) > 0 && w.clock.now() < end {
		pause(nil, 100*time.Millisecond)
	}
	list := w.executions(g, "unresolved")
	arrivals := w.upstream.arrivals()
	for _, id := range list {
		state := "released"
		if slices.ContainsFunc(arrivals, func(a arrival) bool { return a.Execution == id }) {
			state = "captured"
		}
		status, _, body, err := w.do(http.MethodPost, g.admin()+"/admin/v1/usage/executions/"+id+"/resolve",
			mustJSON(map[string]string{"state": state}), map[string]string{"Authorization": "Bearer " + adminToken})
		if err != nil || status != http.StatusOK {
			w.t.Errorf("settling: %d %.300s %v", status, body, err)
		}
	}
	return len(list)
}

func (w *world) executions(g *gateway, state string) []string {
	w.t.Helper()
	status, _, body, err := w.do(http.MethodGet, g.admin()+"/admin/v1/usage/executions?limit=1000&state="+state, nil,
		map[string]string{"Authorization": "Bearer " + adminToken})
	var page struct{ Items []struct{ ID string } }
	if err == nil {
		err = json.Unmarshal(body, &page)
	}
	if err != nil || status != http.StatusOK {
		w.t.Errorf("executions: %d %.300s %v", status, body, err)
	}
	var ids []string
	for _, x := range page.Items {
		ids = append(ids, x.ID)
	}
	return ids
}
