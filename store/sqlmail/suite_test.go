package sqlmail_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
	"github.com/uimgate/uimgate/store/sqlstore"
	"github.com/uimgate/uimgate/store/sqlstore/engine"
)

// A relay is a store under test.
type relay struct {
	*testing.T
	*sqlmail.Store
	db    *sqlstore.Store
	place string
	ids   atomic.Int64

	mu      sync.Mutex
	arrived []mail.Key
}

// engines are the databases that the suite runs on.
var engines = map[string]func(testing.TB) (place string){
	"sqlite": func(tb testing.TB) string {
		tb.Helper()
		path := filepath.Join(tb.TempDir(), "state.db")
		sqlitetest.Empty.Copy(tb, path)
		return path
	},
	"postgres": func(tb testing.TB) string {
		tb.Helper()
		pgtest.Start(tb)
		idle.Lock()
		defer idle.Unlock()
		var dsn string
		if n := len(idle.dsns); n > 0 {
			dsn, idle.dsns = idle.dsns[n-1], idle.dsns[:n-1]
		} else {
			dsn = database(tb)
		}
		tb.Cleanup(func() { giveBack(tb, dsn) })
		return dsn
	},
}

// idle are PostgreSQL databases that tests have finished with: creating one takes ten times as long as emptying one.
var idle struct {
	sync.Mutex
	dsns []string
}

// emptyTables resets a database to the state of a new one.
const emptyTables = `DO $$ DECLARE name TEXT; BEGIN
	FOR name IN SELECT tablename FROM pg_tables WHERE tablename LIKE 'relay%' OR tablename = 'revocations' LOOP
		EXECUTE format('DELETE FROM %I', name);
	END LOOP;
	UPDATE sequences SET n = 0;
END $$`

func giveBack(tb testing.TB, dsn string) {
	tb.Helper()
	if tb.Failed() {
		return
	}
	c, err := pgtest.Shared()
	if err == nil {
		err = c.Exec(context.WithoutCancel(tb.Context()), nameOf(dsn), emptyTables)
	}
	if err != nil {
		tb.Error(err)
		return
	}
	idle.Lock()
	defer idle.Unlock()
	idle.dsns = append(idle.dsns, dsn)
}

func nameOf(dsn string) string {
	before, _, _ := strings.Cut(dsn, "?")
	return path.Base(before)
}

func database(tb testing.TB) string {
	tb.Helper()
	dsn, err := template()
	if err != nil {
		tb.Fatal(err)
	}
	return pgtest.Start(tb).Copy(tb, dsn)
}

// template is a new PostgreSQL database that tests copy.
var template = sync.OnceValues(func() (string, error) {
	ctx := context.Background()
	c, err := pgtest.Shared()
	if err != nil {
		return "", err
	}
	name, err := c.CreateDatabase(ctx, "")
	if err != nil {
		return "", err
	}
	s, err := sqlstore.Open(ctx, c.DSN(name), sqlstore.Options{Now: time.Now})
	if err != nil {
		return "", err
	}
	return c.DSN(name), s.Close()
})

const manyAgents = 1000

func open(tb testing.TB, place string) *sqlstore.Store {
	tb.Helper()
	db, err := sqlstore.Open(tb.Context(), place, sqlstore.Options{Now: time.Now})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}

// each runs scenarios on every engine, each with its own database.
func each(t *testing.T, scenarios map[string]func(*relay)) {
	t.Helper()
	for engine, place := range engines {
		for name, scenario := range scenarios {
			t.Run(engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				scenario(newRelay(t, place(t)))
			})
		}
	}
}

func newRelay(t *testing.T, place string) *relay {
	t.Helper()
	r := &relay{T: t, db: open(t, place), place: place}
	r.Store = sqlmail.New(r.db, sqlmail.Options{MaxAgents: manyAgents, Arrived: func(k mail.Key) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.arrived = append(r.arrived, k)
	}})
	return r
}

// reopen closes the database and opens it again, as after a restart.
func (r *relay) reopen() {
	r.Helper()
	r.must(r.db.Close())
	r.db = open(r.T, r.place)
	r.Store = sqlmail.New(r.db, sqlmail.Options{MaxAgents: manyAgents})
}

