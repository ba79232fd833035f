//go:build !race

package main

import (
	"context"
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if play := roles[os.Getenv(roleVariable)]; play != nil {
		if err := play(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// budget is the maximum number of heap objects that the whole process may allocate for a free call, including those of net/http.
// Allocations grow unnoticed without a test. A plain reverse proxy allocates about 90, a call 74, and other work of the process adds a
// few where calls are slow. If the number falls, lower the budget.
const budget = 76

func TestFreeCallAllocatesWithinItsBudget(t *testing.T) {
	gate, agents, stop, err := startServed(t.Context(), plan{agents: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, kind := range []string{"passed", "declared"} {
		free := target{
			name: kind, url: gate.addresses.Gateway + "/api/intents/execute", body: callOf(kind, sizes[0].products), of: gate,
		}
		best, err := compare(t.Context(), []target{free}, agents, 2, 3, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if got := best[0].allocs; got > budget || got < 30 {
			t.Errorf("%s: %.1f allocations a call, want at most %d", kind, got, budget)
		} else {
			t.Logf("%s: %.1f allocations a call", kind, got)
		}
	}
}
