package bindings_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/bindings/mrp"
	gatetest "github.com/uimgate/uimgate/internal/test/gateway"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// A reload sends the new profile to the relay, and drops no messages in progress, even if it closes the door.
func TestReloads(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	a := agent(g)
	token := agrees(g, a)
	before, err := a.Profile(t.Context(), a.To)
	g.Must(err)
	if before.DisplayName == nil || *before.DisplayName != "shop.example" || before.Visibility != wire.Public ||
		len(before.Capabilities) != 7 {
		t.Errorf("got %+v", before)
	}
	for shuts, changed := range map[bool]string{false: "doors: {mrp: {relay: local, name: Lamps, visibility: private}}", true: ""} {
		g.Write("uimgate.yaml", g.Settings)
		g.Reload()
		called, release := make(chan struct{}), make(chan struct{})
		g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
			close(called)
			<-release
			_, _ = io.WriteString(w, `{"ok":true}`)
		}
		answered, reloaded := make(chan string), make(chan struct{})
		go func() { answered <- a.Ask(t, "uim:execute", call(gatetest.Searching, token)) }()
		<-called
		g.Write("uimgate.yaml", strings.Replace(g.Settings, ", doors: {mrp: {relay: local}}", ", "+changed, 1))
		go func() { defer close(reloaded); g.Reload() }()
		if !shuts {
			<-reloaded
		}
		close(release)
		expect(t, "under way", <-answered, `"output":{"ok":true}`)
		<-reloaded
		if _, open := status(g); open == shuts {
			t.Errorf("open: %t", open)
		}
		if !shuts {
			now, err := a.Profile(t.Context(), a.To)
			if err != nil || *now.DisplayName != "Lamps" || now.Visibility != wire.Private {
				t.Errorf("got %+v, %v", now, err)
			}
		}
	}
}

func TestLocalRelayMustRun(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, strings.ReplaceAll(shut, gatetest.RelaySettings, ""))
	g.Write("uimgate.yaml", gatetest.RelaySettings+strings.Replace(g.Settings, "policy.json,", "policy.json, doors: {mrp: {relay: local}},", 1))
	if err := g.TryReload(); err == nil || !strings.Contains(err.Error(), mrp.ErrNoRelay.Error()) {
		t.Error(err)
	}
}

// The sender gets progress reports during a long request.
func TestProgress(t *testing.T) {
	t.Parallel()
	g := gatetest.New(t, settings)
	a := agent(g)
	token := agrees(g, a)
	reports := make(chan wire.Progress, 1)
	a.Report = func(p wire.Progress) { reports <- p }
	release := make(chan struct{})
	g.Upstream = func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = io.WriteString(w, `{"ok":true}`)
	}
	answered := make(chan string)
	go func() { answered <- a.Ask(t, "uim:execute", call(gatetest.Searching, token)) }()
	if p := <-reports; p.State != "working" {
		t.Errorf("got %+v, want State %q", p, "working")
	}
	close(release)
	expect(t, "at last", <-answered, `"output":{"ok":true}`)
}
