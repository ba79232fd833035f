package sqlstore_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store/mail"
	"github.com/uimgate/uimgate/store/sqlmail"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// The amount of existing data in the benchmarks:
//
//	go test ./store/sqlstore -run '^$' -bench RelayPolls -benchtime 3000x -growth.agents 100000 -growth.messages 10000000 -timeout 2h
//
// A message needs 700 bytes of disk, and more while it is created.
var (
	grownAgents   = flag.Int("growth.agents", 2000, "agents of a relay in benchmarks")
	grownMessages = flag.Int("growth.messages", 20_000, "messages of a relay in benchmarks")
)

// numbered returns the key of the nth agent that growRelay creates, from 1 on.
func numbered(n int) (k mail.Key) {
	copy(k[:], fmt.Sprintf("%032d", n))
	return k
}

// growRelay fills an unused relay. Each agent is public and has two tags; one agent in ten has the first of them. Each agent sends messages
// to the previous one: every second message was delivered, and every third belongs to a thread.
func growRelay(tb testing.TB, place string, agents, messages int) {
	tb.Helper()
	driver, after := "sqlite", "PRAGMA journal_mode = WAL"
	tune := []string{"PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA cache_size = -262144"}
	indexes := "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'relay_messages' AND sql IS NOT NULL"
	bytes := func(text string) string { return "CAST(" + text + " AS BLOB)" }
	key := func(n string) string { return bytes("printf('%032d', " + n + ")") }
	if strings.HasPrefix(place, "postgres") {
		driver, tune, after = "pgx", []string{"SET synchronous_commit = off", "SET maintenance_work_mem = '512MB'"}, "VACUUM ANALYZE"
		indexes = "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'relay_messages' AND indexname <> 'relay_messages_pkey'"
		bytes = func(text string) string { return "convert_to(" + text + ", 'UTF8')" }
		key = func(n string) string { return bytes("lpad(CAST(" + n + " AS TEXT), 32, '0')") }
	}
	db, err := sql.Open(driver, place)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	}()
	db.SetMaxOpenConns(1)
	at, number := time.Now().Add(-time.Hour).UnixNano(), func(n int) string {
		return fmt.Sprintf("WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < %d) ", n)
	}
	recipient := fmt.Sprintf("1 + n %% %d", agents)
	drops, makes := indexesOf(tb, db, indexes)
	for _, command := range slices.Concat(tune, drops, []string{
		number(agents) + `INSERT INTO relay_agents (agent, status, visibility, policy, shown, blank, created_at, last_active_at, entries, last_entry,
			blobs, blob_bytes, found_name, found_words, name, metadata, capabilities) SELECT ` + key("n") + `, 'active', 'public', 'open', 1, 0,
			` + fmt.Sprint(at) + ` + n, ` + fmt.Sprint(at) + ` + n, 0, 0, 0, 0, 'agent ' || CAST(n AS TEXT), 'agent ' || CAST(n AS TEXT) ||
			' that translates and paints whatever is sent to it', ` + bytes("'Agent'") + `, ` + bytes("'{}'") +
			", " + bytes("'[]'") + " FROM number",
		number(agents) + "INSERT INTO relay_tags (agent, tag, shown) SELECT " + key("n") + ", " + bytes("'tenth' || CAST(n % 10 AS TEXT)") +
			", 1 FROM number",
		number(agents) + "INSERT INTO relay_tags (agent, tag, shown) SELECT " + key("n") + ", " + bytes("'own:' || CAST(n AS TEXT)") +
			", 1 FROM number",
		"INSERT INTO relay_tag_counts (tag, agents) SELECT tag, COUNT(*) FROM relay_tags GROUP BY tag",
		number(messages) + `INSERT INTO relay_messages (id, sender, recipient, state, created_at, expires_at, delivered_at, due_at, size, thread,
			reply, content_type, body) SELECT 'msg_' || CAST(1000000000 + n AS TEXT), ` + key("2 + n % "+fmt.Sprint(agents)) + ", " +
			key(recipient) + `, CASE WHEN n % 2 = 0 THEN 'sent' ELSE 'delivered' END, ` + fmt.Sprintf(`%d + n, %d + n, 0, %d + n`, at, at+1e18/10, at+1e18/10) + `, 20,
			CASE WHEN n % 3 = 0 THEN ` + bytes("'thread'") + ` END, NULL, ` + bytes("'application/json'") + ", " + bytes("'\"twenty bytes of it\"'") +
			" FROM number",
	}, makes, []string{
		`INSERT INTO relay_boxes (recipient, waiting, last_at) SELECT recipient, SUM(CASE WHEN state = 'sent' THEN 1 ELSE 0 END),
			MAX(created_at) FROM relay_messages GROUP BY recipient`,
		`INSERT INTO relay_totals (part, agents, waiting, messages, bytes, blobs, blob_bytes, webhooks) SELECT 0,
			(SELECT COUNT(*) FROM relay_agents), (SELECT COUNT(*) FROM relay_messages WHERE state = 'sent'),
			(SELECT COUNT(*) FROM relay_messages), (SELECT COUNT(*) FROM relay_messages) * 20, 0, 0, 0`,
		after,
	}) {
		if _, err := db.ExecContext(tb.Context(), command); err != nil {
			tb.Fatalf("%v\n%s", err, command)
		}
	}
}

