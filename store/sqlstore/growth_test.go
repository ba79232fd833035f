package sqlstore_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/limit"
	"github.com/uimgate/uimgate/internal/money"
	storetest "github.com/uimgate/uimgate/internal/test/store"
	"github.com/uimgate/uimgate/pat"
	"github.com/uimgate/uimgate/pat/keys"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// The amount of existing data in BenchmarkGrowth:
//
//	go test ./store/sqlstore -run '^$' -bench Growth -growth.tokens 1000000 -growth.ledger 10000000 -timeout 1h
var (
	grownTokens = flag.Int("growth.tokens", 2000, "live PATs in BenchmarkGrowth")
	grownLedger = flag.Int("growth.ledger", 20_000, "entries of the ledger in BenchmarkGrowth")
)

// count selects the numbers from 1 to its first argument.
const count = "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < ?) "

// grow fills a closed SQLite or PostgreSQL database with tokens that end at ends, and with a ledger of 1,000 agents. Each charge was
// captured at settled, and has two entries.
func grow(tb testing.TB, path string, tokens, entries int, ends, settled time.Time) {
	tb.Helper()
	driver, tune, blob, after := "sqlite", []string{
		"PRAGMA synchronous = OFF",
		"PRAGMA cache_size = -262144",
	}, "x'00'", []string{"PRAGMA wal_checkpoint(TRUNCATE)"}
	if strings.HasPrefix(path, "postgres") {
		driver, tune, blob, after = "pgx", []string{"SET synchronous_commit = off"}, `'\x00'`, []string{"VACUUM ANALYZE"}
	}
	db, err := sql.Open(driver, path)
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	charges := entries / 2
	do := func(query string, args ...any) {
		tb.Helper()
		if len(args) > 0 { // numbers have the same form in both databases
			query = fmt.Sprintf(strings.ReplaceAll(strings.ReplaceAll(query, "%", "%%"), "?", "%d"), args...)
		}
		if _, err := db.ExecContext(tb.Context(), strings.ReplaceAll(query, "x'00'", blob)); err != nil {
			tb.Fatalf("%v\n%s", err, query)
		}
	}
	for _, command := range tune {
		do(command)
	}
	do("INSERT INTO agents (service, id, status, created_at) VALUES ('s', 'grown', 'active', 1)")
	do("INSERT INTO policies (service, digest, uid, body, first_offered) VALUES ('s', 'd', 'u', x'00', 1)")
	do(count+`INSERT INTO agreements (service, id, issuer, agent_id, key_id, public_key, policy_uid, policy_digest, assurance, form, `+
		`has_signed, signed,
		signature, nonce, scope, state, awaiting, used_at, created_at) SELECT 's', 'grown-' || CAST(n AS TEXT), 'i', 'grown', 'k', x'00', `+
		`'u', 'd', 'fresh', 'f', 0, x'00', x'00', '', '[]', 'active', 0, 1, 1 FROM number`, 1000)
	if tokens > 0 {
		do(count+`INSERT INTO tokens (service, id, agreement_id, agent_id, key_id, policy_digest, scope, limit_rate, limit_period, assurance, `+
			`signing_key_id,
			issued_at, expires_at) SELECT 's', 'grown-' || CAST(1000000000 + n AS TEXT), 'grown-' || CAST(1 + n % 1000 AS TEXT), 'grown', 'k', `+
			`'d', '[]', 10, 3600, 'fresh', 'kid', ? + n, ? + n FROM number`,
			tokens, time.Now().UnixNano(), ends.UnixNano())
	}
	if charges > 0 {
		do(count+`INSERT INTO executions (id, service, agent_id, idem_key, fingerprint, intent, agreement_id, token_id, policy_digest, rule, `+
			`amount, currency, state, outcome,
			begun_at, deadline, settled_at, forget_at) SELECT '00000000-0000-7000-8000-' || CAST(100000000000 + n AS TEXT), 's', 'agent-' || `+
			`CAST(n % 1000 AS TEXT), '', 'f',
			'shop.example:buy:v1', 'grown', 'grown', 'd', 'r', 3, 'USD', 'captured', 'done', ? - 1, ?, ?, 0 FROM `+
			`number`, charges, settled.UnixNano(), settled.UnixNano(), settled.UnixNano())
		do(count+`INSERT INTO ledger (seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, to_state, actor)
			SELECT n, ? - n % 2, 's', 'agent-' || CAST((n + 1) / 2 % 1000 AS TEXT), '00000000-0000-7000-8000-' || CAST(100000000000 + (n + 1) / `+
			`2 AS TEXT), 'shop.example:buy:v1', 'r', 3, 'USD',
			CASE WHEN n % 2 = 1 THEN '' ELSE 'held' END, CASE WHEN n % 2 = 1 THEN 'held' ELSE 'captured' END, 'agent' FROM `+
			`number`, 2*charges, settled.UnixNano())
		do("INSERT INTO accounts (service, agent_id, currency, captured) SELECT service, agent_id, currency, SUM(amount) FROM executions " +
			"WHERE agent_id <> '' GROUP BY service, agent_id, currency")
	}
	do("UPDATE sequences SET n = (SELECT COALESCE(MAX(seq), 0) FROM ledger) WHERE name = 'ledger'")
	for _, command := range after {
		do(command)
	}
	if err := db.Close(); err != nil {
		tb.Fatal(err)
	}
	if driver != "sqlite" {
		return
	}
	// Write the data to the disk now, so that the measured calls do not wait for it.
	f, err := os.OpenFile(path, os.O_RDWR, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		tb.Fatal(err)
	}
}

