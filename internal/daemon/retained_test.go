package daemon_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/uimgate/uimgate/evidence"
)

// Replaced keys of receipts and of the log stay in the key set for as long as the ledger is kept.
func TestKeysOfEvidenceArePublishedWhileTheLedgerIsKept(t *testing.T) {
	t.Parallel()
	clock := &clock{now: time.Now()}
	g := startGate(t, setup{config: logged(""), now: clock.Now})
	purposes := []string{evidence.PurposeReceipt, evidence.PurposeLog}
	for _, purpose := range purposes {
		if got := g.adminDo("POST", "/admin/v1/keys/rotate", map[string]any{"purpose": purpose}); got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", purpose, got.status, got.body)
		}
	}
	const day = 24 * time.Hour
	for _, after := range []struct {
		time time.Duration
		keys int
	}{{0, 2}, {399 * day, 2}, {2 * day, 1}} { // the default of billing.retain is 400 days
		clock.move(after.time)
		set, err := evidence.ParseKeySet(g.do("GET", "/.well-known/jwks.json", nil, nil).body)
		if err != nil {
			t.Fatal(err)
		}
		for _, purpose := range purposes {
			if got := len(set.All(purpose)); got != after.keys {
				t.Errorf("%v later: %d keys for %s, want %d", after.time, got, purpose, after.keys)
			}
		}
	}
}
