package gateway_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
)

// A PAT for an intent with retire_after remains valid for it until that time, and the refusal after it names the successor.
func TestIntentEndsAtRetireAfter(t *testing.T) {
	g := gatetest.New(t, "", func(g *gatetest.Gate) {
		end := g.Now().Add(10 * time.Minute).Format(time.RFC3339)
		g.Write("agents.json", strings.Replace(gatetest.AgentsFile, `"intent_name": "Search",`,
			`"intent_name": "Search", "retire_after": "`+end+`", "replaced_by": "`+gatetest.Ordering+`",`, 1))
	})
	a := g.Agreed("agent-1")
	got := g.Execute(a, gatetest.Searching)
	if got.Header.Get("Sunset") != "Sat, 21 Nov 2026 12:10:00 GMT" || !strings.Contains(got.Header.Get("Link"), "order") {
		t.Errorf("Sunset %q, Link %q; want 12:10 and the successor", got.Header.Get("Sunset"), got.Header.Get("Link"))
	}
	if got.Status != http.StatusOK {
		t.Errorf("before retire_after: %d %s, want %d", got.Status, got.Body, http.StatusOK)
	}
	g.Later(10*time.Minute - time.Second)
	if got := g.Execute(a, gatetest.Searching); got.Status != http.StatusOK {
		t.Errorf("one second before retire_after: %d %s, want %d", got.Status, got.Body, http.StatusOK)
	}
	g.Later(time.Second)
	got = g.Execute(a, gatetest.Searching)
	g.Refuses(got, http.StatusGone, "INTENT_DEPRECATED")
	if !strings.Contains(string(got.Body), `"replaced_by":"`+gatetest.Ordering+`"`) {
		t.Errorf("the refusal lacks the successor: %s", got.Body)
	}
}
