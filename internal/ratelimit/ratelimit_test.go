package ratelimit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/ratelimit"
)

func TestEachCallerHasItsOwnBucket(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	set := ratelimit.NewSet(limit.Rate{Max: 2, Period: "minute"})
	for n, want := range []bool{true, true, false} {
		if got := set.Admit("a", now); got != want {
			t.Errorf("call %d of a: got %t, want %t", n+1, got, want)
		}
	}
	if !set.Admit("b", now) {
		t.Error("b waits because of the calls of a")
	}
	if got, want := set.Wait(), 30*time.Second; got != want {
		t.Errorf("wait: got %s, want %s", got, want)
	}
	if set.Admit("a", now.Add(set.Wait()-time.Second)) {
		t.Error("a is admitted before the wait is over")
	}
	if !set.Admit("a", now.Add(set.Wait()+time.Second)) {
		t.Error("a is not admitted after the wait")
	}
}

// A client with a /56 or a /48 gets two or four times as much as one with a /64, not 256 or 65,536 times as much.
func TestWideNetworksAreLimited(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		network string
		want    int
	}{
		"one /64":                 {"2001:db8::/64", 5},
		"many /64 of one /56":     {"2001:db8:0:%x::/64", 10},
		"many /56 of one /48":     {"2001:db8:0:%x00::/64", 20},
		"many /48":                {"2001:db8:%x::/64", 100},
		"IPv4 addresses":          {"192.0.2.%d", 100},
		"callers of another kind": {"agent-%d", 100},
		"an address like a /64":   {"2001:db8::%x/128", 100},
	} {
		t.Run(name, func(t *testing.T) {
			set := ratelimit.NewSet(limit.Rate{Max: 5, Period: "minute"})
			admitted := 0
			for n := range 100 {
				caller := test.network
				if strings.Contains(caller, "%") {
					caller = fmt.Sprintf(caller, n)
				}
				if set.Admit(caller, now) {
					admitted++
				}
			}
			if admitted != test.want {
				t.Errorf("%d admitted, want %d", admitted, test.want)
			}
		})
	}
}

func TestChangedRate(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	set := ratelimit.NewSet(limit.Rate{Max: 1, Period: limit.Hour})
	for _, step := range []struct {
		name string
		rate limit.Rate
		want []bool
	}{
		{"as it was", limit.Rate{Max: 1, Period: limit.Hour}, []bool{true, false}},
		{"the same again", limit.Rate{Max: 1, Period: limit.Hour}, []bool{false}},
		{"higher", limit.Rate{Max: 2, Period: limit.Hour}, []bool{true, true, false}},
		{"lower", limit.Rate{Max: 1, Period: limit.Day}, []bool{true, false}},
	} {
		set.SetRate(step.rate)
		for n, want := range step.want {
			if got := set.Admit("203.0.113.7", now); got != want {
				t.Errorf("%s, request %d: %v, want %v", step.name, n, got, want)
			}
		}
	}
	if wait := set.Wait(); wait != 24*time.Hour {
		t.Errorf("the next request may come after %s, want %s", wait, 24*time.Hour)
	}
}
