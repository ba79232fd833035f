package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/uimgate/uimgate/bindings"
	"github.com/uimgate/uimgate/config"
	"github.com/uimgate/uimgate/internal/daemon"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
)

func TestUnbalancedLedgerIsReported(t *testing.T) {
	t.Parallel()
	g := startGatewayWithOperator(t)
	token, _ := g.agree("agent-1")
	g.post("/api/intents/execute", token, ordering)
	file, err := os.Stat(filepath.Join(g.dir, "data", "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	var found daemon.Copy
	running := command(t, "", "verify-ledger", "-c", g.config(), "-o", "json")
	if err := json.Unmarshal([]byte(running.out), &found); err != nil || found.Bytes <= file.Size() {
		t.Errorf("got %+v, %v; want more than the %d bytes of the file, because the write-ahead log has the rest", running, err, file.Size())
	}
	g.stop()
	cfg, problems := config.Load(g.config(), config.Overrides{
		Blocks: bindings.Blocks(), Env: func(string) (string, bool) { return "", false },
	})
	if cfg == nil {
		t.Fatal(problems.Err())
	}
	s := command(t, "", "verify-ledger", "-c", g.config(), "-o", "json")
	if s.code != exitDone || !strings.Contains(s.out, `"ledger_entries"`) {
		t.Errorf("unchanged: %+v; want code %v and out containing %q", s, exitDone, `"ledger_entries"`)
	}
	sqlitetest.Alter(t, config.StatePath(cfg.Data), "DELETE FROM ledger WHERE seq = (SELECT MIN(seq) FROM ledger)")
	if s := command(t, "", "verify-ledger", "-c", g.config()); s.code != exitWrong || !strings.Contains(s.errors, `agent "agent-1"`) {
		t.Errorf("without one entry: %+v; want code %v and errors containing %q", s, exitWrong, `agent "agent-1"`)
	}
	if text := errorsAtStart(t, cfg); !strings.Contains(text, "verify-ledger") {
		t.Errorf("a gateway logs %q at its start, want a text that contains %q", text, "verify-ledger")
	}
}

// errorsAtStart runs a gateway until it logs an error, and returns the message.
func errorsAtStart(t *testing.T, cfg *config.Config) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var text string
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Discard), zap.ErrorLevel)
	log := zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		text = e.Message
		cancel()
		return nil
	}))
	if err := daemon.Run(ctx, daemon.Options{Config: cfg, Log: log, Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	return text
}
