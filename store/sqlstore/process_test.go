package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"hash/maphash"
	"slices"
	"strings"
	"testing"
	"time"
)

// A process is a store whose transactions a test makes: it chooses which operations share one, and what becomes of it.
type process struct {
	s     *Store
	w     *writer
	fault fault // of the next commit
}

type fault int

const (
	noFault fault = iota
	lostBefore
	lostAfter // what was committed is said to have failed
)

var errFault = errors.New("an I/O error")

// A world is the time in which processes live.
type world struct {
	now time.Time
	up  time.Duration
}

func (w *world) pass(d time.Duration) { w.now, w.up = w.now.Add(d), w.up+d }

// begin starts a process on the database at path. told is called with each record of the journal that is written.
func begin(t *testing.T, path string, in *world, journals bool, told func()) *process {
	t.Helper()
	p, d := &process{}, sqliteDialect()
	d.journals = journals
	send := d.send
	d.send = func(ctx context.Context, w *writer, list []command) error {
		if slices.ContainsFunc(list, func(c command) bool { return c.query == insertRecord }) {
			told()
		}
		if n := len(list); p.fault == noFault || n == 0 || list[n-1].query != "COMMIT" {
			return send(ctx, w, list)
		}
		was := p.fault
		if p.fault = noFault; was == lostBefore {
			return errFault
		}
		return errors.Join(send(ctx, w, list), errFault)
	}
	p.s = newStore(Options{
		Now: func() time.Time { return in.now }, Elapsed: func() time.Duration { return in.up }, TokensKept: leastTokensKept,
	}, d)
	p.s.used, p.s.seed, p.s.ending = newRecent(8), maphash.MakeSeed(), make(chan struct{})
	if err := p.s.open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	lane := make(chan *op, 256)
	p.s.lanes, p.s.others, p.s.groups = []chan *op{lane}, lane, lane
	p.w = &writer{s: p.s, lane: lane}
	return p
}

// kill ends a process as it is.
func (p *process) kill(t *testing.T) {
	t.Helper()
	p.w.drop()
	if err := errors.Join(p.s.read.Close(), p.s.write.Close()); err != nil {
		t.Error(err)
	}
}

// together runs calls whose first operations share a transaction; what they do after that each does alone.
func (p *process) together(ctx context.Context, calls ...func()) {
	var batch []*op
	ended := make([]chan struct{}, len(calls))
	for i, call := range calls {
		ended[i] = make(chan struct{})
		go func() {
			defer close(ended[i])
			call()
		}()
		select {
		case o := <-p.w.lane:
			batch = append(batch, o)
		case <-ended[i]:
		}
	}
	if len(batch) > 0 {
		_ = p.w.commit(ctx, batch)
	}
	for _, end := range ended {
		for open := true; open; {
			select {
			case o := <-p.w.lane:
				_ = p.w.commit(ctx, []*op{o})
			case <-end:
				open = false
			}
		}
	}
}

// dump returns all rows of a database, after what is pending was written into its tables.
func (p *process) dump(t *testing.T, path string) map[string]string {
	t.Helper()
	p.w.catchUp(t.Context())
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
	if err := drain(rows, func(scan scan) error {
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
		if err := drain(rows, func(scan scan) error {
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
