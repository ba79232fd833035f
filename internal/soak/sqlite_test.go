package soak

import "testing"

// One gateway on SQLite is killed about every second.
func TestSQLiteKilledUnderLoad(t *testing.T) {
	w := sqliteWorld(t)
	w.runAndJudge(usualFloor(), w.killLoop)
}
