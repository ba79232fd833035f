package admin_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/record"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

func TestCallFigures(t *testing.T) {
	g := newAdminGate(t, whySettings)
	g.Write("policy.json", whyPolicy)
	g.Reload()
	a := g.Agreed("agent-1")
	g.Execute(a, gatetest.Ordering, "Idempotency-Key", "one")
	g.Execute(a, gatetest.Ordering, "Idempotency-Key", "one") // the response is that of the first call
	g.search(a, "denied", "fun")
	g.Pass(2 * time.Minute)
	g.search(a, "denied-later", "fun")
	last := func(step string) processes.CallFigures {
		return ask[processes.CallFigures](g, "GET", "/figures"+step, nil)
	}
	minutes := last("")
	if len(minutes.Points) != 60 || minutes.Process != "test:1" || minutes.Since.IsZero() || minutes.Step != "minute" {
		t.Fatalf("got %+v", minutes)
	}
	first, between, now := minutes.Points[57], minutes.Points[58], minutes.Points[59]
	if first.Calls != 3 || first.Refused != 1 || first.Reasons["POLICY_NOT_APPLICABLE"] != 1 || first.Charged["EUR"] != "0.25" ||
		between.Calls != 0 || now.Calls != 1 || now.At.Sub(first.At) != 2*time.Minute {
		t.Errorf("got %+v, %+v, %+v", first, between, now)
	}
	sum := int64(0)
	hours := last("?step=hour")
	for _, p := range hours.Points {
		sum += p.Calls
	}
	if len(hours.Points) != 24 || sum != 4 {
		t.Errorf("%d hours with %d calls; want 24 with 4", len(hours.Points), sum)
	}
	g.Pass(24 * time.Hour)
	for _, p := range last("?step=hour").Points {
		if p.Calls != 0 {
			t.Errorf("a day later, %s has %d calls", p.At, p.Calls)
		}
	}
	if n := last("").Processes; n != 0 {
		t.Errorf("%d processes report; want 0", n)
	}
	g.Refuses(g.do("GET", "/figures?step=day", nil), http.StatusBadRequest, "MALFORMED_REQUEST")
}

// The figures of a process remain after its end, and the process that answers counts once.
func TestCallFiguresSurviveARestart(t *testing.T) {
	g := newAdminGate(t, "")
	a := g.Agreed("agent-1")
	g.search(a, "first", "")
	g.Must(g.Replica.Report(g.Context()))
	g.search(a, "second", "")
	sum := func() (calls int64, reporting int) {
		for _, step := range []string{"minute", "hour"} {
			calls = 0
			found := ask[processes.CallFigures](g, "GET", "/figures?step="+step, nil)
			for _, p := range found.Points {
				calls += p.Calls
			}
			reporting = found.Processes
		}
		return calls, reporting
	}
	if calls, reporting := sum(); calls != 2 || reporting != 1 {
		t.Errorf("%d calls of %d processes; want 2 of 1", calls, reporting)
	}
	g.Must(g.Replica.Report(g.Context()))
	g.settings.Figures, g.settings.ProcessID = record.NewFigures("test:2", g.Now), "another"
	g.listener.Config.Handler = g.handler(admin.New(g.settings), adminToken)
	if calls, _ := sum(); calls != 2 {
		t.Errorf("after a restart: %d calls; want 2", calls)
	}
}