// storeWithData returns a store with existing data.
func storeWithData(tb testing.TB, place string, tokens, entries int, ends, settled time.Time) *sqlstore.Store {
	tb.Helper()
	open := func() *sqlstore.Store {
		tb.Helper()
		s, err := sqlstore.Open(tb.Context(), place, sqlstore.Options{Now: time.Now})
		if err != nil {
			tb.Fatal(err)
		}
		s.KeepLedger(storetest.LedgerKept)
		return s
	}
	if err := open().Close(); err != nil {
		tb.Fatal(err)
	}
	grow(tb, place, tokens, entries, ends, settled)
	s := open()
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// places returns a new database of each kind for a benchmark.
var places = []struct {
	name string
	at   func(testing.TB) string
}{
	{"sqlite", func(tb testing.TB) string { tb.Helper(); return filepath.Join(tb.TempDir(), "state.db") }},
	{"postgres", ownDatabase},
}

func TestAGrownStoreBalances(t *testing.T) {
	t.Parallel()
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := storeWithData(t, p.at(t), 100, 1000, time.Now().Add(time.Hour), time.Now().Add(-time.Hour))
			if err := s.CheckBalance(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n, err := s.Purge(t.Context()); err != nil || n != 0 {
				t.Fatalf("got %d, %v; want 0, nil", n, err)
			}
		})
	}
}

// BenchmarkGrowth compares the parts of the execute path on an empty store and on one with existing data.
func BenchmarkGrowth(b *testing.B) {
	for _, p := range places {
		for _, state := range []string{"empty", "grown"} {
			b.Run(p.name+"/"+state, func(b *testing.B) { benchmarkGrowth(b, p.at(b), state) })
		}
	}
}

func benchmarkGrowth(b *testing.B, place, state string) {
	b.Helper()
	tokens, entries := 0, 0
	if state == "grown" {
		tokens, entries = *grownTokens, *grownLedger
	}
	s := storeWithData(b, place, tokens, entries, time.Now().Add(24*time.Hour), time.Now().Add(-24*time.Hour))
	verify := verifying(b, s)
	for name, op := range map[string]func(n int64) error{
		"paid": func(n int64) error {
			return paidCall(b.Context(), s, fmt.Sprintf("%s-%d-%d", state, time.Now().UnixNano(), n))
		},
		"limited": func(int64) error { return limitedCall(b.Context(), s) },
		"verify":  verify,
	} {
		for _, goroutines := range []int{1, 16} {
			b.Run(fmt.Sprintf("%s/goroutines=%d", name, goroutines), func(b *testing.B) { inParallel(b, s, goroutines, op) })
		}
	}
}

func paidCall(ctx context.Context, s *sqlstore.Store, id string) error {
	admission, err := s.Begin(ctx, store.BeginRequest{
		Execution: store.Execution{ID: id, Service: "s", AgentID: "agent-7", Intent: "shop.example:buy:v1", IdempotencyKey: id},
		Limits: []store.Reservation{{
			Principal: "agent-7",
			Limit:     limit.Limit{ID: "1", Rate: limit.Rate{Max: limit.MaxCount, Period: limit.Hour}},
		}},
		Candidates: []store.Candidate{{Rule: "r", Charge: money.Amount{Nano: 3, Currency: "USD"}}},
		Billing:    store.Billing{Credit: money.Amount{Nano: money.Unit, Currency: "USD"}},
		Hold:       time.Minute, KeyFor: 24 * time.Hour,
	})
	if err != nil {
		return err
	}
	_, err = s.Settle(ctx, admission, store.Settlement{State: store.Captured, Outcome: store.Done, Answer: &store.Answer{Output: []byte("{}")}})
	return err
}

