package skill

import (
	"fmt"
	"testing"
	"time"

	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
)

func TestOffersAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	o := newOffers(func() time.Time { return now })
	label := func(agent, n int) dialogue.Label {
		return dialogue.Label{StarterRef: fmt.Sprint(n), Opponent: fmt.Sprint("agent-", agent)}
	}
	nonces := map[string]bool{}
	for n := range 2 * offersOfOne {
		nonces[o.make(label(0, n), "x", "", 0).nonce] = true
	}
	if len(o.open) != offersOfOne || len(nonces) != 2*offersOfOne {
		t.Errorf("%d offers to one agent, %d nonces", len(o.open), len(nonces))
	}
	if _, ok := o.find(label(0, offersOfOne-1)); ok {
		t.Error("the oldest offer is still open")
	}
	if _, ok := o.find(label(0, offersOfOne)); !ok {
		t.Error("a newer offer is gone")
	}
	for n := range 3 * maxOffers {
		o.make(label(1+n/8, n), "x", "", 0)
		if len(o.open) > maxOffers || len(o.ages) > 2*maxOffers+offersOfOne {
			t.Fatalf("%d offers, %d ages", len(o.open), len(o.ages))
		}
	}
	if len(o.open) != maxOffers || len(o.byAgent) > maxOffers/8+1 {
		t.Errorf("%d offers to %d agents", len(o.open), len(o.byAgent))
	}
	again := label(9999, 1)
	for range 10 * maxOffers { // each replaces the one before
		o.make(again, "x", "", 0)
	}
	if len(o.ages) > 2*maxOffers+offersOfOne || len(o.byAgent["agent-9999"]) != 1 {
		t.Errorf("%d ages, %d of one", len(o.ages), len(o.byAgent["agent-9999"]))
	}
	now = now.Add(offerFor - time.Second)
	if _, ok := o.find(again); !ok {
		t.Error("an offer ended too early")
	}
	now = now.Add(time.Second)
	if _, ok := o.find(again); ok {
		t.Error("an offer did not end")
	}
	o.forgetOld()
	if len(o.open)+len(o.ages)+len(o.byAgent) != 0 {
		t.Errorf("left: %d, %d, %d", len(o.open), len(o.ages), len(o.byAgent))
	}
}

func TestOffersEnd(t *testing.T) {
	t.Parallel()
	o := newOffers(time.Now)
	in := dialogue.Label{StarterRef: "1", Opponent: "a"}
	made := o.make(in, "x", "", 2)
	o.use(in)
	if found, ok := o.find(in); !ok || !found.used || found.nonce != made.nonce || found.rounds != 2 {
		t.Errorf("got %+v", found)
	}
	o.end(in)
	o.end(in)
	o.use(in)
	if _, ok := o.find(in); ok || len(o.byAgent) != 0 || len(o.ages) != 0 {
		t.Error("the offer is still open")
	}
}