// indexesOf returns statements that drop the indexes that a query lists, and statements that create them again. That is faster than
// inserting rows into the indexes.
func indexesOf(tb testing.TB, db *sql.DB, query string) (drops, makes []string) {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), query)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			tb.Fatal(err)
		}
		drops, makes = append(drops, "DROP INDEX "+name), append(makes, text)
	}
	if rows.Err() != nil || len(drops) == 0 {
		tb.Fatal(len(drops), rows.Err())
	}
	return drops, makes
}

// relayWithData returns a relay with existing data.
func relayWithData(tb testing.TB, place string, agents, messages int) (*sqlstore.Store, *sqlmail.Store) {
	tb.Helper()
	s, err := sqlstore.Open(tb.Context(), place, sqlstore.Options{Now: time.Now})
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		tb.Fatal(err)
	}
	if agents > 0 {
		growRelay(tb, place, agents, messages)
	}
	s = openShared(tb, place)
	return s, sqlmail.New(s, sqlmail.Options{MaxAgents: 1e9})
}

func relayed(from, to mail.Key, id string) mail.NewMessage {
	return mail.NewMessage{
		Message: mail.Message{
			ID: id, Sender: from, Recipient: to, ContentType: "application/json", Body: []byte(`{"text":"` + strings.Repeat("x", 500) + `"}`),
		},
		Lifetime: time.Hour, Waiting: 1e9, Unknown: 1e9, All: 1e9, Bytes: 1e15,
	}
}

func TestRelayWithDataWorks(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			_, r := relayWithData(t, p.at(t), 50, 500)
			q := mail.Query{Recipient: numbered(7), Status: mail.Sent, Limit: 100}
			before, _, err := r.Messages(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := r.Send(t.Context(), relayed(numbered(8), q.Recipient, "msg")); err != nil {
				t.Fatal(err)
			}
			after, _, err := r.Messages(t.Context(), q)
			if err != nil || len(before) != 5 && len(before) != 10 || len(after) != len(before)+1 || after[len(before)].ID != "msg" {
				t.Fatal(len(before), len(after), err)
			}
			found, _, err := r.Discover(t.Context(), mail.Search{Tags: []string{"tenth3"}, Words: []string{"agent 13 "}, Limit: 10})
			if err != nil || len(found) != 1 || found[0].Key != numbered(13) {
				t.Fatal(found, err)
			}
		})
	}
}

// BenchmarkRelayGrowth compares the most frequent operations on an empty relay, on one with few agents and on one with many. Each agent has
// the same amount of data in both.
func BenchmarkRelayGrowth(b *testing.B) {
	for _, p := range places {
		for _, state := range []string{"empty", "small", "grown"} {
			b.Run(p.name+"/"+state, func(b *testing.B) { benchmarkRelayGrowth(b, p.at(b), state) })
		}
	}
}

