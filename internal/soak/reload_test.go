package soak

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The configuration is reloaded again and again under load. Limits keep their counts, and no door is closed by a reload.
func TestReloadsUnderLoad(t *testing.T) {
	t.Parallel()
	w := sqliteWorld(t)
	g := w.gateways[0]
	w.invite()
	config := w.config("")
	reloads, least := 0, doorAgentsFloor()
	least["reloads"] = 4
	w.runAndJudge(least, func() {
		for ; pause(w.over, random(200*time.Millisecond, 600*time.Millisecond)); reloads++ {
			if err := g.write("uimgate.yaml",
				strings.Replace(config, "open_for: 100ms", fmt.Sprintf("open_for: %dms", 100+reloads%2), 1)); err != nil {
				t.Error(err)
			}
			if reloads%2 == 0 { // in addition to the change of the file, which the gateway detects
				if err := g.signal(syscall.SIGHUP); err != nil {
					t.Error(err)
				}
			}
			w.caused("reloads")
		}
	})
	taken := strings.Count(g.log(), "configuration applied")
	if taken < 2 { // several changes may be loaded at once
		t.Errorf("%d of %d configurations were applied", taken, reloads)
	}
	t.Logf("%d of %d configurations were applied", taken, reloads)
}

// A policy that changes the number of a limit continues its count, exactly.
func TestChangedLimitKeepsItsCount(t *testing.T) {
	t.Parallel()
	w := sqliteWorld(t)
	g := w.gateways[0]
	a := w.agentNamed("agent", 1)
	policy, done := policyFile(), 0
	for _, step := range []struct{ most, tries, want int }{
		{120, 60, 60}, // some units are left
		{100, 60, 40},
		{90, 5, 0}, // fewer than were used already
		{150, 60, 50},
	} {
		changed := strings.Replace(policy, `"rightOperand": 120`, fmt.Sprintf(`"rightOperand": %d`, step.most), 1)
		if err := g.write("policy.json", changed); err != nil {
			t.Fatal(err)
		}
		if err := w.operate(g, "/reload"); err != nil {
			t.Fatal(err)
		}
		if err := w.retry(a.agree); err != nil {
			t.Fatal(err)
		}
		newest := a.tokens[len(a.tokens)-1]
		admitted := 0
		for range step.tries {
			done++
			got := call{agent: a, token: newest, intent: browse, ref: fmt.Sprintf("n%d.%s", done, effectDone)}.at(g)
			switch {
			case got.Status == http.StatusOK && admitted < step.want:
				admitted++
			case got.Reason == "RATE_LIMIT_EXCEEDED" && admitted == step.want:
			default:
				t.Fatalf("limit %d, %d admitted of %d: %+v", step.most, admitted, step.want, got)
			}
		}
		if admitted != step.want {
			t.Errorf("limit %d: %d admitted, want %d", step.most, admitted, step.want)
		}
	}
}
