//go:build soak

package soak

import (
	"context"
	"syscall"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// expansion is the migration of a later release that only adds to the schema. Each statement is a separate transaction.
var expansion = []string{
	"ALTER TABLE executions ADD COLUMN later_note TEXT",
	"ALTER TABLE accounts ADD COLUMN later_limit BIGINT NOT NULL DEFAULT 0",
	"CREATE TABLE later_entries (id TEXT PRIMARY KEY, execution_id TEXT NOT NULL)",
	"CREATE INDEX later_executions ON executions (agent_id, begun_at)",
	"INSERT INTO goose_db_version (version_id, is_applied) VALUES (1000, true)",
}

// laterWrites are the writes of the later release while the earlier one runs: its new column, and its new table.
const laterWrites = `UPDATE executions SET later_note = 'seen' WHERE id IN
	(SELECT id FROM executions WHERE later_note IS NULL LIMIT 20 FOR UPDATE SKIP LOCKED);
	INSERT INTO later_entries (id, execution_id) SELECT gen_random_uuid()::text, id FROM executions ORDER BY id DESC LIMIT 1`

// While three processes serve, a later release adds to the schema and writes to its additions. The processes continue to work, and can be
// restarted. The processes never lose a call, execute one twice or admit one over a limit.
func TestTwoReleasesSideBySide(t *testing.T) {
	server := pgtest.Start(t)
	w, database := postgresWorldOn(t, server)
	w.invite()
	written := 0
	w.runAndJudge(doorAgentsFloor(), func() {
		run := func(statement string) {
			if err := server.Exec(context.WithoutCancel(t.Context()), database, statement); err != nil {
				t.Errorf("%s: %v", statement, err)
			}
		}
		pause(w.over, 5*time.Second)
		for _, statement := range expansion {
			run(statement)
			pause(w.over, random(200*time.Millisecond, time.Second))
		}
		for _, g := range w.gateways { // each restarts on the schema of the later release
			for range 40 {
				if !pause(w.over, 50*time.Millisecond) {
					return
				}
				run(laterWrites)
				written++
			}
			if err := g.end(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
			if err := g.start(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		}
		for pause(w.over, 50*time.Millisecond) {
			run(laterWrites)
			written++
		}
	})
	if t.Logf("number of writes of the later release: %d", written); written < 100 {
		t.Errorf("number of writes of the later release: %d, want at least 100", written)
	}
}
