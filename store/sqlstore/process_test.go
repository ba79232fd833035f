package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/sqlstore/calls"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/journal"
)

// A process is a store whose transactions the test runs: it chooses the operations of each transaction and whether its commit fails.
type process struct {
	s       *Store
	step    *engine.Stepper
	journal *journal.Journal
	fault   fault // for the next commit
	dead    bool  // nothing is sent to the database any longer
}

type fault int

const (
	noFault fault = iota
	lostBefore
	lostAfter // the commit succeeds but returns an error
)

var errFault = errors.New("an I/O error")

// A world has the clocks of the processes.
type world struct {
	now time.Time
	up  time.Duration
}

func (w *world) pass(d time.Duration) { w.now, w.up = w.now.Add(d), w.up+d }

// begin starts a process on the database at path. It calls text before each insertion into the journal.
func begin(t *testing.T, path string, in *world, journals bool, text func()) *process {
	t.Helper()
	p, d := &process{}, engine.SQLite()
	send := d.Send
	d.Send = func(ctx context.Context, w *engine.Writer, list []engine.Command) error {
		if p.dead {
			return errFault
		}
		if slices.ContainsFunc(list, func(c engine.Command) bool { return strings.HasPrefix(c.Query, "INSERT INTO journal") }) {
			text()
		}
		if n := len(list); p.fault == noFault || n == 0 || list[n-1].Query != "COMMIT" {
			return send(ctx, w, list)
		}
		was := p.fault
		if p.fault = noFault; was == lostBefore {
			return errFault
		}
		return errors.Join(send(ctx, w, list), errFault)
	}
	var err error
	p.s, err = connect(t.Context(), path, Options{
		Now: func() time.Time { return in.now }, Elapsed: func() time.Duration { return in.up },
	}, d, func(db *engine.DB) calls.Journal {
		if !journals {
			return nil
		}
		p.journal = journal.New(db)
		return p.journal
	})
	if err != nil {
		t.Fatal(err)
	}
	p.step = p.s.db.Step()
	return p
}

// kill ends a process without closing its store.
func (p *process) kill(t *testing.T) {
	t.Helper()
	if err := p.step.Kill(); err != nil {
		t.Error(err)
	}
}

// together runs calls whose first operations share a transaction. Each further operation has its own.
func (p *process) together(ctx context.Context, calls ...func()) { p.step.Together(ctx, calls...) }

// dump returns all rows of a database after its pending changes were written into the tables.
func (p *process) dump(t *testing.T, path string) map[string]string {
	t.Helper()
	p.step.CatchUp(t.Context())
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	columns := map[string][]string{}
	rows, err := db.QueryContext(t.Context(), "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "+
		"WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name <> 'goose_db_version' ORDER BY m.name, c.cid")
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Drain(rows, func(scan engine.Scan) error {
		var table, column string
		err := scan(&table, &column)
		columns[table] = append(columns[table], "quote("+column+")")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for table, names := range columns {
		var all strings.Builder
		rows, err := db.QueryContext(t.Context(), "SELECT "+strings.Join(names, " || ' ' || ")+" AS line FROM "+table+" ORDER BY line")
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Drain(rows, func(scan engine.Scan) error {
			var line string
			err := scan(&line)
			all.WriteString(line + "\n")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		out[table] = all.String()
	}
	if out["journal"] != "" || out["executions"] == "" {
		t.Errorf("the journal has %q, and there are %d bytes of executions", out["journal"], len(out["executions"]))
	}
	return out
}
