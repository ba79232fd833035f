package console_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/processes"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

func TestReloadsAreListed(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleViewer)
	if page := b.page("/console/settings/reloads"); !strings.Contains(page, "The configuration has not been reloaded.") {
		t.Errorf("got %s", page)
	}
	text, err := json.Marshal(reloads.ReloadRecord{
		Cause: reloads.ReloadByRequest, By: "ann", Applied: true, Hash: "h2", Settings: []string{"server.tls", "pat.limit"}, MoreSettings: 3,
		Services: []reloads.ServiceChange{{
			Service: "shop", Change: "changed", PolicyBefore: "sha-256:a", PolicyAfter: "sha-256:b",
			Added: reloads.ChangedIDs{Count: 3, First: []string{"shop.example:new:v1"}},
		}},
	})
	g.Must(err)
	g.Must(g.Store.AddReload(g.Context(), store.Reload{At: g.Now(), Process: "host:1", Record: text}))
	page := b.page("/console/settings/reloads")
	for _, want := range []string{
		"<td>ann</td>", "policy of shop: sha-256:a → sha-256:b; new intents: shop.example:new:v1 and 2 more; settings: server.tls, pat.limit and 3 more",
		`<a href="/console/settings/reloads?format=csv">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	if got := b.get("/console/settings/reloads?format=csv"); !strings.Contains(got.body, "host:1,ann,applied,") {
		t.Errorf("got %s", got.body)
	}
}

func TestOverviewShowsTheProcesses(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleViewer)
	g.Must(g.Replica.Report(g.Context()))
	page := b.page("/console/")
	for _, want := range []string{
		`<span class="value" data-figure="certificates">no TLS</span>`, `<span class="value" data-figure="processes">1</span></dd>`,
		`<span class="value" data-figure="calls_per_second">0.00</span>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the overview lacks %q: %s", want, page)
		}
	}
	// A process with another configuration, or one that no longer reports, is a warning.
	other := store.Process{ID: "2", Name: "host:2", Configuration: "another", StartedAt: g.Now()}
	g.Must(g.Store.ReportProcess(g.Context(), store.ProcessReport{Process: other}))
	if page := b.page("/console/"); !strings.Contains(page, "<small>1 with another configuration</small>") {
		t.Errorf("got %s", page)
	}
	if page := b.page("/console/stops"); !strings.Contains(page, "<td>host:2</td>") || !strings.Contains(page, "another") {
		t.Errorf("got %s", page)
	}
}

func TestStopsShowTheProcesses(t *testing.T) {
	g := newConsoleGate(t, "")
	b := g.as(api.RoleOperator)
	g.Must(g.Replica.Report(g.Context()))
	if _, err := g.operator.Processes.Stop(g.Context(), processes.StopRequest{Kind: "charging"}); err != nil {
		t.Fatal(err)
	}
	if page := b.page("/console/stops"); !strings.Contains(page, `<span class="state bad">0 of 1 processes; not yet: test:1</span>`) {
		t.Errorf("before the report: %s", page)
	}
	g.Must(g.Replica.Report(g.Context()))
	if page := b.page("/console/stops"); !strings.Contains(page, `<span class="state ok">1 of 1 processes, 0.00 s</span>`) ||
		!strings.Contains(page, "test:1 0.00 s") {
		t.Errorf("after the report: %s", page)
	}
	if _, err := g.operator.Processes.Resume(g.Context(), processes.StopRequest{Kind: "charging"}); err != nil {
		t.Fatal(err)
	}
	if page := b.page("/console/stops"); !strings.Contains(page, "Nothing is stopped.") || !strings.Contains(page, "Stops that ended") {
		t.Errorf("after the end: %s", page)
	}
	if got := b.get("/console/stops?format=csv&state=ended"); !strings.Contains(got.body, "charging,every service,operator,") {
		t.Errorf("got %s", got.body)
	}
}

func TestStopsAreSearchedAndPaged(t *testing.T) {
	g := newConsoleGate(t, "")
	for i := range 120 {
		_, err := g.Store.Stop(g.Context(), pat.Stop{Kind: pat.StopAgent, Subject: fmt.Sprintf("agent-%03d", i), By: "ann"})
		g.Must(err)
		g.Pass(time.Second)
	}
	g.Must(g.View.Refresh(g.Context()))
	b := g.as(api.RoleOperator)
	page := b.page("/console/stops")
	if n := strings.Count(page, "Resume agent agent-"); n != 50 || !strings.Contains(page, `<a href="/console/stops?after=50" rel="next">`) {
		t.Errorf("the first page resumes %d stops: %s", n, page)
	}
	last := b.page("/console/stops?after=100")
	if n := strings.Count(last, "Resume agent agent-"); n != 20 || strings.Contains(last, `rel="next"`) ||
		!strings.Contains(last, "agent-000") {
		t.Errorf("the last page resumes %d stops: %s", n, last)
	}
	found := b.page("/console/stops?search=AGENT-077")
	if strings.Count(found, "Resume agent agent-") != 1 || !strings.Contains(found, "agent-077") {
		t.Errorf("got %s", found)
	}
	if got := b.get("/console/stops?format=csv"); strings.Count(got.body, "agent agent-") != 120 {
		t.Errorf("got %s", got.body)
	}
}

func TestReloadsLeadToTheChangesOfThePolicy(t *testing.T) {
	g := newConsoleGate(t, "")
	before := g.Directory.Current().Services()[0].Offer().Digest
	g.Must(g.Replica.Report(g.Context()))
	g.Pass(time.Second)
	g.Write("policy.json", dearer)
	g.Reload()
	after := g.Directory.Current().Services()[0].Offer().Digest
	text, err := json.Marshal(reloads.ReloadRecord{
		Cause: reloads.ReloadByFile, Applied: true, Hash: "h2",
		Services: []reloads.ServiceChange{{Service: "shop", Change: "changed", PolicyBefore: before, PolicyAfter: after}},
	})
	g.Must(err)
	g.Must(g.Store.AddReload(g.Context(), store.Reload{At: g.Now(), Process: "host:1", Record: text}))
	b := g.as(api.RoleViewer)
	_, link, found := strings.Cut(b.page("/console/settings/reloads"), `<a href="/console/policy/changes?`)
	if !found {
		t.Fatal("the page of reloads has no link to the changes of the policy")
	}
	link, _, _ = strings.Cut(link, `"`)
	link = strings.ReplaceAll(strings.ReplaceAll(link, "&amp;", "&"), "&service=shop", "")
	page := b.page("/console/policy/changes?" + link)
	for _, want := range []string{before, after, "0.75", "0.25", "shop.example:order"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q: %s", want, page)
		}
	}
	if page := b.page("/console/policy/changes?from=" + after + "&to=" + after); !strings.Contains(page, "mean the same") {
		t.Errorf("the same policy: %s", page)
	}
	for path, want := range map[string]int{"?from=" + before + "&to=sha-256:x": 404, "?from=" + before: 400, "": 400} {
		if got := b.get("/console/policy/changes" + path); got.status != want {
			t.Errorf("%q: %d %s", path, got.status, got.body)
		}
	}
	// The last report of this process is older than the configuration.
	if page := b.page("/console/"); strings.Contains(page, "with another configuration") {
		t.Errorf("the overview warns about a process that has not reported since the reload: %s", page)
	}
}
