package aea_test

import (
	"context"
	gosched "runtime"
	"slices"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// goroutines returns the stacks of all goroutines by their numbers.
func goroutines() map[string]string {
	text := make([]byte, 16<<20)
	text = text[:gosched.Stack(text, true)]
	all := map[string]string{}
	for stack := range strings.SplitSeq(string(text), "\n\n") {
		number, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
		all[number] = stack
	}
	return all
}

// ended waits until all goroutines of the door and its caches have ended that did not exist before. It ignores goroutines of other doors,
// which may start at any time.
func ended(t *testing.T, before map[string]string) {
	t.Helper()
	ours := []string{"github.com/uimgate/uimgate/bindings/aea", "github.com/maypok86/otter"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var left []string
		for number, stack := range goroutines() {
			is := func(of string) bool { return strings.Contains(stack, of) }
			if before[number] == "" && !is("testing.tRunner") && slices.ContainsFunc(ours, is) {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%d goroutines are left:\n%s", len(left), strings.Join(left, "\n\n"))
		}
	}
}

// TestNoGoroutineLeak checks that a closed door and a stopped gateway leave no goroutine, with agents on every connection, unfinished
// negotiations and open dialogues. The test is not parallel, because it counts goroutines.
func TestNoGoroutineLeak(t *testing.T) {
	g := gatetest.New(t, "")
	open := strings.Replace(g.Settings, gatetest.Unproved, gatetest.Unproved+", doors: {aea: {tcp: '127.0.0.1:0', "+
		"delegate: '127.0.0.1:0', mailbox: '127.0.0.1:0', stub: '"+t.TempDir()+"', relay: {per_agent: 5/hour}}}", 1)
	serve := func(settings string) {
		t.Helper()
		g.Write("uimgate.yaml", settings)
		g.Reload()
	}
	visit := func() {
		t.Helper()
		n := 2
		for way := range dialers {
			a := agent(g, way, n)
			n++
			token := a.Agrees(t, gatetest.Searching)
			if answer := a.Calls(t, call(gatetest.Searching, token)); answer != `{"ok":true}` {
				t.Errorf("got %q, want %q", answer, `{"ok":true}`)
			}
			a.Asks(t, gatetest.Ordering)
		}
		agent(g, "tcp", n) // sends nothing
	}
	for range 2 {
		shut := goroutines()
		serve(open)
		visit()
		serve(g.Settings)
		ended(t, shut)
	}
	running := goroutines()
	serve(open)
	visit()
	g.Drain()
	ended(t, running)
}
