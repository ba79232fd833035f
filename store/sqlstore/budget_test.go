package sqlstore_test

import (
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/uimgate/uimgate/internal/money"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/store"
)

// A budget, or the state of an agreement, changes in a transaction that commits after Begin has read it and before Begin writes.
func TestAgreementChangesWhileCallBegins(t *testing.T) {
	t.Parallel()
	pgtest.Start(t)
	for name, test := range map[string]struct {
		change string
		want   error
	}{
		"budget": {"INSERT INTO budgets (service, agreement_id, number, record, created_at) VALUES ('s', 'a-1', 1, 'r', 1)", store.ErrBudgetChanged},
		"ended":  {"UPDATE agreements SET state = 'revoked' WHERE id = 'a-1'", pat.ErrRevoked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := ownDatabase(t)
			s := openShared(t, dsn)
			_, err := s.Agree(t.Context(), pat.NewAgreement{
				Agreement: pat.Agreement{
					ID: "a-1", Service: "s", AgentID: "agent", KeyID: "k", PublicKey: []byte{1}, PolicyDigest: "d", Assurance: pat.Fresh,
					Form: "f", Nonce: "n", State: pat.AgreementActive, CreatedAt: time.Now(),
				},
				Policy: pat.PolicyDocument{Service: "s", Digest: "d", Bytes: []byte("{}")}, NonceUntil: time.Now().Add(time.Hour),
			})
			if err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open("pgx", dsn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, statement := range []string{"SELECT state FROM agreements WHERE id = 'a-1' FOR UPDATE", test.change} {
				if _, err := tx.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			began := make(chan error, 1)
			go func() {
				_, err := s.Begin(t.Context(), store.BeginRequest{
					Execution: store.Execution{ID: "e-1", Service: "s", AgentID: "agent", AgreementID: "a-1"}, Planned: true, BudgetNumber: new(int),
					Candidates: []store.Candidate{{Charge: money.Amount{Nano: 1, Currency: "EUR"}}}, Hold: time.Minute,
					Billing: store.Billing{Credit: money.Amount{Nano: 10, Currency: "EUR"}},
				})
				began <- err
			}()
			conn, err := pgx.Connect(t.Context(), dsn)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close(t.Context()) })
			for waiting := 0; waiting == 0 && len(began) == 0; {
				const query = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND " +
					"pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())"
				if err := conn.QueryRow(t.Context(), query).Scan(&waiting); err != nil {
					t.Fatal(err)
				}
			}
			if err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if err := <-began; !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}
