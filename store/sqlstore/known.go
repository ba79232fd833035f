package sqlstore

import (
	"context"
)

// known is what a writer knows of the counters and accounts in a database that nobody else writes to: as its last
// transaction left them. So a call of an agent that called lately reads nothing.
type known struct {
	version  int64 // of the database, as others have changed it
	counters map[counterKey]counterRow
	accounts map[accountKey]account
}

// mostKnown bounds each of the two: then the writer begins anew.
const mostKnown = 8 << 10

// selectVersion changes with every transaction of another connection, and with none of this one:
// https://sqlite.org/pragma.html#pragma_data_version
const selectVersion = "PRAGMA data_version"

// forget makes the writer read everything again.
func (k *known) forget() { *k = known{} }

// begin starts a transaction of calls, and forgets what others may have changed before it. From then on nobody else writes.
func (k *known) begin(ctx context.Context, w *writer) error {
	var version int64
	err := w.send(ctx, []command{
		{query: w.s.dialect.begin},
		{query: selectVersion, row: func(scan scan) error { return scan(&version) }},
	})
	if version != k.version {
		k.forget()
	}
	k.version = version
	return err
}

// learn keeps what a transaction has read and written, once it is committed.
func (k *known) learn(counters map[counterKey]*counter, accounts map[accountKey]*cachedAccount) {
	if k.counters == nil || len(k.counters) > mostKnown || len(k.accounts) > mostKnown {
		k.counters, k.accounts = make(map[counterKey]counterRow, len(counters)), make(map[accountKey]account, len(accounts))
	}
	for key, c := range counters {
		if c.found {
			k.counters[key] = c.was
		}
	}
	for key, a := range accounts {
		if a.found {
			k.accounts[key] = a.was
		}
	}
}
