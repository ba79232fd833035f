package soak

import "testing"

// One gateway on SQLite is killed about once a second. Agents use all doors.
func TestSQLiteKilledUnderLoad(t *testing.T) {
	t.Parallel()
	w := sqliteWorld(t)
	w.invite()
	w.runAndJudge(killedFloor(), w.killLoop)
}
