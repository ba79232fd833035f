package agent_test

import (
	"crypto/ed25519"
	"slices"
	"testing"
	"time"

	"github.com/uimgate/uimgate/agent"
	"github.com/uimgate/uimgate/agent/receipts"
	"github.com/uimgate/uimgate/evidence"
	agenttest "github.com/uimgate/uimgate/internal/test/agent"
)

// logged returns a service with a log, and an agent that has reconciled two orders with it. A third order is older than the merge delay.
func logged(t *testing.T) (*agenttest.Service, *agent.Service) {
	t.Helper()
	shop := agenttest.New(t, agenttest.Canonical)
	shop.GiveReceipts()
	shop.GiveLog()
	o := options(t, shop)
	o.Receipts = t.TempDir()
	s := agreed(t, o, shop.URL)
	for range 2 {
		placed(t, s, agent.ExecuteOptions{})
	}
	shop.Clock.Add(time.Minute)
	if report := reconcile(t, s, receipts.Period{}); !report.OK {
		t.Fatalf("got %v", report.Problems)
	}
	placed(t, s, agent.ExecuteOptions{})
	shop.Clock.Add(time.Minute)
	return shop, s
}

func TestReconcileWithALog(t *testing.T) {
	t.Parallel()
	_, stranger, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		tamper agenttest.Alteration
		want   string
	}{
		"honest":            {agenttest.Alteration{}, ""},
		"without a receipt": {agenttest.Alteration{Leaves: withoutLast}, "RECEIPT_NOT_LOGGED"},
		"with another history": {agenttest.Alteration{Leaves: func(leaves []evidence.Hash) []evidence.Hash {
			leaves[0] = evidence.LeafHash(nil)
			return leaves
		}}, "FORK"},
		"in another order": {agenttest.Alteration{Leaves: func(leaves []evidence.Hash) []evidence.Hash {
			slices.Reverse(leaves)
			return leaves
		}}, "FORK"},
		"shorter":             {agenttest.Alteration{Leaves: func(leaves []evidence.Hash) []evidence.Hash { return leaves[:3] }}, "FORK"},
		"as before":           {agenttest.Alteration{Leaves: func(leaves []evidence.Hash) []evidence.Hash { return leaves[:4] }}, "RECEIPT_NOT_LOGGED"},
		"by another key":      {agenttest.Alteration{LogKey: stranger}, "LOG"},
		"of another epoch":    {agenttest.Alteration{Epoch: 1}, "EPOCH LOG"},
		"from the future":     {agenttest.Alteration{Ahead: time.Hour}, ""},
		"from the past":       {agenttest.Alteration{Ahead: -time.Hour}, ""},
		"late, not there":     {agenttest.Alteration{Ahead: -time.Hour, Leaves: withoutLast}, "RECEIPT_NOT_LOGGED"},
		"with others between": {agenttest.Alteration{Leaves: func(leaves []evidence.Hash) []evidence.Hash { return slices.Insert(leaves, 4, evidence.LeafHash(nil)) }}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop, s := logged(t)
			shop.Tamper(tt.tamper)
			if report := reconcile(t, s, receipts.Period{}); names(report.Problems) != tt.want {
				t.Errorf("got %v, want %q", report.Problems, tt.want)
			}
		})
	}
}

// A receipt does not count as missing from the log before the merge delay has passed, and is looked for only once.
func TestReceiptsAreLoggedWithinTheMergeDelay(t *testing.T) {
	t.Parallel()
	shop, s := logged(t)
	before := shop.Requests("/api/log/proof")
	placed(t, s, agent.ExecuteOptions{})
	shop.Tamper(agenttest.Alteration{Leaves: func(leaves []evidence.Hash) []evidence.Hash { return leaves[:6] }})
	if report := reconcile(t, s, receipts.Period{}); !report.OK {
		t.Errorf("got %v", report.Problems)
	}
	if n := shop.Requests("/api/log/proof") - before; n != 4 {
		t.Errorf("got %d requests for proofs, want 4: of the entries that are new", n)
	}
}

// withoutLast replaces the last leaf of a log.
func withoutLast(leaves []evidence.Hash) []evidence.Hash {
	leaves[len(leaves)-1] = evidence.LeafHash(nil)
	return leaves
}

// If the clock of a service was set back, its newest checkpoint is from the future. A receipt that the log does not have yet is then not
// missing, until the merge delay has passed by the clock of the agent.
func TestCheckpointFromTheFuture(t *testing.T) {
	t.Parallel()
	shop, s := logged(t)
	placed(t, s, agent.ExecuteOptions{})
	shop.Tamper(agenttest.Alteration{Ahead: time.Hour, Leaves: func(leaves []evidence.Hash) []evidence.Hash { return leaves[:6] }})
	for _, want := range []string{"", "RECEIPT_NOT_LOGGED"} {
		if report := reconcile(t, s, receipts.Period{}); names(report.Problems) != want {
			t.Errorf("got %v, want %q", report.Problems, want)
		}
		shop.Clock.Add(2 * time.Minute)
	}
}
