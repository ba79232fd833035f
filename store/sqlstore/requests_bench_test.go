package sqlstore_test

import (
	"database/sql"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// The amount of existing data in BenchmarkRequests:
//
//	go test ./store/sqlstore -run '^$' -bench Requests -growth.requests 1000000
var grownRequests = flag.Int("growth.requests", 20_000, "indexed requests in BenchmarkRequests, of a tenth as many agents")

// BenchmarkRequests lists requests and agents of a store with many of both.
func BenchmarkRequests(b *testing.B) {
	for _, p := range places {
		b.Run(p.name, func(b *testing.B) {
			place := p.at(b)
			s := storeWithData(b, place, 0, 0, time.Now(), time.Now())
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			fillRequests(b, place, *grownRequests)
			s, err := sqlstore.Open(b.Context(), place, sqlstore.Options{Now: time.Now})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			kind := func(k store.RequestKind) store.RequestFilter { return store.RequestFilter{RequestKind: k} }
			middle := kind(store.RequestKind{})
			middle.After = store.RequestCursor{At: time.Unix(0, time.Now().UnixNano()-int64(*grownRequests)/2*1000), Process: "p", Number: 1}
			for name, f := range map[string]store.RequestFilter{
				"all": {}, "middle": middle, "agent": kind(store.RequestKind{Agent: "agent-7"}), "reason": kind(store.RequestKind{Reason: "R3"}),
				"no reason": kind(store.RequestKind{Reason: "none"}), "agent and reason": kind(store.RequestKind{Agent: "agent-7", Reason: "R3"}),
				"intent and no reason": kind(store.RequestKind{Intent: "i-1", Outcome: "never"}), "no decision": kind(store.RequestKind{Decision: "pending"}),
				"service and decision": kind(store.RequestKind{Service: "s", Decision: "deny"}),
			} {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						if _, _, err := s.Requests(b.Context(), f); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
			for name, f := range map[string]store.AgentFilter{
				"agents": {Service: "s", After: "agent-5"}, "agents by id": {Service: "s", Prefix: "agent-5"}, "agents by name": {Service: "s", Prefix: "Name 5"},
				"agents by one name": {Service: "s", Prefix: "name 77 "}, "blocked agents by name": {Service: "s", Prefix: "n", Status: "blocked"},
			} {
				b.Run(name, func(b *testing.B) {
					for b.Loop() {
						if _, err := s.Agents(b.Context(), f); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}

// fillRequests adds requests, which are kept for a day, and agents with names to a closed database.
func fillRequests(b *testing.B, place string, requests int) {
	b.Helper()
	driver, blob, after := "sqlite", "zeroblob(700)", "ANALYZE"
	if strings.HasPrefix(place, "postgres") {
		driver, blob, after = "pgx", `convert_to(repeat('x', 700), 'UTF8')`, "VACUUM ANALYZE"
	}
	if driver == "sqlite" {
		after = "PRAGMA wal_checkpoint(TRUNCATE)" // a gateway does not analyze its database
	}
	db, err := sql.Open(driver, place)
	if err != nil {
		b.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	numbers := strings.ReplaceAll(count, "?", "%d")
	now := time.Now().UnixNano()
	for _, query := range []string{
		fmt.Sprintf(numbers+`INSERT INTO requests (id, at, process, number, record, until, service, agent, intent, decision, reason, outcome)
			SELECT 'r-' || CAST(n AS TEXT), %d - n * 1000, 'p', n, %s, %d, 's', 'agent-' || CAST(n %% %d AS TEXT), 'i-' || CAST(n %% 50 AS TEXT),
			CASE WHEN n %% 10 = 0 THEN 'deny' ELSE 'permit' END, CASE WHEN n %% 10 = 0 THEN 'R' || CAST(n %% 7 AS TEXT) ELSE '' END,
			CASE WHEN n %% 10 = 0 THEN '' ELSE 'done' END FROM number`, requests, now, blob, now+int64(24*time.Hour), requests/10),
		fmt.Sprintf(numbers+`INSERT INTO agents (service, id, status, created_at, name)
			SELECT 's', 'agent-' || CAST(n AS TEXT), 'active', 1, 'Name ' || CAST(n AS TEXT) || ' Ltd' FROM number`, requests/10),
		after,
	} {
		if _, err := db.ExecContext(b.Context(), query); err != nil {
			b.Fatalf("%v\n%s", err, query)
		}
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}
