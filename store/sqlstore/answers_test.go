package sqlstore_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/internal/reason"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// The previous schema kept answers as bodies of HTTP. Idempotency keys are kept for a day, so they outlive an upgrade.
func TestAnswersOfPreviousSchemaAreReadable(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { answersOfOldSchema(t, filepath.Join(t.TempDir(), "state.db"), `\u0000`) })
	t.Run("postgres", func(t *testing.T) { answersOfOldSchema(t, pgtest.Start(t).Database(t), `\ufffd`) })
}

// answersOfOldSchema upgrades a database at place, which converts an escaped NUL to nul.
func answersOfOldSchema(t *testing.T, place, nul string) {
	t.Helper()
	const (
		execution = `INSERT INTO executions (id, service, agent_id, idem_key, fingerprint, intent, agreement_id, token_id, policy_digest, rule,
			amount, currency, state, outcome, begun_at, deadline, settled_at, forget_at)
			VALUES ($1, 's', 'a', $2, 'f', 'i', 'g', 't', 'd', 'r', 0, '', 'captured', 'done', 1, 2, 3, 0)`
		answer   = "INSERT INTO answers (execution_id, status, content_type, reason, body) VALUES ($1, $2, 'application/json', $3, $4)"
		output   = `{"Größe": 1.50, "n": 12345678901234567890}`
		details  = `{"outcome":"failed","reason":"UPSTREAM_REJECTED","upstream":{"message":"kein \"Lämpchen\" \u0000","status":404}}`
		envelope = `{"error":{"code":"NOT_FOUND","details":` + details + `,"message":"The service behind the gateway rejected the call."}}`
	)
	db := sqlstore.AtVersion(t, place, 4)
	run := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"e-1", "e-2", "e-3"} {
		run(execution, id, "k-"+id)
	}
	run(answer, "e-1", 200, "", []byte(output))
	run(answer, "e-2", 404, "UPSTREAM_REJECTED", []byte(envelope))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := sqlstore.Open(t.Context(), place, sqlstore.Options{Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for id, want := range map[string]*store.Answer{
		"e-1": {Output: []byte(output)},
		"e-2": {
			Reason: reason.UpstreamRejected, Code: reason.CodeNotFound, Message: "The service behind the gateway rejected the call.",
			Details: []byte(strings.ReplaceAll(details, `\u0000`, nul)),
		},
		"e-3": nil,
	} {
		got, err := s.Execution(t.Context(), "s", id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Answer); diff != "" {
			t.Errorf("%s (-want +got):\n%s", id, diff)
		}
	}
}
