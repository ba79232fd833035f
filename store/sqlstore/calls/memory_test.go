package calls

import (
	"strconv"
	"testing"

	"github.com/uimgate/uimgate/store/sqlstore/engine"
	"github.com/uimgate/uimgate/store/sqlstore/ledger"
)

// A writer caches a bounded number of counters and accounts.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	var m memory
	for i := range 3 * mostKnown {
		counters := map[CounterKey]*counter{{LimitID: strconv.Itoa(i)}: {found: true}}
		w := &work{book: ledger.NewBook(nil, engine.Exclusive, nil, nil), limits: limitRows{counters: counters}}
		found, none := ledger.AccountKey{AgentID: strconv.Itoa(i)}, ledger.AccountKey{AgentID: "none"}
		for _, c := range w.book.Read([]ledger.AccountKey{found, none}, nil)[:1] {
			if err := c.Row(func(...any) error { return nil }); err != nil {
				t.Fatal(err)
			}
		}
		m.learn(w, &Changes{})
		if b := ledger.NewBook(nil, engine.Exclusive, nil, &m.accounts); len(b.Read([]ledger.AccountKey{none}, nil)) == 0 {
			t.Fatal("a missing account is cached")
		}
	}
	if n, m := len(m.counters), m.accounts.Len(); n > mostKnown+1 || m > mostKnown+1 || n == 0 || m == 0 {
		t.Errorf("%d counters, %d accounts", n, m)
	}
}
