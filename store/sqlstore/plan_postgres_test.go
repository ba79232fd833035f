package sqlstore_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// PostgreSQL caches plans that are independent of the arguments. Such a plan must not scan a table that grows.
func TestPostgresPlansScanNoGrowingTable(t *testing.T) {
	t.Parallel()
	pgtest.Start(t)
	place := ownDatabase(t)
	s := storeWithData(t, place, sqlstore.GrownTokens, sqlstore.GrownEntries, time.Now().Add(time.Hour), time.Now().Add(-time.Hour))
	seen := sqlstore.Statements(s)
	if err := paidCall(t.Context(), s, "one"); err != nil {
		t.Fatal(err)
	}
	if err := pay(t.Context(), s, "two", store.Unresolved); err != nil {
		t.Fatal(err)
	}
	scope := store.CallScope{Service: "s", AgentID: "agent-7", Intents: []string{"i", "j"}, Namespaces: []string{"n"}}
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := s.Purge(ctx); return err },
		func(ctx context.Context) error { _, err := s.Sweep(ctx); return err },
		func(ctx context.Context) error { _, err := s.Resolve(ctx, "s", "two", store.Released); return err },
		func(ctx context.Context) error {
			_, err := s.Statements(ctx,
				store.StatementFilter{Service: "s", AgentID: "agent-7", From: time.Now().Add(-2 * time.Hour), To: time.Now()})
			return err
		},
		func(ctx context.Context) error {
			_, err := s.Ledger(ctx, store.Filter{Service: "s", AgentID: "agent-7", After: "900"})
			return err
		},
		func(ctx context.Context) error {
			_, err := s.Executions(ctx, store.Filter{Service: "s", State: store.Unresolved})
			return err
		},
		func(ctx context.Context) error {
			_, _, err := s.Calls(ctx, store.CallFilter{
				CallScope: scope, Status: store.CallDone, Since: time.Now(), After: store.CallCursor{ID: "x"},
			})
			return err
		},
		func(ctx context.Context) error {
			_, _, err := s.Calls(ctx, store.CallFilter{CallScope: scope, ContextID: "c"})
			return err
		},
		func(ctx context.Context) error {
			if _, err := s.KeyedCall(ctx, scope, "none"); !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return nil
		},
		func(ctx context.Context) error {
			_, err := s.Accounts(ctx, store.Filter{Service: "s", Limit: 10})
			return err
		},
		func(ctx context.Context) error {
			_, err := s.Tokens(ctx, store.TokenFilter{Service: "s", Limit: 10})
			return err
		},
		func(ctx context.Context) error { _, err := s.Token(ctx, "s", "grown-1000000007"); return err },
		func(ctx context.Context) error {
			_, err := s.TopUp(ctx, store.TopUp{Service: "s", AgentID: "agent-7", Amount: money.Amount{Nano: 1, Currency: "USD"}, Reference: "r"})
			return err
		},
	} {
		if err := do(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	db, err := sql.Open("pgx", place)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), "SET plan_cache_mode = force_generic_plan"); err != nil {
		t.Fatal(err)
	}
	explained := 0
	for n, query := range seen() {
		verb, _, _ := strings.Cut(query, " ")
		switch verb {
		case "SELECT", "INSERT", "UPDATE", "DELETE":
		default:
			continue
		}
		plan, err := genericPlan(t.Context(), db, fmt.Sprintf("q%d", n), query)
		if err != nil {
			t.Errorf("%v\n\t%s", err, query)
			continue
		}
		explained++
		if m := regexp.MustCompile(`Seq Scan on (ledger|executions|tokens)\b`).FindString(plan); m != "" {
			t.Errorf("%s\n\t%s\n%s", m, query, plan)
		}
	}
	if explained < 25 {
		t.Errorf("only %d statements were explained", explained)
	}
}

var parameter = regexp.MustCompile(`\$(\d+)`)

func genericPlan(ctx context.Context, db *sql.DB, name, query string) (string, error) {
	most := 0
	for _, m := range parameter.FindAllStringSubmatch(query, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			return "", err
		}
		most = max(most, n)
	}
	if _, err := db.ExecContext(ctx, "PREPARE "+name+" AS "+query); err != nil {
		return "", err
	}
	execute := "EXPLAIN EXECUTE " + name
	if most > 0 {
		execute += "(" + strings.TrimSuffix(strings.Repeat("NULL, ", most), ", ") + ")"
	}
	rows, err := db.QueryContext(ctx, execute)
	if err != nil {
		return "", err
	}
	defer func() { _ = rows.Close() }()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return "", err
		}
		plan.WriteString(line + "\n")
	}
	return plan.String(), rows.Err()
}
