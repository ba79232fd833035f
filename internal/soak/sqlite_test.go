package soak

import "testing"

// One gateway on SQLite is killed about every second. Agents come through all doors.
func TestSQLiteKilledUnderLoad(t *testing.T) {
	w := sqliteWorld(t)
	w.invite()
	w.runAndJudge(killedFloor(), w.killLoop)
}
