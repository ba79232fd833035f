package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// pastTime is the time at which the state in testdata/888c3cd was created.
var pastTime = time.Date(2026, 3, 14, 15, 9, 26, 535_897_932, time.UTC)

// pastEngines are both engines, each with a database from the release of commit 888c3cd.
var pastEngines = map[string]func(t *testing.T) (place string, change func(statements string)){
	"SQLite": func(t *testing.T) (string, func(string)) {
		t.Helper()
		place := filepath.Join(t.TempDir(), "state.db")
		change := func(statements string) {
			t.Helper()
			db, err := sql.Open("sqlite", place)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			if _, err := db.ExecContext(t.Context(), statements); err != nil {
				t.Fatal(err)
			}
		}
		change(fixture(t, "888c3cd.sqlite.sql"))
		return place, change
	},
	"PostgreSQL": func(t *testing.T) (string, func(string)) {
		t.Helper()
		c := pgtest.Start(t)
		name, err := c.CreateDatabase(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		change := func(statements string) { t.Helper(); onDatabase(t, c.DSN(name), statements) }
		change(fixture(t, "888c3cd.postgres.sql"))
		return c.DSN(name), change
	},
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// onBoth runs a test on both engines.
func onBoth(t *testing.T, test func(t *testing.T, place string, change func(string))) {
	t.Helper()
	for name, make := range pastEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			place, change := make(t)
			test(t, place, change)
		})
	}
}

func openWith(ctx context.Context, place string, services *store.Services) (*sqlstore.Store, error) {
	now := func() time.Time { return pastTime.Add(time.Minute) }
	return sqlstore.OpenByClock(ctx, place, sqlstore.Options{Now: now, Services: services})
}

func served(list ...store.Service) *store.Services { return &store.Services{Served: list} }

const pastIssuer = "shop.example"

// holds checks that a service has all the state that the release of commit 888c3cd recorded.
func holds(t *testing.T, s *sqlstore.Store, service string) {
	t.Helper()
	ctx := t.Context()
	blocked, err := s.Agent(ctx, service, "other")
	if err != nil || blocked.Status != pat.AgentBlocked {
		t.Errorf("the blocked agent: %+v, %v; want no error and Status %v", blocked, err, pat.AgentBlocked)
	}
	changes, _, err := s.Changes(ctx, 0)
	revoked := slices.ContainsFunc(changes, func(c pat.Change) bool {
		return c.Revocation != nil && c.Revocation.Service == service && c.Revocation.Kind == pat.RevokedToken
	})
	if err != nil || !revoked {
		t.Errorf("the revoked PAT: %v, %v", changes, err)
	}
	accounts, err := s.Accounts(ctx, store.Filter{Service: service, AgentID: "agent-1"})
	if err != nil || len(accounts) != 1 || accounts[0].Captured.Nano != 250_000_000 || accounts[0].Held.Nano != 125_000_000 ||
		accounts[0].ToppedUp.Nano != money.Unit {
		t.Errorf("the account: %+v, %v", accounts, err)
	}
	day := limit.Limit{ID: "0123456789abcdef", Rate: limit.Rate{Max: 2, Period: limit.Day}}
	call := store.BeginRequest{
		Execution:  store.Execution{ID: "01900000-0000-7000-8000-999999999999", Service: service, AgentID: "agent-1", Intent: "example.com:buy:v1"},
		Candidates: []store.Candidate{{Rule: "rule", Limits: []store.Reservation{{Principal: "agent-1", Limit: day}}}},
		Hold:       time.Minute, KeyFor: time.Hour,
	}
	if _, err := s.Begin(ctx, call); !isLimit(err) {
		t.Errorf("a call beyond the limit: %v", err)
	}
	call.Candidates[0].Limits = nil
	call.Execution.IdempotencyKey = "order-1"
	if _, err := s.Begin(ctx, call); !errors.Is(err, store.ErrKeyReused) {
		t.Errorf("a used idempotency key: %v, want %v", err, store.ErrKeyReused)
	}
	if err := s.CheckBalance(ctx); err != nil {
		t.Error(err)
	}
}

func isLimit(err error) bool { _, ok := errors.AsType[*store.LimitError](err); return ok }

