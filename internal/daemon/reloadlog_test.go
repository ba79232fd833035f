package daemon_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/reloads"
)

// reloadRecords returns the records of the last reloads, the newest first.
func (g *gate) reloadRecords() (list []reloads.ReloadRecord) {
	g.t.Helper()
	got := g.adminDo("GET", "/admin/v1/reloads", nil)
	var page api.Page[reloads.ReloadRecord]
	if err := json.Unmarshal(got.body, &page); err != nil || got.status != http.StatusOK {
		g.t.Fatalf("%d %s, %v", got.status, got.body, err)
	}
	for _, secret := range []string{"upstream-secret", "other-secret", adminToken} {
		if strings.Contains(string(got.body), secret) {
			g.t.Errorf("the records contain a secret: %s", got.body)
		}
	}
	return page.Items
}

// A file may change while the process starts. Later events do not report that change.
func TestFilesThatChangeDuringTheStartAreReloaded(t *testing.T) {
	g := startGate(t, setup{changed: map[string]string{"policy.json": strings.ReplaceAll(testPolicy, `"0.25"`, `"0.30"`)}})
	for len(g.reloadRecords()) < 2 && t.Context().Err() == nil {
		waitABit(t)
	}
	if newest := g.reloadRecords()[0]; newest.Cause != reloads.ReloadByFile || !newest.Applied || newest.Services[0].Terms.Count != 1 {
		t.Errorf("%+v", newest)
	}
}

func TestReloadsShowWhatTheyChanged(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{})
	for len(g.reloadRecords()) == 0 && t.Context().Err() == nil {
		waitABit(t)
	}
	if list := g.reloadRecords(); len(list) != 1 || list[0].Cause != reloads.ReloadByStart || list[0].Hash != g.status(t).Configuration.Hash {
		t.Fatalf("after the start: %+v", list)
	}
	ignored := cmpopts.IgnoreFields(reloads.ReloadRecord{}, "At", "Process", "Before", "Hash", "Problems")
	same := reloads.ReloadRecord{Cause: reloads.ReloadByRequest, By: "operator", Via: "token", Applied: true}
	check := func(want reloads.ReloadRecord) {
		t.Helper()
		if got := g.adminDo("POST", "/admin/v1/reload", nil); (got.status == http.StatusOK) != want.Applied {
			t.Fatalf("%d %s", got.status, got.body)
		}
		list := g.reloadRecords()
		if d := cmp.Diff(want, list[0], ignored); d != "" {
			t.Errorf("the newest reload differs (-want +got):\n%s", d)
		}
		if hash := g.status(t).Configuration.Hash; want.Applied && list[0].Hash != hash || list[0].Before != list[1].Hash && list[1].Applied {
			t.Errorf("%s → %s; the configuration in use is %s, and the one before was %s", list[0].Before, list[0].Hash, hash, list[1].Hash)
		}
	}
	check(same)

	g.write("agents-2.json", strings.NewReplacer(
		"One product.", "One product of the shop.", "shop.example:old-search:v1", "shop.example:older-search:v1",
	).Replace(testAgents))
	g.write("policy-2.json", strings.ReplaceAll(testPolicy, `"0.25"`, `"0.30"`))
	g.write("uimgate.yaml", strings.NewReplacer(
		"upstream-secret-canary", "other-secret-canary", "limit: 10000/day", "limit: 9000/day",
		"agents.json", "agents-2.json", "policy.json", "policy-2.json", "UPSTREAM", g.upstream.server.URL,
	).Replace(testConfig))
	policy := g.status(t).Services[0].Policy.Digest
	want := same
	want.Settings = []string{
		"pat.limit", "services[default].agents_file", "services[default].policy_file", "services[default].upstream.auth.header",
	}
	change := reloads.ServiceChange{
		Service: "default", Change: "changed", PolicyBefore: policy,
		Added:   reloads.ChangedIDs{Count: 1, First: []string{"shop.example:older-search:v1"}},
		Removed: reloads.ChangedIDs{Count: 1, First: []string{"shop.example:old-search:v1"}},
		Changed: reloads.ChangedIDs{Count: 1, First: []string{details}},
		Terms:   reloads.ChangedIDs{Count: 1, First: []string{order}},
	}
	got := g.adminDo("POST", "/admin/v1/reload", nil)
	if got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	list := g.reloadRecords()
	// The process watches its files, and may have read them before the request.
	at := slices.IndexFunc(list, func(r reloads.ReloadRecord) bool { return len(r.Services) > 0 })
	if at < 0 {
		t.Fatalf("got %+v", list)
	}
	change.PolicyAfter = g.status(t).Services[0].Policy.Digest
	want.Services = []reloads.ServiceChange{change}
	d := cmp.Diff(want, list[at], ignored, cmpopts.IgnoreFields(reloads.ReloadRecord{}, "Cause", "By", "Via"))
	if d != "" || change.PolicyAfter == policy {
		t.Errorf("the reload differs (-want +got):\n%s", d)
	}

	g.write("policy-2.json", "{")
	refused := reloads.ReloadRecord{Cause: reloads.ReloadByRequest, By: "operator", Via: "token"}
	check(refused)
	if list := g.reloadRecords(); list[0].Problems == 0 || list[0].Hash != "" {
		t.Errorf("got %+v", list[0])
	}
}
