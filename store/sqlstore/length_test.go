//go:build !soak

package sqlstore

import pgtest "github.com/uimgate/uimgate/internal/test/postgres"

// These constants set how many tests run. The soak build tag raises them.
const (
	SQLiteLives   = 2 // processes that are killed
	PostgresLives = 2
	TwinLives     = 2 // random runs of two stores that are compared
	Backups       = 2
	Altered       = 5 // changes of a ledger that are looked for on PostgreSQL

	GrownTokens  = 20_000
	GrownEntries = 20_000
)

// restarts are the modes in which a server is stopped under load.
var restarts = []pgtest.Mode{pgtest.Fast, pgtest.Immediate}