// Under a new id, a service would lose its revocations, blocks, counts and charges. Its state is moved, or Open fails.
func TestServiceWithNewIDKeepsItsState(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, place string, _ func(string)) {
		t.Helper()
		_, err := openWith(t.Context(), place, served(store.Service{ID: "new", Issuer: pastIssuer}))
		lost, ok := errors.AsType[store.ServicesError](err)
		if !ok || len(lost) != 1 || lost[0].Key != "id" || !strings.Contains(lost[0].Message, "formerly: shop") {
			t.Fatalf("%v; want an error that the state of shop would be lost", err)
		}
		if _, err := sqlstore.CheckServices(t.Context(), place, *served(store.Service{ID: "new", Issuer: pastIssuer})); !isLost(err) {
			t.Errorf("check: %v", err)
		}
		s, err := openWith(t.Context(), place, &store.Services{Served: []store.Service{{ID: "new", Issuer: "x"}}, Unserved: []string{"shop"}})
		if err != nil {
			t.Fatal(err)
		}
		// A reload does not move the state, because calls of the old id may be running.
		moving := served(store.Service{ID: "new", Issuer: pastIssuer, Formerly: "shop"}, store.Service{ID: "second", Issuer: "second.example"})
		if _, err := s.CompareServices(t.Context(), *moving); !isLost(err) || !strings.Contains(err.Error(), "restart") {
			t.Errorf("a reload: %v", err)
		}
		must(t, s.Close())
		for range 2 { // the second process finds the state moved
			s, err := openWith(t.Context(), place, moving)
			if err != nil {
				t.Fatal(err)
			}
			holds(t, s, "new")
			if agents, err := s.Agents(t.Context(), store.AgentFilter{Service: "shop"}); err != nil || len(agents) > 0 {
				t.Errorf("the former id has %v, %v; want none, nil", agents, err)
			}
			must(t, s.Close())
		}
		_, err = openWith(t.Context(), place, served(store.Service{ID: "shop", Issuer: pastIssuer}))
		if !isLost(err) {
			t.Errorf("the former configuration: %v", err)
		}
	})
}

func isLost(err error) bool { _, ok := errors.AsType[store.ServicesError](err); return ok }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The states of two services are not merged.
func TestStateIsNotMerged(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, place string, change func(string)) {
		t.Helper()
		s, err := openWith(t.Context(), place, nil)
		must(t, err)
		must(t, s.Close())
		change("INSERT INTO services (id, issuer) VALUES ('new', 'new.example'); " +
			"INSERT INTO agents (service, id, status, created_at) VALUES ('new', 'a', 'active', 1)")
		_, err = openWith(t.Context(), place, served(store.Service{ID: "new", Issuer: "new.example", Formerly: "shop"}))
		if !isLost(err) || !strings.Contains(err.Error(), "cannot be merged") {
			t.Fatal(err)
		}
	})
}

// PATs and agreements name the issuer. If it changes because intents were reordered, all of them become invalid at once.
func TestIssuerChangeNeedsConfiguration(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, place string, _ func(string)) {
		t.Helper()
		_, err := openWith(t.Context(), place, served(store.Service{ID: "shop", Issuer: "other.example"}))
		if !isLost(err) || !strings.Contains(err.Error(), "issuer: "+pastIssuer) {
			t.Fatalf("%v; want the setting to add", err)
		}
		s, err := openWith(t.Context(), place, served(store.Service{ID: "shop", Issuer: pastIssuer}))
		must(t, err)
		if _, err := s.CompareServices(t.Context(), *served(store.Service{ID: "shop", Issuer: "other.example"})); !isLost(err) {
			t.Errorf("a reload: %v", err)
		}
		intended := served(store.Service{ID: "shop", Issuer: "other.example", IssuerSet: true})
		if found, err := s.CompareServices(t.Context(), *intended); err != nil || len(found) != 1 {
			t.Errorf("an intended change: %v, %v; want one warning", found, err)
		}
		must(t, s.Close())
		s, err = openWith(t.Context(), place, served(store.Service{ID: "shop", Issuer: "other.example"}))
		must(t, err)
		must(t, s.Close())
	})
}

// The rows of a table that is not in ServiceTables would keep the former id.
func TestEveryTableWithAServiceIsMoved(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, place string, _ func(string)) {
		t.Helper()
		s, err := openWith(t.Context(), place, nil)
		must(t, err)
		tables, err := sqlstore.TablesWithService(t.Context(), s)
		must(t, errors.Join(err, s.Close()))
		want := slices.Sorted(slices.Values(sqlstore.ServiceTables()))
		if !strings.HasPrefix(place, "postgres") {
			want = slices.DeleteFunc(want, func(table string) bool { return table == "nonces" })
		}
		if !slices.Equal(tables, want) {
			t.Errorf("%v have a column service; %v follow", tables, want)
		}
	})
}

// A nonce that was used for a service stays used after the service has a new id.
func TestUsedNoncesStayUsedAfterMove(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, place string, _ func(string)) {
		t.Helper()
		call := store.BeginRequest{
			Execution:  store.Execution{ID: "01900000-0000-7000-8000-888888888888", AgentID: "agent-1", Intent: "example.com:buy:v1"},
			Candidates: []store.Candidate{{Rule: "rule"}}, Hold: time.Minute,
			Nonce: &store.Nonce{KeyID: "key", ID: "once", Until: pastTime.Add(time.Hour)},
		}
		for i, id := range []string{"shop", "new", "newer"} {
			one := store.Service{ID: id, Issuer: pastIssuer}
			if i > 0 {
				one.Formerly = []string{"shop", "new"}[i-1]
			}
			s, err := openWith(t.Context(), place, served(one))
			must(t, err)
			call.Execution.Service = id
			if _, err := s.Begin(t.Context(), call); (i == 0) != (err == nil) || i > 0 && !errors.Is(err, store.ErrNonceUsed) {
				t.Errorf("%s: %v", id, err)
			}
			must(t, s.Close())
		}
	})
}
