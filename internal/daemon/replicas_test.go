package daemon_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// onPostgres starts a gateway on a shared database, with an offset of its clock.
func onPostgres(t *testing.T, dsn string, off time.Duration) *gate {
	t.Helper()
	return startGate(t, setup{
		config: "store: ${file:store.url}\n" + testConfig, files: map[string]string{"store.url": dsn + "\n"},
		now: func() time.Time { return time.Now().Add(off) },
	})
}

// until repeats a call until its response has a certain status.
func until(t *testing.T, status int, call func() answer) answer {
	t.Helper()
	for {
		got := call()
		if got.status == status {
			return got
		}
		if t.Context().Err() != nil {
			t.Fatalf("%d %s; want %d", got.status, got.body, status)
		}
		waitABit(t)
	}
}

// at returns the same agent for calls to another gateway.
func (a *agent) at(g *gate) *agent {
	other := *a
	other.g = g
	return &other
}

func TestReplicasWithWrongClocksAgree(t *testing.T) {
	t.Parallel()
	dsn := migrated.Copy(t)
	gates := []*gate{onPostgres(t, dsn, -time.Hour), onPostgres(t, dsn, time.Hour)}
	form := header{"Content-Type": "application/x-www-form-urlencoded"}
	for i, g := range gates {
		other := gates[1-i]
		a := g.newAgent("agent-" + string(rune('a'+i))).agree()
		if got := a.at(other).execute(search, map[string]any{"query": "lamp"}, nil); got.status != http.StatusOK {
			t.Fatalf("a PAT of another process: %d %s; want %v", got.status, got.body, http.StatusOK)
		}
		for n := range 5 { // of 0.25 EUR, on a credit of 1 EUR, which agents without approval share
			got := a.at(gates[n%2]).execute(order, map[string]any{"product_id": "p"}, nil)
			if want := map[bool]int{true: http.StatusOK, false: http.StatusPaymentRequired}[i == 0 && n < 4]; got.status != want {
				t.Fatalf("order %d: %d %s; want %d", n, got.status, got.body, want)
			}
		}
		// A PAT that is revoked on one process is refused by the other. After a new agreement, both admit the agent at once.
		if got := other.do("POST", "/api/pat/revoke", []byte("token="+a.token), form); got.status != http.StatusOK {
			t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
		}
		until(t, http.StatusUnauthorized, func() answer { return a.execute(details, map[string]any{"id": "p"}, nil) })
		a.agree()
		if got := other.adminDo("POST", "/admin/v1/agents/"+a.id+"/block", map[string]any{"reason": "test"}); got.status != http.StatusOK {
			t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
		}
		until(t, http.StatusForbidden, func() answer { return a.execute(details, map[string]any{"id": "p"}, nil) })
		if got := other.adminDo("POST", "/admin/v1/agents/"+a.id+"/unblock", map[string]any{}); got.status != http.StatusOK {
			t.Fatalf("got %d %s; want %v", got.status, got.body, http.StatusOK)
		}
		if got := a.at(other).execute(details, map[string]any{"id": "p"}, nil); got.status != http.StatusUnauthorized {
			t.Errorf("a PAT from before: %d %s; want %v", got.status, got.body, http.StatusUnauthorized)
		}
		a.agree()
		for _, where := range gates {
			until(t, http.StatusOK, func() answer { return a.at(where).execute(details, map[string]any{"id": "p"}, nil) })
		}
	}
}

func TestCallsAreDeniedDuringADatabaseOutage(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	proxy := c.Proxy(t)
	dsn, err := proxy.DSN(migrated.Copy(t))
	if err != nil {
		t.Fatal(err)
	}
	g := onPostgres(t, dsn, 0)
	a := g.newAgent("agent-1").agree()
	for _, away := range []func(){proxy.Cut, proxy.Stall} {
		away()
		got := until(t, http.StatusServiceUnavailable, func() answer { return a.execute(details, map[string]any{"id": "p"}, nil) })
		if got.header.Get("Retry-After") == "" || got.reason(t) != "STORE_UNAVAILABLE" {
			t.Errorf("got %v %s", got.header, got.body)
		}
		until(t, http.StatusServiceUnavailable, func() answer { return g.adminDo("GET", "/readyz", nil) })
		if s := g.status(t).Services[0]; s.Unresolved != nil || len(s.Unread) == 0 {
			t.Errorf("the status has figures although the database is away: %+v", s)
		}
		if n := g.metric(`uimgate_unresolved_charges{service="default"}`); n != "" {
			t.Errorf("the metrics have %s unresolved charges although the database is away", n)
		}
		proxy.Heal()
		until(t, http.StatusOK, func() answer { return a.execute(order, map[string]any{"product_id": "p"}, nil) })
		until(t, http.StatusOK, func() answer { return g.adminDo("GET", "/readyz", nil) })
	}
	if log := g.log.String(); strings.Contains(log, dsn) || strings.Contains(log, "SELECT") {
		t.Error("the log contains the DSN or SQL")
	}
}

// An outcome that the process knows is stored as soon as the database is available again, without a further request.
func TestOutcomeSurvivesADatabaseOutage(t *testing.T) {
	t.Parallel()
	c := pgtest.Start(t)
	proxy := c.Proxy(t)
	dsn, err := proxy.DSN(migrated.Copy(t))
	if err != nil {
		t.Fatal(err)
	}
	g := startGate(t, setup{
		config: "store: ${file:store.url}\n" + testConfig, files: map[string]string{"store.url": dsn + "\n"},
		upstream: func(w http.ResponseWriter, _ *http.Request) {
			proxy.Cut() // between begin and settle
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"order_id":"o-1"}`))
		},
	})
	a := g.newAgent("agent-1").agree()
	key := header{"Idempotency-Key": "order-1"}
	first := a.execute(order, map[string]any{"product_id": "p"}, key)
	if charge := first.header.Get("UIM-Charge"); first.status != http.StatusOK || !strings.HasSuffix(charge, "; state=pending") {
		t.Fatalf("%d %s, UIM-Charge %q", first.status, first.body, charge)
	}
	proxy.Heal()
	again := until(t, http.StatusOK, func() answer { return a.execute(order, map[string]any{"product_id": "p"}, key) })
	if charge := again.header.Get("UIM-Charge"); string(again.body) != string(first.body) || !strings.HasSuffix(charge, "; state=captured") ||
		again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("%s, UIM-Charge %q", again.body, charge)
	}
}
