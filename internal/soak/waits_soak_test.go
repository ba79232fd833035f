//go:build soak || soakshort

package soak

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
)

// The rows that calls need are locked for seconds, again and again. A call that waits for them is not forwarded if its PAT is revoked in
// the meantime.
func TestCallsThatWaitInTheStore(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	w, database := postgresWorldOn(t, server)
	// Each lock delays all calls for longer than the pause between two locks, so the floor counts the calls that waited, not those that the
	// limits would permit.
	least := floor{
		"locks": 1, "revoked": 2, "upstream " + details: 5 * floorTimes, "upstream " + order: 5 * floorTimes, "reported captured": 5 * floorTimes,
	}
	w.runAndJudge(least, func() {
		for pause(w.over, random(300*time.Millisecond, 900*time.Millisecond)) {
			err := server.Exec(context.WithoutCancel(t.Context()), database, lockStatements)
			if errors.Is(err, pgtest.ErrDeadlock) {
				continue // calls lock rows of these tables in another order, and the server aborted this transaction
			}
			if err != nil {
				t.Error(err)
				return
			}
			w.caused("locks")
		}
	})
}

const lockStatements = "BEGIN; LOCK TABLE counters, accounts, pools, nonces IN EXCLUSIVE MODE; SELECT pg_sleep(3.5); COMMIT"

// Every commit takes a tenth of a second, as on a slow disk. Limits per second still admit almost as many calls as they permit.
func TestReplicasOnASlowDisk(t *testing.T) {
	t.Parallel()
	server := pgtest.Private(t, nil)
	w := postgresWorld(t, server)
	for _, statement := range []string{
		"ALTER SYSTEM SET commit_delay = 100000", "ALTER SYSTEM SET commit_siblings = 0", "SELECT pg_reload_conf()",
	} {
		if err := server.Exec(t.Context(), "", statement); err != nil {
			t.Fatal(err)
		}
	}
	steady := w.agentNamed("steady", 2)
	least := floor{"upstream " + search: int(length/time.Second) * searchRate / 2}
	w.over = make(chan struct{})
	for i := range 6 {
		w.caller(fmt.Sprintf("steady%d", i), 20*time.Millisecond, func(ref string) { w.once(steady, search, ref) })
	}
	for i := range 2 {
		w.caller(fmt.Sprintf("payer%d", i), 20*time.Millisecond, func(ref string) { w.buy(steady, order, ref) })
	}
	for end := w.clock.now() + length; w.clock.now() < end || w.clock.now() < end+maxExtraTime && len(w.count().missing(least)) > 0; {
		pause(nil, 250*time.Millisecond)
	}
	close(w.over)
	w.loading.Wait()
	w.verdict(w.evidence(), least)
}
