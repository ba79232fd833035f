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
	// offerFor is how long an offer is good.
	offerFor = 10 * time.Minute
	// maxOffers bounds the offers that are open at once, and offersOfOne those to one agent. The oldest makes room for a new one.
	maxOffers   = 8192
	offersOfOne = 16
	// maxRounds bounds the counter-offers in one negotiation.
	maxRounds = 5
)

// An offer is what the gateway has proposed in a negotiation: it names the terms of one intent, under a nonce that is used once.
type offer struct {
	in     dialogue.Label
	intent string
	policy string // SHA-256 of the one whose terms they are, in hexadecimal digits
	nonce  string
	until  time.Time
	rounds int  // counter-offers of the agent in this negotiation
	used   bool // an agreement was made of it
}

// offers are those that are open, at most one in each negotiation. They are safe for concurrent use.
type offers struct {
	now func() time.Time

	mu      sync.Mutex
	open    map[dialogue.Label]*offer
	byAgent map[string][]*offer // by address, the oldest first
	ages    []*offer            // the oldest first; those that are gone are left out when they come to the front
}

func newOffers(now func() time.Time) *offers {
	return &offers{now: now, open: map[dialogue.Label]*offer{}, byAgent: map[string][]*offer{}}
}

// make opens an offer of an intent in a negotiation, in place of the one that was open in it.
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
	until := now.Add(offerFor).Truncate(time.Second) // as the offer states it
	made := &offer{in: in, intent: intent, policy: policy, nonce: hex.EncodeToString(random[:]), until: until, rounds: rounds}
	o.open[in] = made
	o.byAgent[in.Opponent] = append(o.byAgent[in.Opponent], made)
	o.ages = append(o.ages, made)
	return *made
}

// find returns the offer that is open in a negotiation.
func (o *offers) find(in dialogue.Label) (offer, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.expire(o.now())
	if found := o.open[in]; found != nil {
		return *found, true
	}
	return offer{}, false
}

// use notes that an agreement was made of the offer in a negotiation.
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

// forgetOld removes offers that have ended.
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

// trim puts an open offer first in ages, and keeps fewer ended offers there than open ones.
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
