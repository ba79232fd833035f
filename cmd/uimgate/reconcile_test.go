package main

import (
	"io"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/calls"
	"github.com/uimgate/uimgate/store"
)

// An orders records orders by execution id, and responds to them only after done is closed.
type orders struct {
	arrived chan string
	done    chan struct{}

	mu    sync.Mutex
	taken map[string]bool
}

func (o *orders) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.Method == http.MethodGet {
		if !o.taken[r.URL.Path] {
			w.WriteHeader(http.StatusNotFound)
		}
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	id := r.Header.Get("UIM-Execution-Id")
	if len(o.taken) == 0 { // only the first order is recorded
		o.taken["/orders/"+id] = true
	}
	o.arrived <- id
	o.mu.Unlock()
	<-o.done
	o.mu.Lock()
}

// If a process ends during a call, the next process asks the service for the outcome and settles the charge.
func TestInterruptedCallIsReconciled(t *testing.T) {
	t.Parallel()
	shop := &orders{arrived: make(chan string, 2), done: make(chan struct{}), taken: map[string]bool{}}
	g := newProcess(t, operatorPolicy, `services:
- agents_file: agents.json
  policy_file: policy.json
  intents: {"shop.example:order:v1": {proof: optional}}
  upstream: {url: "UPSTREAM", reconcile: {url: "/orders/{execution_id}", done: 200, not_done: 404}}
`, shop.ServeHTTP)
	t.Cleanup(func() { close(shop.done) })
	process := g.startProcess()
	token, _ := g.agree("agent-1")
	var callers sync.WaitGroup
	var ids []string
	for _, id := range []string{"r-1", "r-2"} {
		callers.Go(func() {
			if g.order(token, id) {
				t.Errorf("%s was answered", id)
			}
		})
		ids = append(ids, <-shop.arrived)
	}
	if err := process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	callers.Wait()
	g.stop()
	g.ahead = 2 * time.Minute // after the deadline of the calls
	g.start()
	t.Cleanup(func() { g.stop() })
	settled := map[string]store.State{}
	for deadline := time.Now().Add(time.Minute); len(settled) < 2; time.Sleep(50 * time.Millisecond) {
		for _, e := range want[api.Page[calls.Execution]](g, "usage", "executions").Items {
			if e.State == store.Captured || e.State == store.Released {
				settled[e.ID] = e.State
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %v", settled)
		}
	}
	if settled[ids[0]] != store.Captured || settled[ids[1]] != store.Released {
		t.Errorf("%v: want the first of %v captured, the other released", settled, ids)
	}
}
