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

// A gateway is stopped for longer than the store holds its calls. In the meantime the operator settles them on another gateway, according
// to the log of the upstream. When the stopped gateway continues, it does not send the calls that were released.
func TestReplicaStoppedLongerThanItsHolds(t *testing.T) {
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
	least := floor{"freezes": 3, "upstream " + order: 20, "reported captured": 10, "lost": 3}
	w.recover()
	w.verdict(w.evidence(), least)
}

// holdTime is the time after which the store no longer holds a call. The operator must then find out its outcome.
const holdTime = upstreamTimeout + 30*time.Second

// settleByLog waits until no call is held, and settles the unresolved ones: as captured if the upstream has received them, otherwise as
// released. It returns their number.
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
			w.t.Errorf("settling: %d %.300s %v; want no error and %v", status, body, err, http.StatusOK)
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
		w.t.Errorf("executions: %d %.300s %v; want no error and %v", status, body, err, http.StatusOK)
	}
	var ids []string
	for _, x := range page.Items {
		ids = append(ids, x.ID)
	}
	return ids
}
