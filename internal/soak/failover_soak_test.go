//go:build soak || soakshort

package soak

import (
	"context"
	"strings"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// A primary with a synchronous standby is killed under load, and the standby is promoted. Shortly before, the standby loses its connection
// to the primary, so it lacks everything that the primary committed without it. Agents must not have received a response that depends on
// such a commit: charges, answers, revocations and limits are as they were reported, and PATs stay valid. The gateways are not restarted.
func TestSynchronousStandbyPromotedUnderLoad(t *testing.T) {
	t.Parallel()
	ctx := context.WithoutCancel(t.Context())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	primary := pgtest.Private(t, pgtest.Replicated)
	database, err := primary.CreateDatabase(ctx, "")
	must(err)
	standby := primary.Standby(t)
	must(primary.RequireStandby(ctx))
	w := newWorld(t)
	for _, name := range []string{"a", "b", "c"} {
		w.gateways = append(w.gateways, newGateway(t, name, w.config(primary.Either(standby, database))))
	}
	var found *sqlstore.Store
	w.open = func(ctx context.Context) (records, error) {
		s, err := sqlstore.Open(ctx, standby.DSN(database), sqlstore.Options{Now: time.Now})
		found = s
		return s, err
	}
	w.startAll()
	w.over = make(chan struct{})
	w.load()
	old, ended := w.agentNamed("old", 1), w.agentNamed("ended", 1)
	w.approve(old)
	w.end(ended)
	detached, killed := w.failOver(primary, standby)
	close(w.over)
	w.loading.Wait()
	for _, g := range w.gateways {
		for _, intent := range []string{details, order} {
			if err := w.serves(g, old, intent); err != nil {
				t.Errorf("%s does not serve a PAT of the old primary: %v", g.name, err)
			}
		}
		got := call{agent: ended, token: ended.token(), intent: details, ref: "ended-" + g.name + "." + string(effectDone)}.at(g)
		if got.Reason != "REVOKED_TOKEN" {
			t.Errorf("%s accepts a PAT that was revoked at the old primary: %+v", g.name, got)
		}
	}
	e := w.evidence()
	free, paid := e.answeredFrom(killed, ""), e.answeredFrom(killed, "captured")
	t.Logf("after the primary had been killed, the first free call was answered in %s, and the first paid one in %s; %s and %s after the "+
		"standby had lost its connection", free-killed, paid-killed, free-detached, paid-detached)
	w.verdict(e, usualFloor())
	for name, log := range e.Logs {
		if strings.Contains(log, "lacks commits") {
			t.Errorf("%s reports lost commits", name)
		}
	}
	if at := found.RestoredAt(); !at.IsZero() {
		t.Errorf("the database was marked as restored at %s", at)
	}
}

// failOver cuts a standby off, kills its primary and promotes it. It returns the times of the first two.
func (w *world) failOver(primary, standby *pgtest.Cluster) (detached, killed time.Duration) {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	must := func(err error) {
		w.t.Helper()
		if err != nil {
			w.t.Error(err)
		}
	}
	pause(nil, length/4)
	w.untilMore(w.count(), "reported captured")
	must(standby.Detach(ctx))
	detached = w.clock.now()
	before := w.count()
	pause(nil, storeGivesUp) // then the primary makes commits visible that the standby lacks
	w.untilMore(before, "answered 503", "reported captured")
	must(primary.SIGKILL(ctx))
	killed = w.clock.now()
	must(standby.Promote(ctx))
	w.untilMore(w.count(), "reported captured")
	pause(nil, length/4)
	return detached, killed
}

// storeGivesUp is the time after which a gateway gives up a commit that the store does not confirm.
const storeGivesUp = 2500 * time.Millisecond

// end revokes the PAT of an agent.
func (w *world) end(a *agent) {
	w.t.Helper()
	e := revocation{Agent: a.id, Token: a.token().id, Requested: w.clock.now()}
	if err := w.retry(func(g *gateway) error { return w.operate(g, "/pats/"+e.Token+"/revoke") }); err != nil {
		w.t.Fatal(err)
	}
	e.Answered = w.clock.now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.endings = append(w.endings, e)
}

// untilMore waits until one of the events has happened twenty times since the events were counted.
func (w *world) untilMore(before floor, events ...string) {
	w.t.Helper()
	for end := w.clock.now() + maxExtraTime; w.clock.now() < end; pause(nil, 20*time.Millisecond) {
		now := w.count()
		for _, what := range events {
			if now[what] >= before[what]+20 {
				return
			}
		}
	}
	w.t.Errorf("none of %v happened twenty times:\n%s", events, tableOf(w.count()))
}

// answeredFrom returns when the first call with this state of its charge was answered with 200, of those that were sent after a time.
func (e *evidence) answeredFrom(at time.Duration, charge string) time.Duration {
	first := time.Duration(1 << 62)
	for _, a := range e.Attempts {
		if !a.Lost && a.Status == 200 && !a.Replayed && a.Charge == charge && a.Sent > at {
			first = min(first, a.Answered)
		}
	}
	return first
}