// age makes all records older.
func (r *relay) age(by time.Duration) {
	r.Helper()
	r.must(r.db.Engine().Aside(r.Context(), func(ctx context.Context, x *engine.Tx) error {
		for table, columns := range map[string][]string{
			"relay_agents": {"created_at", "last_active_at"}, "relay_signatures": {"until"}, "relay_acl": {"created_at"},
			"relay_boxes": {"last_at"}, "relay_messages": {"created_at", "expires_at", "due_at"},
			"relay_keys": {"created_at", "expires_at", "until"}, "relay_blobs": {"created_at", "expires_at"},
			"relay_attachments": {"expires_at"}, "relay_webhooks": {"created_at"}, "relay_postings": {"due_at"},
		} {
			for _, column := range columns {
				if _, err := x.Exec(ctx, "UPDATE "+table+" SET "+column+" = "+column+" - ? WHERE "+column+" < 9223372036854775807",
					int64(by)); err != nil {
					return err
				}
			}
		}
		return nil
	}))
}

func (r *relay) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r *relay) want(err, want error) {
	r.Helper()
	if !errors.Is(err, want) {
		r.Fatalf("error %v; want %v", err, want)
	}
}

// key returns the key with a number. Keys are in the order of numbers.
func key(n int) (k mail.Key) {
	binary.BigEndian.PutUint64(k[24:], uint64(n))
	k[0] = byte(n)
	return k
}

var (
	alice = key(1)
	bob   = key(2)
	carol = key(3)
)

// guard returns a signature that was not used before.
func (r *relay) guard(k mail.Key) mail.Guard {
	g := mail.Guard{Key: k, Until: r.Now().Add(10 * time.Minute)}
	binary.BigEndian.PutUint64(g.Signature[:], uint64(r.ids.Add(1)))
	binary.BigEndian.PutUint64(g.Signature[8:], uint64(g.Until.UnixNano())) // differs from other tests on the same database
	return g
}

// agent creates agents, and returns the last.
func (r *relay) agent(keys ...mail.Key) (a mail.Agent) {
	r.Helper()
	for _, k := range keys {
		var err error
		a, _, err = r.Admit(r.Context(), r.guard(k), 0)
		r.must(err)
	}
	return a
}

func (r *relay) id(kind string) string { return fmt.Sprintf("%s_%012d", kind, r.ids.Add(1)) }

// message returns a new message.
func (r *relay) message(from, to mail.Key) mail.NewMessage {
	return mail.NewMessage{
		Message: mail.Message{
			ID: r.id("msg"), Sender: from, Recipient: to, ContentType: "application/json", Body: []byte(`{"text": "hi"}`),
		},
		Lifetime: time.Hour, Waiting: 100, Unknown: 100, All: 10_000, Bytes: 1 << 30,
	}
}

func (r *relay) send(m mail.NewMessage) mail.Message {
	r.Helper()
	taken, repeated, err := r.Send(r.Context(), m)
	r.must(err)
	if repeated {
		r.Fatal("repeated")
	}
	return taken
}

// waiting lists the messages that wait for an agent.
func (r *relay) waiting(k mail.Key) []string {
	r.Helper()
	return r.inState(k, mail.Sent)
}

func (r *relay) inState(k mail.Key, state string) []string {
	r.Helper()
	list, more, err := r.Messages(r.Context(), mail.Query{Recipient: k, Status: state, Limit: 100})
	r.must(err)
	if more {
		r.Fatal("more than a hundred")
	}
	return ids(list)
}

func ids(list []mail.Message) []string {
	var out []string
	for _, m := range list {
		out = append(out, m.ID)
	}
	return out
}

func (r *relay) same(got, want []string) {
	r.Helper()
	if !slices.Equal(got, want) {
		r.Fatalf("%v; want %v", got, want)
	}
}

