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

// A gateway that moves from SQLite to PostgreSQL keeps its agents, tokens and accounts, and does not start without them.
func TestMoveStore(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t).Database(t)
	g := startGatewayWithOperator(t)
	token, _ := g.agree("agent-1")
	g.post("/api/intents/execute", token, ordering)
	before := want[api.Page[billing.Statement]](g, "usage", "statements")
	if s := command(t, "", "move-store", "-c", g.config()); s.code != exitWrong || !strings.Contains(s.errors, "write its URL under store") {
		t.Errorf("move-store without PostgreSQL: %+v", s)
	}
	text, err := os.ReadFile(g.config())
	if err != nil {
		t.Fatal(err)
	}
	moving := filepath.Join(g.dir, "moving.yaml") // the running gateway does not read it
	g.write("moving.yaml", string(text)+"store: "+dsn+"\n")
	if s := command(t, "", "move-store", "-c", moving); s.code != exitWrong ||
		!strings.Contains(s.errors, "only while the gateway is stopped") {
		t.Errorf("move-store while the gateway runs: %+v", s)
	}
	g.stop()
	g.write("uimgate.yaml", string(text)+"store: "+dsn+"\n")
	for _, line := range [][]string{{"check"}, {"serve"}} {
		if s := command(t, "", append(line, "-c", g.config())...); s.code == exitDone ||
			!strings.Contains(s.errors, "run uimgate move-store to move it, or rename that file to start without it") {
			t.Errorf("%s before the move: %+v", line, s)
		}
	}
	s := command(t, "", "move-store", "-c", g.config(), "-o", "json")
	var moved daemon.Copy
	if err := json.Unmarshal([]byte(s.out), &moved); err != nil || s.code != exitDone || moved.Engine != "postgres" || moved.Agents != 1 ||
		moved.Entries != 2 || strings.Contains(s.out+s.errors, "postgres://") {
		t.Fatalf("got %+v, %v", s, err)
	}
	if _, err := os.Stat(moved.SetAside); err != nil {
		t.Error(err)
	}
	if s := command(t, "", "move-store", "-c", g.config()); s.code != exitWrong || !strings.Contains(s.errors, "does not exist: check") {
		t.Errorf("move-store for the second time: %+v", s)
	}
	if s := command(t, "", "verify-ledger", "-c", g.config()); s.code != exitDone {
		t.Errorf("verify-ledger: %+v", s)
	}
	g.start()
	after := want[api.Page[billing.Statement]](g, "usage", "statements")
	if len(after.Items) != 1 || len(before.Items) != 1 || after.Items[0].Closing != before.Items[0].Closing {
		t.Errorf("got the statements %+v; want %+v", after, before)
	}
	if got := string(g.post("/api/intents/execute", token, ordering)); !strings.Contains(got, `"UPSTREAM_ERROR"`) {
		t.Errorf("a call with the earlier PAT: %s, want a text that contains %q", got, `"UPSTREAM_ERROR"`)
	}
}
