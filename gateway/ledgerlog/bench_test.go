package ledgerlog_test

import (
	"path/filepath"
	"testing"

	sqlitetest "github.com/uimgate/uimgate/internal/test/sqlite"
)

// BenchmarkSequencer appends 100,000 lines of the ledger to the log of a service, in a database on disk.
func BenchmarkSequencer(b *testing.B) {
	const lines = 100_000
	for b.Loop() {
		b.StopTimer()
		path := filepath.Join(b.TempDir(), "state.db")
		sqlitetest.Empty.Copy(b, path)
		sqlitetest.Alter(b, path, `WITH RECURSIVE numbers (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < 100000)
			INSERT INTO ledger (seq, at, service, agent_id, execution_id, intent, rule, amount, currency, from_state, to_state, actor, k, leaf)
			SELECT i, i, 'shop', 'agent', i, '', '', 1, 'EUR', '', 'held', 'agent', i, randomblob(32) FROM numbers`)
		sqlitetest.Alter(b, path, "UPDATE sequences SET n = 100000 WHERE name = 'ledger'")
		p := start(b, openStore(b, path), "one")
		b.StartTimer()
		p.round(b)
		b.StopTimer()
		head, err := p.store.Logs().Head(b.Context(), service)
		if err != nil || head.Size != lines+2 {
			b.Fatalf("got %+v, %v", head, err)
		}
		if err := p.store.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(lines*b.N)/b.Elapsed().Seconds(), "lines/s")
}
