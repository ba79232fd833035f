package daemon_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/daemon"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// dearer is testPolicy with another price for an order.
var dearer = strings.Replace(testPolicy, `"0.25"`, `"0.50"`, 1)

// announced returns a configuration in which dearer.json succeeds policy.json at a time.
func announced(base string, from time.Time) string {
	return strings.Replace(base, "  policy_file: policy.json\n",
		"  policies: [{file: policy.json}, {file: dearer.json, from: "+from.UTC().Format(time.RFC3339)+"}]\n", 1)
}

// agreeTo agrees to a policy, which may take effect later, at once.
func (a *agent) agreeTo(policy string) *agent {
	a.g.t.Helper()
	digest, err := pat.PolicyDigest([]byte(policy))
	if err != nil {
		a.g.t.Fatal(err)
	}
	got := a.g.do("POST", "/api/pat/issue", mustJSON(a.g.t, map[string]any{
		"agent_id": a.id, "agent_public_key": a.publicKey(), "effective": "now",
		"signed_policy": a.agreement(func(c *pat.AgreementClaims) { c.PolicyDigest = digest }),
	}), header{"Content-Type": "application/json"})
	if a.token, _ = got.json(a.g.t)["uim-pat"].(string); got.status != http.StatusOK {
		a.g.t.Fatalf("no PAT: %d %s", got.status, got.body)
	}
	return a
}

// outcomes returns the outcomes of a search and of an order: the amount of the charge, or the status and the reason.
func (a *agent) outcomes() string {
	a.g.t.Helper()
	of := func(got answer) string {
		if got.status != http.StatusOK {
			return fmt.Sprint(got.status, " ", got.reason(a.g.t))
		}
		amount, _, _ := strings.Cut(got.header.Get("UIM-Charge"), ";")
		return amount
	}
	return of(a.execute(search, map[string]any{"query": "lamp"}, nil)) + ", " + of(a.execute(order, map[string]any{"product_id": "p"}, nil))
}

// A replica that has not read the next policy yet continues to serve the agents that agreed to it, for the intents whose terms stay the
// same. It executes no order, because it does not know the agreed price.
func TestReplicasReadPoliciesAtDifferentTimes(t *testing.T) {
	t.Parallel()
	dsn := migrated.Copy(t)
	ahead, behind := onPostgres(t, dsn, 0), onPostgres(t, dsn, 0)
	old := ahead.newAgent("old").agree()
	for _, g := range []*gate{ahead, behind} {
		g.write("dearer.json", dearer)
	}
	read := func(g *gate) {
		t.Helper()
		config := strings.Replace(g.file("uimgate.yaml"), "credit: 1 EUR, newcomers: 1 EUR", "credit: 9 EUR, newcomers: 9 EUR", 1)
		g.write("uimgate.yaml", announced(config, time.Now().Add(time.Hour)))
		if got := g.reloads(false); got.status != http.StatusOK {
			t.Fatalf("got %d %s", got.status, got.body)
		}
	}
	read(ahead)
	eager := ahead.newAgent("eager").agreeTo(dearer)
	const refused = ", 403 POLICY_REQUIRES_AGREEMENT"
	for _, c := range []struct {
		name  string
		agent *agent
		at    *gate
		want  string
	}{
		{"the present policy, ahead", old, ahead, ", 0.25 EUR"},
		{"the present policy, behind", old, behind, ", 0.25 EUR"},
		{"the next policy, ahead", eager, ahead, ", 0.50 EUR"},
		{"the next policy, behind", eager, behind, refused},
	} {
		if got := c.agent.at(c.at).outcomes(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	read(behind)
	if got := eager.at(behind).outcomes(); got != ", 0.50 EUR" {
		t.Errorf("after both have read it: %q, want %q", got, ", 0.50 EUR")
	}
}

// A backup from before a succession does not bring back the old price: PATs of both policies end, and new agreements are to the policy that
// is in force by its date.
func TestRestoreFromBeforeASuccession(t *testing.T) {
	t.Parallel()
	g := startGate(t, setup{files: map[string]string{"dearer.json": dearer}})
	known := g.newAgent("known").agree()
	cfg, problems := g.load()
	if cfg == nil {
		t.Fatal(problems)
	}
	keeper := daemon.Keeper{
		Config: cfg, Now: time.Now, Limits: store.RestoredLimits{Mode: store.RestoreBackup},
		Progress: daemon.Progress{Copied: func(int64, int64) {}, Checking: func(time.Duration) {}},
	}
	backup := filepath.Join(t.TempDir(), "backup.db")
	if _, err := keeper.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	g.write("uimgate.yaml", announced(g.file("uimgate.yaml"), time.Now().Add(-time.Second)))
	if got := g.reloads(false); got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	later := g.newAgent("later").agree()
	if got, want := known.outcomes()+"; "+later.outcomes(), ", 403 POLICY_REQUIRES_AGREEMENT; , 0.50 EUR"; got != want {
		t.Fatalf("before the restore: %q, want %q", got, want)
	}
	g.stop()
	if _, err := keeper.Restore(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	restored := startGate(t, setup{dir: g.dir, config: g.file("uimgate.yaml"), files: map[string]string{"dearer.json": dearer}})
	for _, a := range []*agent{known.at(restored), later.at(restored)} {
		if got, want := a.outcomes(), "401 INVALID_TOKEN, 401 INVALID_TOKEN"; got != want {
			t.Errorf("%s, with the PAT from before: %q, want %q", a.id, got, want)
		}
		if got := a.agree().outcomes(); got != ", 0.50 EUR" {
			t.Errorf("%s, after a new agreement: %q, want %q", a.id, got, ", 0.50 EUR")
		}
	}
}
