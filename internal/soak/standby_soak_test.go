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

// An asynchronous standby that lacks the last seconds of its primary is promoted under load. Charges that were reported to agents are
// lost. The gateways detect and log the loss, end all PATs that were issued before, and treat the limits of the policy as exhausted, so
// that no window admits more calls. The limits of the configuration continue from the counts of the standby.
func TestStandbyPromotedUnderLoad(t *testing.T) {
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
		"upstream " + pulse: 100, "upstream " + search: 20, "upstream " + order: 50, "reported captured": 50, "RATE_LIMIT_EXCEEDED": 5, "revoked": 2,
	}
	w.run(least, func() {
		pause(w.over, 10*time.Second)
		detached = w.clock.now()
		must(standby.Receive(ctx, primary))
		must(standby.Detach(ctx))
		pause(w.over, 4*time.Second) // the standby lacks the commits of this time
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
		if check := w.storeCheck(g); !strings.Contains(check, "earlier state") {
			t.Errorf("the store check of %s: %s, want a text that contains %q", g.name, check, "earlier state")
		}
	}
	e := w.evidence()
	e.Lacking = span{detached, promoted}
	w.judgeLost(e, promoted)
	// The records of lost calls are missing, and calls that are no longer recorded may be executed again.
	w.verdict(e, least, "calls", "charges", "credit", "answers", "replies")
	if found.RestoredAt().IsZero() {
		t.Error("the database was not marked as restored")
	}
}

// judgeLost checks that only charges that were reported before the promotion of the standby are missing, and that a gateway has detected
// the loss.
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
			w.t.Errorf("the charge of %s was reported after the promotion, but execution %s is %q", a.Ref, a.Execution, state[a.Execution])
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
	w.t.Logf("reported charges: %d lost, %d reported after the promotion and kept; the gateways detected the loss %d times", lost, kept, noticed)
	if lost == 0 || kept == 0 || noticed == 0 {
		w.t.Errorf("reported charges: %d lost, %d reported after the promotion and kept; the gateways detected the loss %d times", lost, kept, noticed)
	}
	if e.Unbalanced != nil {
		w.t.Errorf("got %v, want nil", e.Unbalanced)
	}
}

// storeCheck returns the readiness of a gateway, which includes the check of its store.
func (w *world) storeCheck(g *gateway) string {
	status, _, body, err := w.do(http.MethodGet, g.admin()+"/readyz", nil, nil)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(status, " ", string(body))
}
