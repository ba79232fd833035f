package main

import (
	"context"
	"database/sql"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	_ "modernc.org/sqlite" // the database is changed behind the gateway's back

	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
)

func TestALedgerThatDoesNotAddUpIsNoticed(t *testing.T) {
	t.Parallel()
	g := startOperated(t)
	token, _ := g.agree("agent-1")
	g.post("/api/intents/execute", token, ordering)
	g.stop()
	cfg, problems := config.Load(g.config(), config.Overrides{Env: func(string) (string, bool) { return "", false }})
	if cfg == nil {
		t.Fatal(problems.Err())
	}
	s := command(t, "", "verify-ledger", "-c", g.config(), "-o", "json")
	if s.code != exitDone || !strings.Contains(s.out, `"ledger_entries"`) {
		t.Errorf("as it is: %+v", s)
	}
	db, err := sql.Open("sqlite", config.StatePath(cfg.Data))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "DELETE FROM ledger WHERE seq = 1"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if s := command(t, "", "verify-ledger", "-c", g.config()); s.code != exitWrong || !strings.Contains(s.errors, `agent "agent-1"`) {
		t.Errorf("with a line taken out: %+v", s)
	}
	if said := errorsAtStart(t, cfg); !strings.Contains(said, "verify-ledger") {
		t.Errorf("a gateway that starts says %q", said)
	}
}

// errorsAtStart runs a gateway until it logs an error, and returns that.
func errorsAtStart(t *testing.T, cfg *config.Config) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var said string
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.ErrorLevel)
	log := zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		said = e.Message
		cancel()
		return nil
	}))
	if err := daemon.Run(ctx, daemon.Options{Config: cfg, Log: log, Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	return said
}
