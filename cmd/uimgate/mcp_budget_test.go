package main

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The budget survives a restart, and a kill between the reservation and the response.
func TestMCPBudget(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	home := t.TempDir()
	args := shop.bridgeTo(home, "0.15 EUR/month")
	a := assist(t, home, "", args...)
	ordered := a.call(orderTool, toOrder)
	if charge, _ := ordered.Meta["UIM-Charge"].(string); ordered.IsError || !strings.HasPrefix(charge, "0.05 EUR; id=") {
		t.Fatalf("got %+v %s", ordered, block(ordered, 0))
	}

	arrived, goOn := make(chan struct{}, 4), make(chan struct{})
	shop.hold = func(answer func()) error {
		arrived <- struct{}{}
		<-goOn
		answer()
		return nil
	}
	lost := make(chan error, 1)
	go func() {
		_, err := a.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: orderTool, Arguments: toOrder})
		lost <- err
	}()
	<-arrived
	if err := a.command.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-lost; err == nil {
		t.Error("a killed bridge responded")
	}
	close(goOn)

	// The next call with the same arguments asks for the outcome of the lost one. The call after that is a new order.
	a = assist(t, home, "", args...)
	if again := a.call(orderTool, toOrder); again.IsError || again.Meta["Idempotency-Replayed"] != "true" || shop.orders.Load() != 2 {
		t.Fatalf("%+v %s; %d orders", again, block(again, 0), shop.orders.Load())
	}
	if another := a.call(orderTool, toOrder); another.IsError {
		t.Fatal(block(another, 0))
	}
	text := a.refused(orderTool, toOrder, "BUDGET_EXCEEDED")
	if !strings.Contains(text, "0.15 EUR of the budget of 0.15 EUR/month") {
		t.Errorf("got %q, want a text that contains %q", text, "0.15 EUR of the budget of 0.15 EUR/month")
	}
	if n := shop.orders.Load(); n != 3 {
		t.Errorf("%d orders, want 3", n)
	}
}

// Two bridges with the same directory create one key and share one budget.
func TestMCPTwoBridges(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	home := t.TempDir()
	args := shop.bridgeTo(home, "0.25 EUR/month")
	var both [2]*assistant
	var starting sync.WaitGroup
	for n := range both {
		starting.Go(func() { both[n] = assist(t, home, "", args...) })
	}
	starting.Wait()
	var made, exceeded atomic.Int64
	var calling sync.WaitGroup
	for _, a := range both {
		for range 6 {
			calling.Go(func() {
				result, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: orderTool, Arguments: toOrder})
				switch {
				case err != nil:
					t.Error(err)
				case !result.IsError:
					made.Add(1)
				case strings.Contains(block(result, 1), "BUDGET_EXCEEDED"):
					exceeded.Add(1)
				default:
					t.Error(block(result, 0))
				}
			})
		}
	}
	calling.Wait()
	if made.Load() != 5 || exceeded.Load() != 7 || shop.orders.Load() != 5 {
		t.Errorf("%d succeeded, %d refused, %d reached the shop", made.Load(), exceeded.Load(), shop.orders.Load())
	}
}

// If the policy changes, the refusal has both digests, and the bridge does not sign the new one by itself.
func TestMCPChangedPolicy(t *testing.T) {
	t.Parallel()
	shop := newShop(t)
	home := t.TempDir()
	a := assist(t, home, "2025-11-25", shop.bridgeTo(home, "1 EUR/month")...)
	if found := a.call(searchTool, map[string]any{"query": "lamp"}); found.IsError {
		t.Fatal(block(found, 0))
	}
	before := shop.digest()
	shop.offer(func(policy string) string { return strings.Replace(policy, `"0.05"`, `"0.50"`, 1) })
	if found := a.call(searchTool, map[string]any{"query": "lamp"}); found.IsError { // its terms have not changed
		t.Error(block(found, 0))
	}
	text := a.refused(orderTool, toOrder, "POLICY_REQUIRES_AGREEMENT")
	for _, want := range []string{before, shop.digest(), "0.50 EUR", "agent agree " + shop.url + " --digest " + shop.digest()} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing from:\n%s", want, text)
		}
	}
	a = assist(t, home, "2025-11-25", shop.bridgeTo(home, "1 EUR/month")...) // has the new digest
	if found := a.call(searchTool, map[string]any{"query": "lamp"}); found.IsError {
		t.Fatal(block(found, 0))
	}
}