// counted checks that the redundant totals and counts agree with the rows.
func (r *relay) counted() mail.Totals {
	r.Helper()
	got, err := r.Totals(r.Context())
	r.must(err)
	var want mail.Totals
	const columns = `(SELECT COUNT(*) FROM relay_agents), (SELECT COUNT(*) FROM relay_messages WHERE state = 'sent'),
		(SELECT COUNT(*) FROM relay_messages), (SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM relay_messages),
		(SELECT COUNT(*) FROM relay_blobs), (SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM relay_blobs),
		(SELECT COUNT(*) FROM relay_webhooks)`
	r.must(r.db.Engine().List(r.Context(), "SELECT "+columns, nil, func(scan func(...any) error) error {
		return scan(&want.Agents, &want.Waiting, &want.Messages, &want.Bytes, &want.Blobs, &want.BlobBytes, &want.Webhooks)
	}))
	if got != want {
		r.Fatalf("totals %+v; want %+v", got, want)
	}
	r.must(r.db.Engine().List(r.Context(), `SELECT recipient, waiting, (SELECT COUNT(*) FROM relay_messages m WHERE m.recipient = b.recipient
		AND m.state = 'sent') FROM relay_boxes b`, nil, func(scan func(...any) error) error {
		var k []byte
		var kept, there int64
		err := scan(&k, &kept, &there)
		if kept != there {
			r.Errorf("%x: %d wait, and %d are counted", bytes.TrimLeft(k, "\x00"), there, kept)
		}
		return err
	}))
	for what, wrong := range map[string]string{
		"tags": `SELECT COUNT(*) FROM relay_tag_counts c WHERE c.agents <>
			(SELECT COUNT(*) FROM relay_tags t JOIN relay_agents a ON a.agent = t.agent WHERE t.tag = c.tag AND a.shown = 1)`,
		"missing tags": `SELECT COUNT(*) FROM relay_tags t JOIN relay_agents a ON a.agent = t.agent
			WHERE a.shown = 1 AND NOT EXISTS (SELECT 1 FROM relay_tag_counts c WHERE c.tag = t.tag)`,
		"shown": `SELECT COUNT(*) FROM relay_tags t WHERE t.shown <> COALESCE((SELECT shown FROM relay_agents a WHERE a.agent = t.agent), -1)`,
		"blobs": `SELECT COUNT(*) FROM relay_agents a WHERE a.blobs <> (SELECT COUNT(*) FROM relay_blobs b WHERE b.owner = a.agent)
			OR a.blob_bytes <> (SELECT COALESCE(SUM(size), 0) FROM relay_blobs b WHERE b.owner = a.agent)`,
		"entries":           `SELECT COUNT(*) FROM relay_agents a WHERE a.entries <> (SELECT COUNT(*) FROM relay_acl e WHERE e.owner = a.agent)`,
		"owners of blobs":   `SELECT COUNT(*) FROM relay_blobs b WHERE NOT EXISTS (SELECT 1 FROM relay_agents a WHERE a.agent = b.owner)`,
		"owners of entries": `SELECT COUNT(*) FROM relay_acl b WHERE NOT EXISTS (SELECT 1 FROM relay_agents a WHERE a.agent = b.owner)`,
		"attachments":       `SELECT COUNT(*) FROM relay_attachments a WHERE NOT EXISTS (SELECT 1 FROM relay_messages m WHERE m.id = a.message)`,
		"postings": `SELECT COUNT(*) FROM relay_postings p WHERE NOT EXISTS (SELECT 1 FROM relay_messages m WHERE m.id = p.message
			AND m.state = 'sent') OR NOT EXISTS (SELECT 1 FROM relay_webhooks w WHERE w.owner = p.owner)`,
		"missing postings": `SELECT COUNT(*) FROM relay_messages m JOIN relay_webhooks w ON w.owner = m.recipient WHERE w.enabled = 1
			AND m.state = 'sent' AND m.expires_at > ` + strconv.FormatInt(r.Now().UnixNano(), 10) + `
			AND NOT EXISTS (SELECT 1 FROM relay_postings p WHERE p.message = m.id)`,
	} {
		var n int
		r.must(r.db.Engine().List(r.Context(), wrong, nil, func(scan func(...any) error) error { return scan(&n) }))
		if n != 0 {
			r.Errorf("%s: %d rows contradict others; want 0", what, n)
		}
	}
	return got
}
