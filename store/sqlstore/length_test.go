//go:build !soak

package sqlstore

import "github.com/uimgate/uimgate/store/storetest/pgtest"

// How much the tests do. With the build tag soak they do more.
const (
	SQLiteLives   = 2 // processes that are killed
	PostgresLives = 2
	Backups       = 2

	GrownTokens  = 20_000
	GrownEntries = 20_000
)

// restarts are how a server goes away under load.
var restarts = []pgtest.Mode{pgtest.Fast, pgtest.Immediate}
