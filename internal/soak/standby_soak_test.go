//go:build soak

package soak

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	pgtest "github.com/uimgate/uimgate/internal/test/postgres"
	"github.com/uimgate/uimgate/store"
	"github.com/uimgate/uimgate/store/sqlstore"
)

// An asynchronous standby is promoted under load, and lacks the last seconds of its primary. Charges of which agents were told are lost
// then; the gateways notice it, say so, end what was issued before, and hold the limits of the policy: no window of one admits more. Their own
// limits go on from what the standby has.
func TestAStandbyIsPromotedUnderLoad(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	primary := pgtest.Private(t, pgtest.Replicated)
	database, err := primary.CreateDatabase(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	standby := primary.Standby(t)
	w := newWorld(t)
	w.loses = true
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
	var detached, promoted time.Duration
	least := floor{
		"upstream " + pulse: 100, "upstream " + search: 20, "upstream " + order: 50, "told captured": 50, "RATE_LIMIT_EXCEEDED": 5, "revoked": 2,
	}
	w.run(least, func() {
		pause(w.over, 10*time.Second)
		detached = w.clock.now()
		must(standby.Receive(ctx, primary))
		must(standby.Detach(ctx))
		pause(w.over, 4*time.Second) // what is committed now, the standby lacks
		must(primary.Kill(ctx))
		must(standby.Promote(ctx))
		promoted = w.clock.now()
		for _, a := range w.known { // their PATs have ended
			for range tokensKept {
				must(w.retry(a.agree))
			}
		}
	})
	for _, g := range w.gateways {
		if check := w.storeCheck(g); !strings.Contains(check, "went back") {
			t.Errorf("%s says of its store: %s", g.name, check)
		}
	}
	e := w.evidence()
	e.Lacking = span{detached, promoted}
	w.judgeLost(e, promoted)
	// The records of what was lost are missing, and calls of which nothing is known any more may be made again.
	w.verdict(e, least, "calls", "charges", "credit", "answers", "told")
	if found.RestoredAt().IsZero() {
		t.Error("the database was not set back")
	}
}

// judgeLost checks that charges of which agents were told are missing only where they were told before the standby was promoted, and that a
// gateway has noticed.
func (w *world) judgeLost(e *evidence, promoted time.Duration) {
	w.t.Helper()
	state := map[string]store.State{}
	for _, x := range e.Executions {
		state[x.ID] = x.State
	}
	lost, kept := 0, 0
	for _, a := range e.Attempts {
		if a.Charge != "captured" || a.Lost {
			continue
		}
		switch {
		case state[a.Execution] != store.Captured && a.Sent > promoted:
			w.t.Errorf("%s was told a charge after the promotion, and execution %s is %q", a.Ref, a.Execution, state[a.Execution])
		case state[a.Execution] != store.Captured:
			lost++
		case a.Sent > promoted:
			kept++
		}
	}
	noticed := 0
	for _, log := range e.Logs {
		noticed += strings.Count(log, "the database lacks commits that were acknowledged")
	}
	w.t.Logf("%d charges that were told are lost, %d were told after it; noticed %d times", lost, kept, noticed)
	if lost == 0 || kept == 0 || noticed == 0 {
		w.t.Errorf("%d charges that were told are lost, %d were told after it; noticed %d times", lost, kept, noticed)
	}
	if e.Unbalanced != nil {
		w.t.Error(e.Unbalanced)
	}
}

// storeCheck returns what a gateway says of its store.
func (w *world) storeCheck(g *gateway) string {
	status, _, body, err := w.do(http.MethodGet, g.admin()+"/readyz", nil, nil)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(status, " ", string(body))
}
