package sqlstore_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/money"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// Whoever can write to the database cannot change what was charged without a trace, even if the accounts still add up.
func TestAlteredLedgerIsFound(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]string{
		"a charge is deleted, and the account mended": `DELETE FROM ledger WHERE execution_id = '2'; DELETE FROM executions WHERE id = '2';
			UPDATE accounts SET captured = (SELECT SUM(amount) FROM executions)`,
		"the last charge is deleted, and the account mended": `DELETE FROM ledger WHERE execution_id = '3'; DELETE FROM executions WHERE id = '3';
			UPDATE accounts SET captured = (SELECT SUM(amount) FROM executions)`,
		"the last charge is deleted, and the chain cut": `DELETE FROM ledger WHERE execution_id = '3'; DELETE FROM executions WHERE id = '3';
			UPDATE accounts SET captured = (SELECT SUM(amount) FROM executions), lines = lines - 2`,
		"an amount is changed everywhere": `UPDATE ledger SET amount = amount + 1 WHERE execution_id = '2';
			UPDATE executions SET amount = amount + 1 WHERE id = '2'; UPDATE accounts SET captured = captured + 1`,
		"a charge is given to another agent": `UPDATE ledger SET agent_id = 'b' WHERE execution_id = '2';
			UPDATE executions SET agent_id = 'b' WHERE id = '2'; UPDATE accounts SET captured = captured - 3;
			INSERT INTO accounts (service, agent_id, currency, captured, lines) VALUES ('s', 'b', 'USD', 3, 1)`,
		"an intent is changed":        "UPDATE ledger SET intent = 'x' WHERE execution_id = '2'",
		"a time is changed":           "UPDATE ledger SET at = at + 1 WHERE execution_id = '2'",
		"an agreement is changed":     "UPDATE executions SET agreement_id = 'x' WHERE id = '2'",
		"a policy is changed":         "UPDATE executions SET policy_digest = 'x' WHERE id = '2'",
		"a key is changed":            "UPDATE executions SET key_id = 'x' WHERE id = '2'",
		"a decision is changed":       "UPDATE executions SET decision = 'x' WHERE id = '2'",
		"a proof is changed":          "UPDATE executions SET proof = 'x' WHERE id = '2'",
		"a request is changed":        "UPDATE executions SET fingerprint = 'x' WHERE id = '2'",
		"an outcome is changed":       "UPDATE ledger SET outcome = 'failed' WHERE execution_id = '2'",
		"an answer is changed":        "UPDATE ledger SET answer = 'x' WHERE execution_id = '2'",
		"an epoch is changed":         "UPDATE ledger SET epoch = 7 WHERE execution_id = '2'",
		"an execution is missing":     "DELETE FROM executions WHERE id = '2'",
		"two charges are exchanged":   "UPDATE ledger SET execution_id = CASE execution_id WHEN '1' THEN '2' ELSE '1' END WHERE execution_id IN ('1', '2')",
		"a top-up has another amount": "UPDATE ledger SET amount = amount + 1 WHERE to_state = ''; UPDATE accounts SET topped_up = topped_up + 1",
		"a top-up has another name":   "UPDATE ledger SET reference = 'x' WHERE to_state = ''",
		"the first entries are cut":   "DELETE FROM ledger WHERE to_state = ''; UPDATE accounts SET topped_up = 0",
		"the first entries are cut, and the account mended": `DELETE FROM ledger WHERE to_state = '';
			UPDATE accounts SET topped_up = 0, kept = 1`,
		"two entries have one hash": "UPDATE ledger SET leaf = (SELECT leaf FROM ledger WHERE k = 1) WHERE k = 2",
		"all entries of an account": "DELETE FROM ledger; DELETE FROM executions; UPDATE accounts SET topped_up = 0, captured = 0",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := openStore(t, dir)
			if _, err := s.TopUp(t.Context(), store.TopUp{Service: "s", AgentID: "agent-7", Amount: money.Amount{Nano: 1000, Currency: "USD"}}); err != nil {
				t.Fatal(err)
			}
			for _, id := range []string{"1", "2", "3"} {
				if err := paidCall(t.Context(), s, id); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			place := filepath.Join(dir, "state.db")
			if _, err := sqlstore.Verify(t.Context(), place); err != nil {
				t.Fatal(err)
			}
			if _, err := otherProcess(t, dir).ExecContext(t.Context(), change); err != nil {
				t.Fatal(err)
			}
			if _, err := sqlstore.Verify(t.Context(), place); !errors.Is(err, store.ErrAltered) && !errors.Is(err, store.ErrUnbalanced) {
				t.Errorf("got %v, want an error", err)
			}
		})
	}
}

// A database of a release without chains gets one for each account, which begins with its sums.
func TestAccountsFromBeforeGetChains(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openStore(t, dir)
	for _, id := range []string{"1", "2"} {
		if err := paidCall(t.Context(), s, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	const before = "UPDATE ledger SET k = -1, prev = x'', leaf = x'', outcome = ''; UPDATE accounts SET lines = 0, head = x''"
	if _, err := otherProcess(t, dir).ExecContext(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	if err := paidCall(t.Context(), s, "3"); err != nil {
		t.Fatal(err)
	}
	list, err := s.Entries(t.Context(), store.EntryFilter{Service: "s", AgentID: "agent-7", Currency: "USD", After: -1})
	if err != nil || len(list) != 3 {
		t.Fatalf("got %d entries, %v; want a carry and two of the third call", len(list), err)
	}
	if err := s.CheckBalance(t.Context()); err != nil {
		t.Error(err)
	}
	s.KeepLedger(-time.Hour)
	for range 2 {
		if _, err := s.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.CheckBalance(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
