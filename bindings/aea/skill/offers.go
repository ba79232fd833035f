package skill

import (
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"github.com/uimgate/uimgate/internal/wire/aea/dialogue"
)

const (
	// offerFor is how long an offer is valid.
	offerFor = 10 * time.Minute
	// maxOffers limits the open offers, and offersOfOne the open offers to one agent. At a limit, a new offer
	// replaces the oldest one.
	maxOffers   = 8192
	offersOfOne = 16
	// maxRounds limits the counter-offers in one negotiation.
	maxRounds = 5
)

// An offer is a proposal of the gateway in a negotiation. It contains the terms for one intent, and a nonce that can be used once.
type offer struct {
	in     dialogue.Label
	intent string
	policy string // SHA-256 of the policy of these terms, in hexadecimal digits
	nonce  string
	until  time.Time
	rounds int  // the number of counter-offers in this negotiation
	used   bool // an agreement was made from it
}

// offers holds the open offers, at most one for each negotiation. It is safe for concurrent use.
type offers struct {
	now func() time.Time

	mu      sync.Mutex
	open    map[dialogue.Label]*offer
	byAgent map[string][]*offer // by address, oldest first
	ages    []*offer            // oldest first; removed offers stay until they reach the front or trim removes them
}

func newOffers(now func() time.Time) *offers {
	return &offers{now: now, open: map[dialogue.Label]*offer{}, byAgent: map[string][]*offer{}}
}

// make opens an offer for an intent in a negotiation. It replaces the open offer of the negotiation, if there is one.
func (o *offers) make(in dialogue.Label, intent, policy string, rounds int) offer {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.now()
	o.expire(now)
	if before := o.open[in]; before != nil {
		o.forget(before)
	}
	if of := o.byAgent[in.Opponent]; len(of) >= offersOfOne {
		o.forget(of[0])
	}
	for len(o.open) >= maxOffers {
		o.forget(o.ages[0])
		o.trim()
	}
	until := now.Add(offerFor).Truncate(time.Second) // the offer states whole seconds
	made := &offer{in: in, intent: intent, policy: policy, nonce: hex.EncodeToString(random[:]), until: until, rounds: rounds}
	o.open[in] = made
	o.byAgent[in.Opponent] = append(o.byAgent[in.Opponent], made)
	o.ages = append(o.ages, made)
	return *made
}

// find returns the offer of a negotiation, used or not. It returns false if there is none, or if it has expired.
func (o *offers) find(in dialogue.Label) (offer, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expire(o.now())
	if found := o.open[in]; found != nil {
		return *found, true
	}
	return offer{}, false
}

// use records that an agreement was made from the offer of a negotiation.
func (o *offers) use(in dialogue.Label) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if found := o.open[in]; found != nil {
		found.used = true
	}
}

// end removes the offer in a negotiation.
func (o *offers) end(in dialogue.Label) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if found := o.open[in]; found != nil {
		o.forget(found)
	}
	o.trim()
}

// forgetOld removes expired offers.
func (o *offers) forgetOld() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expire(o.now())
}

func (o *offers) expire(now time.Time) {
	for o.trim(); len(o.ages) > 0 && !now.Before(o.ages[0].until); o.trim() {
		o.forget(o.ages[0])
	}
}

// trim deletes removed offers from the front of ages, so that an open offer is first. It deletes all removed offers if they outnumber the
// open ones.
func (o *offers) trim() {
	gone := func(one *offer) bool { return o.open[one.in] != one }
	for len(o.ages) > 0 && gone(o.ages[0]) {
		o.ages = o.ages[1:]
	}
	if len(o.ages) > 2*len(o.open)+offersOfOne {
		o.ages = slices.DeleteFunc(o.ages, gone)
	}
}

func (o *offers) forget(one *offer) {
	delete(o.open, one.in)
	of := slices.DeleteFunc(o.byAgent[one.in.Opponent], func(other *offer) bool { return other == one })
	if o.byAgent[one.in.Opponent] = of; len(of) == 0 {
		delete(o.byAgent, one.in.Opponent)
	}
}
