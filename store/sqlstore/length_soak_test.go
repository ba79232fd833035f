//go:build soak

package sqlstore

import pgtest "github.com/uimgate/uimgate/internal/test/postgres"

// These constants set how many tests run.
const (
	SQLiteLives   = 8 // processes that are killed
	PostgresLives = 4
	TwinLives     = 200 // random runs of two stores that are compared
	Backups       = 5
	Altered       = 100 // changes of a ledger that are looked for on PostgreSQL

	GrownTokens  = 100_000
	GrownEntries = 100_000
)

// restarts are the modes in which a server is stopped under load.
var restarts = []pgtest.Mode{pgtest.Fast, pgtest.Immediate, pgtest.Immediate}
