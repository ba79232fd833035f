package operatorcmd

import (
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/status"
	"github.com/uimgate/uimgate/internal/limit"
)

// A figure that cannot be read is printed as ?, never as 0.
func TestStatusPrintsUnknownFigures(t *testing.T) {
	t.Parallel()
	none := int64(0)
	unknown := status.ServiceStatus{ID: "default", Unresolved: &none, Unread: []string{"waiting_agents"}}
	for name, show := range map[string]func(*strings.Builder) error{
		"table": func(out *strings.Builder) error {
			return cli.PrintTable(out, []status.ServiceStatus{unknown}, serviceColumns)
		},
		"CSV": func(out *strings.Builder) error {
			return cli.PrintCSV(out, []status.ServiceStatus{unknown}, serviceColumns, false)
		},
	} {
		var out strings.Builder
		if err := show(&out); err != nil || strings.Count(out.String(), "?") != 1 {
			t.Errorf("%s: %s, %v; want one ?", name, out.String(), err)
		}
	}
	var out strings.Builder
	printBacklog(&out, []status.ServiceStatus{unknown})
	if want := "Cannot be read from the store, for default: waiting_agents."; !strings.Contains(out.String(), want) {
		t.Errorf("got %q; want a text that contains %q", out.String(), want)
	}
}

func TestStatusPrintsHeldLimits(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 28, 20, 0, 0, 0, time.UTC)
	var out strings.Builder
	printHeldLimits(&out, &status.HeldLimits{
		Restored: &status.RestoredLimits{At: at, Limits: "used", Allowance: 10, Periods: []status.LimitPeriod{
			{Period: limit.Day, Until: at.Add(24 * time.Hour)}, {Period: limit.Month, Until: at.Add(52 * time.Hour)},
		}},
		Clock: &status.SteppedLimits{At: at, By: "-2m0s", Periods: []status.LimitPeriod{{Period: limit.Hour, Until: at.Add(time.Hour)}}},
	})
	for _, want := range []string{
		"after the restore of " + cli.HumanTime(at) + ": per day until " + cli.HumanTime(at.Add(24*time.Hour)),
		"10% of each limit per month until " + cli.HumanTime(at.Add(52*time.Hour)),
		"moved by -2m0s at " + cli.HumanTime(at) + ": per hour until " + cli.HumanTime(at.Add(time.Hour)),
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q; want a text that contains %q", out.String(), want)
		}
	}
	out.Reset()
	if printHeldLimits(&out, nil); out.Len() != 0 {
		t.Errorf("got %q; want nothing", out.String())
	}
}

func TestStatusPrintsWhoUsedTheCommonCredit(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	printNewcomers(&out, status.ServiceStatus{ID: "default", Newcomers: &status.NewcomersPool{
		Credit: "1.00 EUR", Left: "0.25 EUR", Owed: "0.75 EUR", Users: []status.PoolAccount{{AgentID: "a\x1b[31m", Owed: "0.75 EUR"}},
	}})
	if got := out.String(); !strings.Contains(got, "0.25 EUR of 1.00 EUR is left") || !strings.Contains(got, "owes 0.75 EUR") ||
		strings.Contains(got, "\x1b") {
		t.Errorf("got %q", got)
	}
}

func TestStatusRoundsSharedCredit(t *testing.T) {
	t.Parallel()
	for left, want := range map[string]string{
		"9.627762094 EUR": "9.62 EUR", "10.00 EUR": "10.00 EUR", "0.004 EUR": "0.004 EUR", "0.00 EUR": "0.00 EUR", "120.9 JPY": "120.00 JPY",
	} {
		var out strings.Builder
		printNewcomers(&out, status.ServiceStatus{ID: "default", Newcomers: &status.NewcomersPool{
			Credit: "10.00 EUR", Left: left, Owed: "0.40 EUR", Users: []status.PoolAccount{{AgentID: "agent-1", Owed: "0.40 EUR"}},
		}})
		if want := "default: " + want + " of 10.00 EUR is left"; !strings.Contains(out.String(), want) {
			t.Errorf("%s: got %q; want a text that contains %q", left, out.String(), want)
		}
	}
}