func limitedCall(ctx context.Context, s *sqlstore.Store) error {
	_, err := s.Begin(ctx, store.BeginRequest{
		Execution: store.Execution{Service: "s", AgentID: "agent-7"},
		Limits: []store.Reservation{{
			Principal: "agent-7",
			Limit:     limit.Limit{ID: "2", Rate: limit.Rate{Max: limit.MaxCount, Period: limit.Hour}},
		}},
		Candidates: []store.Candidate{{}},
		Hold:       time.Minute,
	})
	return err
}

// verifying issues a PAT and returns a function that verifies it. It reads the revocations as often as a view does.
func verifying(b *testing.B, s *sqlstore.Store) func(int64) error {
	b.Helper()
	issuer, view, offer, err := issuerOn(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	key, err := keys.New(public)
	if err != nil {
		b.Fatal(err)
	}
	signed, err := pat.SignAgreement(private, pat.AgreementClaims{
		AgentID: "verifier", Audience: "shop.example", URL: "https://shop.example/api/pat/issue", IssuedAt: time.Now(),
		PolicyUID: offer.UID, PolicyDigest: offer.Digest,
	})
	if err != nil {
		b.Fatal(err)
	}
	issued, err := issuer.Issue(b.Context(), pat.IssueRequest{AgentID: "verifier", SignedPolicy: signed, PublicKey: string(key.JWK())})
	if err != nil {
		b.Fatal(err)
	}
	return func(n int64) error {
		if n%100 == 1 {
			if err := view.Refresh(b.Context()); err != nil {
				return err
			}
		}
		_, err := issuer.Verifier().Verify(b.Context(), issued.Token, time.Now())
		return err
	}
}

// A noFiles keeps the keys of one benchmark in memory.
type noFiles struct{ pem []byte }

func (f *noFiles) Load() ([]byte, error) { return f.pem, nil }
func (f *noFiles) Save(p []byte) error   { f.pem = slices.Clone(p); return nil }

type oneTerm struct{ offer pat.Offer }

func (t oneTerm) Offers() []pat.DatedOffer { return []pat.DatedOffer{{Offer: t.offer}} }
func (t oneTerm) Past() []pat.Offer        { return nil }
func (t oneTerm) Plans(string) []string    { return nil }
func (t oneTerm) Holds(string) error       { return nil }
func (t oneTerm) Scope(context.Context, pat.ScopeRequest) (pat.Scope, error) {
	return pat.Scope{Entries: []string{"shop.example:buy:v1:execute"}, Limit: limit.Rate{Max: 10, Period: limit.Hour}}, nil
}

// BenchmarkCallsWhilePurging measures how long calls wait during a purge with many rows to delete: each step of the purge is a transaction
// in the same queue.
func BenchmarkCallsWhilePurging(b *testing.B) {
	for _, p := range places {
		for _, what := range []string{"nothing", "tokens", "charges"} {
			b.Run(p.name+"/"+what, func(b *testing.B) {
				tokens, entries := 0, 0
				switch what {
				case "tokens":
					tokens = *grownTokens
				case "charges":
					entries = *grownLedger
				}
				s := storeWithData(b, p.at(b), tokens, entries, time.Now().Add(-48*time.Hour), time.Now().Add(-500*24*time.Hour))
				ctx, stop := context.WithCancel(b.Context())
				purged := make(chan int, 1)
				var busy atomic.Bool
				busy.Store(true)
				go func() {
					defer busy.Store(false)
					total := 0
					for n, err := s.Purge(ctx); err == nil && n > 0; n, err = s.Purge(ctx) {
						total += n
					}
					purged <- total
				}()
				var waits []time.Duration
				b.ResetTimer()
				for n := 0; n < b.N && (what == "nothing" || busy.Load()); n++ {
					start := time.Now()
					if err := limitedCall(b.Context(), s); err != nil {
						b.Fatal(err)
					}
					waits = append(waits, time.Since(start))
				}
				b.StopTimer()
				stop()
				slices.Sort(waits)
				if len(waits) == 0 {
					b.Skip("the purge ended before a call began")
				}
				at := func(part float64) float64 {
					return float64(waits[int(part*float64(len(waits)-1))].Microseconds()) / 1000
				}
				b.ReportMetric(at(0.5), "p50-ms")
				b.ReportMetric(at(0.99), "p99-ms")
				b.ReportMetric(at(1), "max-ms")
				b.ReportMetric(float64(<-purged), "purged")
			})
		}
	}
}