// BenchmarkRelayPolls compares polls of an empty, a small and a large relay. The polls take turns, so that other load on the machine slows
// all of them equally. One kind of poll is for an agent without messages, the other for a page of 50. The benchmark reports microseconds.
func BenchmarkRelayPolls(b *testing.B) {
	for _, p := range places {
		b.Run(p.name, func(b *testing.B) {
			type question struct {
				name string
				poll func(n int) error
				took []time.Duration
			}
			var all []*question
			for name, agents := range map[string]int{"empty": 0, "small": max(2, *grownAgents/100), "grown": *grownAgents} {
				_, r := relayWithData(b, p.at(b), agents, agents*(*grownMessages / *grownAgents))
				all = append(all, &question{name: name + "-nothing", poll: func(n int) error {
					list, _, err := r.Messages(b.Context(), mail.Query{Recipient: numbered(agents + 1 + n), Status: mail.Sent, Limit: 50})
					if len(list) > 0 {
						return errors.New("an agent without messages got messages")
					}
					return err
				}})
				if agents == 0 {
					continue
				}
				all = append(all, &question{name: name + "-page", poll: func(n int) error { // every second agent has waiting messages
					q := mail.Query{Recipient: numbered(1 + n*7919%(agents/2)*2), Status: mail.Sent, Limit: 50}
					list, _, err := r.Messages(b.Context(), q)
					if len(list) == 0 {
						return errors.New("an agent with messages got none")
					}
					return err
				}})
			}
			b.ResetTimer()
			for n := range b.N {
				for _, a := range all {
					began := time.Now()
					if err := a.poll(n); err != nil {
						b.Fatalf("%s: %v", a.name, err)
					}
					a.took = append(a.took, time.Since(began))
				}
			}
			for _, a := range all {
				slices.Sort(a.took)
				b.ReportMetric(float64(a.took[len(a.took)/2].Nanoseconds())/1e3, a.name+"-p50")
				b.ReportMetric(float64(a.took[len(a.took)*99/100].Nanoseconds())/1e3, a.name+"-p99")
			}
		})
	}
}

func benchmarkRelayGrowth(b *testing.B, place, state string) {
	b.Helper()
	agents, messages := 0, 0
	switch state {
	case "small":
		agents = max(10, *grownAgents/100)
		messages = agents * (*grownMessages / *grownAgents)
	case "grown":
		agents, messages = *grownAgents, *grownMessages
	}
	s, r := relayWithData(b, place, agents, messages)
	crowd := cmp.Or(agents, 1000)
	var used atomic.Int64
	for _, c := range []struct {
		name string
		do   func(ctx context.Context, n int) error
	}{
		{"admit", func(ctx context.Context, n int) error {
			g := mail.Guard{Key: numbered(n), Until: time.Now().Add(10 * time.Minute)}
			binary.BigEndian.PutUint64(g.Signature[:], uint64(used.Add(1)))
			_, _, err := r.Admit(ctx, g, time.Minute)
			return err
		}},
		{"send", func(ctx context.Context, n int) error {
			g := mail.Guard{Key: numbered(n + 1), Until: time.Now().Add(10 * time.Minute)}
			binary.BigEndian.PutUint64(g.Signature[:], uint64(used.Add(1)))
			_, _, _, err := r.SendSigned(ctx, g, time.Minute, relayed(g.Key, numbered(n), fmt.Sprintf("new_%d", used.Add(1))))
			return err
		}},
		{"poll", func(ctx context.Context, n int) error {
			_, _, err := r.Messages(ctx, mail.Query{Recipient: numbered(n), Status: mail.Sent, Limit: 50})
			return err
		}},
		{"take", func(ctx context.Context, n int) error {
			list, _, err := r.Messages(ctx, mail.Query{Recipient: numbered(n), Status: mail.Sent, Limit: 1})
			if err != nil || len(list) == 0 {
				return err
			}
			return r.Delivered(ctx, numbered(n), []string{list[0].ID})
		}},
		{"tag", func(ctx context.Context, n int) error {
			_, _, err := r.Discover(ctx, mail.Search{Tags: []string{"tenth3", fmt.Sprint("own:", n)}, Limit: 20})
			return err
		}},
		{"word", func(ctx context.Context, n int) error {
			_, _, err := r.Discover(ctx, mail.Search{Words: []string{"paints", fmt.Sprint("agent ", n, " ")}, Limit: 20})
			return err
		}},
	} {
		for _, goroutines := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", c.name, goroutines), func(b *testing.B) {
				inParallel(b, s, goroutines, func(n int64) error { return c.do(b.Context(), 1+int(n*7919)%crowd) })
			})
		}
	}
}
