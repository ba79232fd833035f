package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/billing"
	"github.com/uimgate/uimgate/internal/daemon"
	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// For PostgreSQL, operators use its own tools for dumps. A restore has the same consequences.
func TestAfterExternalRestoreOfPostgres(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	g := startGatewayWithOperator(t)
	g.stop()
	text, err := os.ReadFile(g.config())
	if err != nil {
		t.Fatal(err)
	}
	g.write("uimgate.yaml", string(text)+"store: "+dsn+"\n")
	if s := command(t, "", "check", "-c", g.config()); s.code != exitDone || strings.Contains(s.errors, "damaged") ||
		!strings.Contains(s.errors, "the database is empty: the gateway creates its tables when it starts") {
		t.Errorf("check of an empty database: %+v", s)
	}
	if s := command(t, "", "verify-ledger", "-c", g.config()); s.code != exitWrong || !strings.Contains(s.errors, "the database is empty") {
		t.Errorf("verify-ledger of an empty database: %+v", s)
	}
	g.start()
	if s := command(t, "", "check", "-c", g.config()); s.code != exitDone || strings.Contains(s.errors, "empty") {
		t.Errorf("check of a database in use: %+v", s)
	}
	token, _ := g.agree("agent-1")
	g.post("/api/intents/execute", token, ordering)
	if s := command(t, "", "backup", filepath.Join(t.TempDir(), "b.db"), "-c", g.config()); s.code != exitWrong ||
		!strings.Contains(s.errors, "pg_dump") {
		t.Errorf("got %+v; want code %v and errors containing %q", s, exitWrong, "pg_dump")
	}
	g.stop()
	s := command(t, "", "restore", "--after-external", "-c", g.config(), "-o", "json")
	var made daemon.Copy
	if err := json.Unmarshal([]byte(s.out), &made); err != nil || s.code != exitDone || made.Agreements != 1 || made.Entries != 2 ||
		strings.Contains(s.out, "postgres://") {
		t.Fatalf("got %+v, %v", s, err)
	}
	if s := command(t, "", "verify-ledger", "-c", g.config()); s.code != exitDone || !strings.Contains(s.out, "postgres") ||
		strings.Contains(s.out, "file") || strings.Contains(s.out, "bytes") {
		t.Errorf("the output does not fit PostgreSQL: %+v", s)
	}
	g.start()
	if got := string(g.post("/api/intents/execute", token, ordering)); !strings.Contains(got, `"UNAUTHORIZED"`) {
		t.Errorf("an earlier PAT: %s, want a text that contains %q", got, `"UNAUTHORIZED"`)
	}
	if list := want[api.Page[billing.Statement]](g, "usage", "statements"); len(list.Items) != 1 ||
		list.Items[0].Closing.Unresolved != "0.25" {
		t.Errorf("got %+v; want Items of length 1 and Items[0].Closing.Unresolved %q", list, "0.25")
	}
	again, _ := g.agree("agent-2")
	if got := string(g.post("/api/intents/execute", again, ordering)); !strings.Contains(got, `"UPSTREAM_ERROR"`) {
		t.Errorf("pat.limit refuses a call after the restore: %s, want a text that contains %q", got, `"UPSTREAM_ERROR"`)
	}
}
